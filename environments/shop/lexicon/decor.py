"""Word lists: mirrors, artificial plants and flowers."""

from environments.shop.lexicon.shelf import shelf

SHELVES = {
    "Mirrors": shelf(
        brands="""Glasswright; Halden Home; Silver Sparrow; Oriel & Oak; Reflecta House; Marrow Lane;
            Casavetro; Lumenwall; Plane & Pane; Brindle Decor; Atelier Nook; Vantry""",
        heads="""{brand} {size} {shape} Wall Mirror, {color} Frame; {brand} {shape} {material} Mirror,
            {size}, {color}; {brand} {style} {shape} Mirror for {place}, {color}, {size}; {brand} {style}
            {place} Mirror with {feature}, {size}, {color}""",
        tails="""{feature}; Hangs Two Ways; Shatter Resistant Glass; for {place} and Hallway; Beveled
            Edge; Hardware Included; Modern Wall Decor; Easy to Clean; Anti-Rust {material} Frame; Silver
            Backed Glass""",
        words={
            "shape": "Round; Arched; Rectangular; Oval; Full Length; Sunburst; Hexagon; Square; Irregular",
            "material": "Metal; Wood; Bamboo; Rattan; Aluminum; Brass Finish; Resin; Frameless Glass",
            "style": "Modern; Farmhouse; Vintage; Scandinavian; Industrial; Minimalist; Baroque; Coastal",
            "color": "Black; Gold; Silver; White; Walnut; Bronze; Natural; Brushed Nickel",
            "place": "Bathroom; Bedroom; Living Room; Entryway; Dressing Table; Closet",
            "feature": """LED Lighting; Anti-Fog Coating; Touch Dimmer; Storage Shelf; Magnifying Side;
                Adjustable Stand; Hidden Hanger""",
        },
        grades={
            "size": """6 in; 8 in; 12 in; 16 x 20 in; 24 in; 24 x 36 in; 30 in; 32 x 48 in; 21 x 64 in;
                36 x 72 in; 40 x 80 in""",
        },
        options={"Color": "color", "Size": "size"},
        details={
            "Shape": "{shape}",
            "Frame Material": "{material}",
            "Color": "{color}",
            "Dimensions": "{size}",
            "Room Type": "{place}",
        },
        bullets="""{size} {shape} glass in a {color} {material} frame; {feature} for everyday use in the
            {place}; Copper free silver backing gives a true, clear image; Brackets, screws and a paper
            template are in the box; {style} lines that suit small rooms as well as large ones; Wipe with
            a damp cloth; no sharp cleaners needed; Corners of every {brand} mirror are padded for the
            journey""",
        aspects="clarity; frame; finish; size; hardware; weight",
    ),
    "Artificial Plants & Flowers": shelf(
        brands="""Evergreen Parlor; Silkstem; Mossgate; Petal Assembly; Faux & Fern; Windowsill Co.;
            Botanica Still; Leaf Ledger; Gardenwell; Stillwater Stems; Verdalia; Pot & Pollen""",
        heads="""{brand} Artificial {plant}, {size}, {pot}; {brand} {size} Faux {plant} in {pot}; {brand}
            {material} {plant} {form}, {color}, {size}; {brand} Artificial {plant} {form} for {place},
            {color}, {size}""",
        tails="""{material} Leaves; for {place} and Office; Real Touch Feel; UV Resistant; No Watering
            Needed; Wedding and Party Decor; Bendable Stems; Pre-Potted; Low Maintenance Greenery; Easy to
            Shape""",
        words={
            "plant": """Olive Tree; Fiddle Leaf Fig; Peony; Succulent; Eucalyptus; Fern; Orchid; Monstera;
                Lavender; Tulip; Snake Plant; Ivy; Rose""",
            "form": "Stems; Bouquet; Garland; Arrangement; Wreath; Potted Plant; Hanging Vine; Spray",
            "color": "Green; White; Blush Pink; Burgundy; Purple; Cream; Yellow; Dusty Blue",
            "material": "Silk; Latex; Polyester; Plastic; Foam; Real Touch",
            "pot": "White Ceramic Pot; Woven Basket; Black Planter; Glass Vase; Cement Pot; Burlap Wrap",
            "place": "Home; Living Room; Patio; Bathroom Shelf; Table Centerpiece; Front Door",
        },
        grades={"size": "5 in; 8 in; 12 in; 16 in; 20 in; 2 ft; 3 ft; 4 ft; 5 ft; 6 ft; 7 ft"},
        options={"Color": "color", "Size": "size"},
        details={
            "Plant": "{plant}",
            "Material": "{material}",
            "Color": "{color}",
            "Height": "{size}",
            "Container": "{pot}",
        },
        bullets="""Lifelike {plant} made of {material}, shaded by hand; {size} tall, in a {pot}; {color}
            tones that do not fade on a bright sill; Stems hold a wire core and can be bent into shape; No
            water, no soil, no falling leaves; At home in the {place}, at work, or at a wedding table;
            Dust with a soft brush from time to time; {brand} ships each plant with its leaves tied,
            please loosen them gently""",
        aspects="look; color; size; stems; pot; fullness",
    ),
}
