"""Word lists: cookies, breads, cereals, chocolate."""

from environments.shop.lexicon.shelf import shelf

SHELVES = {
    "Cookies": shelf(
        brands="""Quiet Harbor; Tilly & Bram; Cobblestone Oven; Wrenfield; Maple Lantern; Aunt Odessa's;
            Brambleside; Sugar Gable; Fern & Kettle; Pennyloaf; Old Quay Bakehouse; Larkspur Lane;
            Dunmere; Crumbwell""",
        heads="""{brand} {flavor} {style} Cookies, {size}; {brand} {style} {flavor} Cookies, {size};
            {brand} {flavor} Cookies {style} Batch, {count}; {brand} {base} Cookies with {flavor}, {size};
            {brand} {flavor} {shape} Cookies, {count}; {brand} {style} {base} Cookies, {flavor}, {count}""",
        tails="""{diet}; Individually Wrapped; Baked in Small Batches; {texture} Texture; Resealable Tin;
            for Lunch Boxes and Coffee Breaks; No Artificial Colors; Made with {base} Flour and Real
            Butter; Tea Time Treat for Home and Office; Family Recipe with Simple Ingredients""",
        words={
            "flavor": """Brown Butter; Lemon Zest; Double Ginger; Toasted Coconut; Sea Salt Caramel;
                Raisin; Cranberry Orange; Dark Cocoa; Almond; Vanilla Bean; Maple Walnut; Peanut Butter;
                Cinnamon; Apricot; Hazelnut; Pistachio; Espresso; Cherry; Chocolate Chip; White Chocolate
                Macadamia""",
            "style": """Crisp; Soft Baked; Hand Rolled; Stone Ground; Farmhouse; Thin; Old-Fashioned;
                Country; Rustic; Bite Size""",
            "base": """Oat; Shortbread; Almond Flour; Spelt; Buttermilk; Buckwheat; Whole Wheat; Rye;
                Coconut Flour""",
            "shape": "Sandwich; Drop; Pinwheel; Thumbprint; Wafer; Finger; Windmill; Heart Shaped",
            "diet": """Vegetarian; Egg Free Recipe; Lower Sugar; Dairy Free; Nut Free Kitchen; Kosher;
                Non-GMO; Plant Based""",
            "texture": "Crunchy; Chewy; Crumbly; Tender; Snappy",
        },
        grades={
            "size": "5 oz; 6.5 oz; 8 oz; 10 oz; 12 oz; 16 oz; 22 oz; 28 oz; 2.5 lb; 4 lb",
            "count": "8 Count; 10 Count; 12 Count; 18 Count; 24 Count; 30 Count; 48 Count; 64 Count",
        },
        options={"Flavor Name": "flavor", "Size": "size"},
        details={"Flavor": "{flavor}", "Net Weight": "{size}", "Units": "{count}", "Diet Type": "{diet}"},
        bullets="""{flavor} cookies with a {texture} bite, baked on stone trays and cooled slowly; Made
            with {base} dough, real butter and no artificial flavors; {diet}: please read the full
            ingredient list on the box; {size} in a box that closes again, so the last cookie stays as
            fresh as the first; Keeps for six months in a cool, dry cupboard; Goes well with coffee, tea
            or a glass of cold milk; Each batch is tasted by {brand}'s bakers before it leaves the oven
            room""",
        aspects="taste; texture; freshness; sweetness; box; portion size",
    ),
    "Breads": shelf(
        brands="""Hearth & Hollow; Millrace; Grainsby; The Crust Room; Barleymoor; Saltcote Bakers; Loaf &
            Lattice; Thornbury Mill; Yeoman's Oven; Stonefold; Wheatley Row; Pan & Poppy""",
        heads="""{brand} {grain} {loaf}, {size}; {brand} {style} {grain} {loaf}, {size}; {brand} {loaf}
            with {topping}, {size}; {brand} {style} {loaf} Bread, {topping}, {size}""",
        tails="""{diet}; Part Baked, Ready in Ten Minutes; Stone Oven Baked; Freezer Friendly; Soft Crumb
            and Crisp Crust; for Toast and Sandwiches; Slow Fermented for 24 Hours; No Preservatives; Good
            with Soup and Cheese Boards""",
        words={
            "grain": """Rye; Sourdough; Whole Wheat; Spelt; Seven Grain; Barley; Oat; Potato; Buckwheat;
                Corn; Einkorn""",
            "loaf": """Sandwich Loaf; Flatbread; Pita; Baguette; Soft Pretzel; Dinner Rolls; Naan;
                Crispbread; Bagels; English Muffins""",
            "style": """Artisan; Farmhouse; Rustic; Country; Bavarian Style; Tuscan Style; Nordic; Hand
                Shaped; Thin""",
            "topping": """Sesame; Rosemary; Sea Salt; Poppy Seed; Sunflower Seed; Garlic; Caraway; Cracked
                Pepper; Onion; Olives""",
            "diet": "Vegan; High Fiber; Low Sodium; Dairy Free; Kosher; Non-GMO; Wheat Free; High Protein",
        },
        grades={"size": "9 oz; 12 oz; 16 oz; 20 oz; 24 oz; 2 lb; 3 lb; 4 lb; 6 lb"},
        options={"Flavor Name": "topping", "Size": "size"},
        details={"Grain": "{grain}", "Form": "{loaf}", "Net Weight": "{size}", "Diet Type": "{diet}"},
        bullets="""{grain} dough proved overnight for a deep, nutty flavor; {loaf} in the {style} manner
            with {topping} on the crust; {diet} and made without preservatives; {size} in paper that can
            go into the freezer; Warm for a few minutes at 375 °F for a crisp crust; Good with soup, soft
            cheese or a fried egg; Baked by {brand} in brick ovens, five days a week""",
        aspects="crust; crumb; freshness; flavor; wrapping; slice size",
    ),
    "Cereals": shelf(
        brands="""Morning Fable; Sunup Acres; Bowl & Barrow; Daybreak Mill; Rooster Ridge; Little Furrow;
            Oatsworth; Clover Spoon; Honeyfield; Tumbledown Farm; Early Wren; Prairie Quill""",
        heads="""{brand} {flavor} {kind}, {size}; {brand} {grain} {kind} with {flavor}, {size}; {brand}
            {style} {grain} {kind}, {flavor}, {size}; {brand} {style} {flavor} {kind} Breakfast Cereal,
            {size}""",
        tails="""{diet}; Whole Grain Breakfast; Good Source of Fiber; Lightly Sweetened with {sweetener};
            Ready in Three Minutes; for Kids and Adults; Resealable Pouch; No Artificial Colors or
            Flavors; Crunchy Topping for Yogurt and Fruit""",
        words={
            "flavor": """Honey Almond; Blueberry; Maple; Cinnamon Apple; Cocoa; Strawberry; Banana Nut;
                Vanilla; Toasted Coconut; Raisin and Date; Pumpkin Seed; Peach; Tart Cherry""",
            "kind": """Granola; Muesli; Flakes; Puffs; Clusters; Porridge Oats; Hoops; Squares; Hot
                Cereal; Crunch""",
            "grain": "Oat; Wheat; Corn; Rice; Quinoa; Barley; Spelt; Millet; Buckwheat; Rye",
            "style": "Stone Rolled; Baked; Toasted; Sprouted; Steel Cut; Country; Simple; Overnight",
            "diet": "Vegan; High Protein; Low Sugar; Non-GMO; Dairy Free; Kosher; Wheat Free; Vegetarian",
            "sweetener": "Honey; Maple Syrup; Date Syrup; Cane Sugar; Agave",
        },
        grades={"size": "7 oz; 10 oz; 12 oz; 14.5 oz; 18 oz; 24 oz; 32 oz; 48 oz; 5 lb; 10 lb"},
        options={"Flavor Name": "flavor", "Size": "size"},
        details={"Flavor": "{flavor}", "Grain": "{grain}", "Net Weight": "{size}", "Diet Type": "{diet}"},
        bullets="""{style} {grain} with {flavor}, for a bowl that stays crunchy in milk; Sweetened with a
            little {sweetener}; {diet}, with whole grain as the first ingredient; {size}, about one month
            of breakfasts for one; A serving has four grams of fiber and seven grams of protein; Pour over
            yogurt, fruit or baked apples; Grown and milled by farms that {brand} has worked with for
            years""",
        aspects="crunch; taste; sweetness; freshness; bag; serving size",
    ),
    "Chocolate": shelf(
        brands="""Velvet Anchor; Cacao & Finch; Marquise Noir; Duskwater; Bellamy Fig; Tropic Ledger;
            Copper Swan; Ombra; Sable & Sons; Nightjar; Hollis Grove; Pod & Press; Amberly; Fontaine Mews""",
        heads="""{brand} {percent} {kind} {form} with {flavor}, {size}; {brand} {flavor} {kind} {form},
            {size}; {brand} {form} {kind}, {flavor}, {size}; {brand} Single Origin {origin} {kind} {form},
            {percent}, {size}; {brand} {kind} {flavor} {form}, {count}""",
        tails="""{diet}; Stone Ground; Bean to Bar from {origin}; Gift Box with Ribbon; Individually
            Wrapped; Smooth Melt; for Baking and Snacking; Slow Roasted Cacao; No Palm Oil; Crafted in
            Small Batches; Party Favors and Desserts""",
        words={
            "kind": "Dark Chocolate; Milk Chocolate; White Chocolate; Ruby Chocolate; Semisweet Chocolate",
            "form": "Bar; Truffles; Bark; Squares; Coins; Thins; Pralines; Clusters; Baking Chips; Bonbons",
            "flavor": """Sea Salt; Orange Peel; Roasted Almond; Hazelnut; Raspberry; Mint; Espresso;
                Caramel; Ginger; Pistachio; Coconut; Chili; Cherry; Toffee; Lavender; Puffed Quinoa""",
            "percent": "45%; 54%; 60%; 65%; 70%; 72%; 80%; 85%",
            "origin": "Ecuador; Ghana; Peru; Madagascar; Tanzania; Belize; Grenada; Colombia",
            "diet": """Vegan; Kosher; Dairy Free; Non-GMO; Soy Free; Fairly Traded; No Added Sugar;
                Vegetarian""",
        },
        grades={
            "size": "2.5 oz; 3.5 oz; 5 oz; 7 oz; 10 oz; 14 oz; 1 lb; 1.5 lb; 2 lb; 5 lb",
            "count": "6 Pieces; 9 Pieces; 12 Pieces; 16 Pieces; 24 Pieces; 36 Pieces; 50 Pieces; 80 Pieces",
        },
        options={"Flavor Name": "flavor", "Size": "size"},
        details={
            "Flavor": "{flavor}",
            "Cacao": "{percent}",
            "Net Weight": "{size}",
            "Diet Type": "{diet}",
            "Origin": "{origin}",
        },
        bullets="""{percent} cacao from {origin}, roasted slowly and conched for two days; {flavor} folded
            in by hand; {diet}, with no palm oil and no artificial vanilla; {size} in a recyclable sleeve;
            Store between 60 and 68 °F, away from strong smells; A quiet companion for coffee or red wine;
            {brand} pays growers above the market price""",
        aspects="flavor; smoothness; snap; sweetness; wrapping; portion size",
    ),
}
