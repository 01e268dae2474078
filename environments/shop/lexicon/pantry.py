"""Word lists: cheese, yogurt, pasta and noodles, wine."""

from environments.shop.lexicon.shelf import shelf

SHELVES = {
    "Cheese": shelf(
        brands="""Dairyman's Rest; Alder Creamery; Wheel & Whey; Pasture Gate; Chalkdown; Bellwether
            Hollow; Greyrock Farm; Casa Morella; Fallow Field; Milkmaid Lane; Three Churns; Hazelmoor""",
        heads="""{brand} {age} {kind}, {size}; {brand} {milk} Milk {kind}, {size}; {brand} {kind} with
            {flavor}, {size}; {brand} {style} {kind} Cheese, {age}, {size}""",
        tails="""{diet}; Cut and Wrapped by Hand; Cave Aged; Sent in Chilled Packaging; Grass Fed {milk}
            Milk; for Cheese Boards and Cooking; Rich and Creamy; Natural Rind; Good with Crackers and
            Fruit""",
        words={
            "kind": """Cheddar; Gouda; Feta; Brie; Blue; Manchego Style; Mozzarella; Parmesan Style;
                Havarti; Swiss; Goat Log; Halloumi""",
            "milk": "Cow's; Goat's; Sheep's; Jersey Cow; Buffalo; Mixed",
            "style": "Farmhouse; Alpine; Smoked; Sharp; Mild; Extra Sharp; Washed Rind; Traditional",
            "age": """Aged 2 Months; Aged 6 Months; Aged 12 Months; Aged 18 Months; Aged 24 Months; Aged
                36 Months""",
            "flavor": """Black Pepper; Truffle; Chives; Cranberries; Garlic and Herbs; Jalapeno; Caraway;
                Fig; Smoked Paprika""",
            "diet": """Vegetarian Rennet; Low Lactose; Raw Milk; Wheat Free; Kosher; No Added Hormones;
                High Protein""",
        },
        grades={"size": "6 oz; 8 oz; 12 oz; 1 lb; 1.5 lb; 2 lb; 3 lb; 5 lb; 8 lb; 10 lb Wheel"},
        options={"Size": "size", "Flavor Name": "flavor"},
        details={
            "Variety": "{kind}",
            "Milk": "{milk}",
            "Net Weight": "{size}",
            "Maturity": "{age}",
            "Diet Type": "{diet}",
        },
        bullets="""{age}, turned and brushed every week; Made with {milk} milk from herds on open pasture;
            {diet}; {style} {kind} that melts evenly and slices cleanly; {size}, wrapped in breathable
            cheese paper; Let it stand at room temperature for half an hour before serving; {brand} sends
            it chilled, in an insulated box""",
        aspects="flavor; texture; aroma; freshness; wrapping; rind",
    ),
    "Yogurt": shelf(
        brands="""Cloud Meadow; Spoonfold; White Gate Dairy; Lunaria; Pearl Pail; Kinder Creek; Alpaca
            Hill; Thistle & Cream; Skyr House; Morrow Dairy; Plain Jane's; Culture Cottage""",
        heads="""{brand} {flavor} {kind}, {size}; {brand} {style} {kind}, {flavor}, {size}; {brand} {milk}
            {kind} with {flavor}, {size}; {brand} {style} {milk} {kind}, {size}""",
        tails="""{diet}; Live and Active Cultures; {protein} Protein per Serving; Lightly Sweetened; for
            Smoothies and Bowls; Thick and Creamy; Freeze Dried Starter Included; No Artificial
            Sweeteners; Sent in Chilled Packaging""",
        words={
            "flavor": """Plain; Vanilla; Strawberry; Blueberry; Peach; Honey; Coconut; Lemon; Black
                Cherry; Mango; Raspberry""",
            "kind": """Greek Yogurt; Skyr; Drinkable Yogurt; Kefir; Yogurt Cups; Yogurt Melts; Yogurt
                Starter; Frozen Yogurt Bites""",
            "style": "Whole Milk; Nonfat; Low Fat; Strained; Set; Farmstead; Whipped; Probiotic",
            "milk": "Oat Milk; Goat Milk; Almond Milk; Coconut Milk; Grass Fed; Sheep Milk; Cashew Milk",
            "diet": "Vegetarian; Wheat Free; Kosher; Non-GMO; Low Lactose; Keto Friendly; No Added Sugar",
            "protein": "8 g; 10 g; 12 g; 15 g; 17 g; 20 g",
        },
        grades={
            "size": """5.3 oz; 16 oz; 24 oz; 32 oz; 6 Cups of 5.3 oz; 8 Cups of 4 oz; 12 Cups of 5.3 oz;
                24 Cups of 4 oz; 48 Cups of 4 oz""",
        },
        options={"Flavor Name": "flavor"},
        details={
            "Flavor": "{flavor}",
            "Form": "{kind}",
            "Net Weight": "{size}",
            "Protein": "{protein}",
            "Diet Type": "{diet}",
        },
        bullets="""{style} and cultured slowly with five live strains; {protein} of protein in each
            serving; {flavor}, with nothing artificial in the cup; {diet}; {size}; keep refrigerated and
            eat within five days of opening; Stir into granola, smoothies or dips; {brand} collects milk
            from farms less than forty miles away""",
        aspects="taste; creaminess; tang; sweetness; cups; freshness",
    ),
    "Pasta & Noodles": shelf(
        brands="""Nonna Perla; Durum & Daughters; Trattoria Lume; Silk Bowl; Campo Secco; Noodle Almanac;
            Vento Mill; Bronze Die Co.; Lantern Street; Semola Bay; Golden Ladle; Basil Court""",
        heads="""{brand} {grain} {shape}, {size}; {brand} {style} {shape}, {grain}, {size}; {brand}
            {grain} {shape} with {flavor}, {size}; {brand} {style} {grain} {shape} Pasta, {size}""",
        tails="""{diet}; Bronze Cut; Slow Dried; Cooks in {minutes} Minutes; {protein} Protein per
            Serving; Pantry Staple; for Soups, Salads and Weeknight Dinners; Made from Two Ingredients;
            Holds Sauce Well""",
        words={
            "shape": """Spaghetti; Penne; Fusilli; Rigatoni; Linguine; Macaroni; Lasagna Sheets; Ramen
                Noodles; Udon; Rice Sticks; Orzo; Egg Noodles; Soba; Fettuccine""",
            "grain": """Durum Wheat; Brown Rice; Red Lentil; Chickpea; Whole Wheat; Spelt; Buckwheat;
                Konjac; Quinoa; Black Bean""",
            "style": "Artisan; Traditional; Organic; Fresh; Thin Cut; Wide Cut; Homestyle; Quick Cook",
            "flavor": "Spinach; Garlic; Tomato; Squid Ink; Beet; Black Pepper; Egg; Porcini",
            "diet": "Vegan; High Fiber; Low Carb; Wheat Free; High Protein; Non-GMO; Kosher",
            "minutes": "3; 5; 7; 8; 9; 11",
            "protein": "7 g; 9 g; 11 g; 14 g; 20 g; 24 g",
        },
        grades={"size": "7 oz; 8.8 oz; 12 oz; 16 oz; 24 oz; 2 lb; 4 lb; 6 lb; 10 lb"},
        options={"Flavor Name": "flavor", "Size": "size"},
        details={
            "Shape": "{shape}",
            "Grain": "{grain}",
            "Net Weight": "{size}",
            "Cooking Time": "{minutes} minutes",
            "Diet Type": "{diet}",
        },
        bullets="""{grain} {shape}, cut through bronze so that sauce clings; Ready in {minutes} minutes in
            well salted water; {protein} of protein in each serving; {diet}; {size} in a paper bag with a
            window; Dried for a day and a half at low heat; {brand} prints the harvest year on every bag""",
        aspects="texture; taste; cooking time; portion size; bag; sauce grip",
    ),
    "Wine": shelf(
        brands="""Chateau Merlebleu; Foxglove Ridge; Old Terrace; Casa Ventosa; Moonpress; Slate & Vine;
            Quinta do Sabugo; Larkhill Cellars; Domaine Courtepaille; Bright Barrel; Two Rivers Press;
            Weingut Steinlaub""",
        heads="""{brand} {grape} {year}, {size}; {brand} {style} {grape}, {region}, {size}; {brand}
            {region} {grape} {year}, {size}; {brand} Alcohol Removed {grape}, {style}, {size}; {brand}
            {style} {grape} Cooking Wine, {size}""",
        tails="""Notes of {note} and {fruit}; Aged in {wood} Barrels; Estate Grown; Good with {dish};
            Natural Cork; Gift Ready Carton; Low Sulfite; Unfiltered; Serve at {serve}; Hand Harvested""",
        words={
            "grape": """Chardonnay; Merlot; Pinot Noir; Riesling; Malbec; Sauvignon Blanc; Tempranillo;
                Rosé; Syrah; Sparkling Brut; Zinfandel; Grüner Veltliner""",
            "style": "Dry; Off-Dry; Full Bodied; Crisp; Oaked; Unoaked; Medium Bodied; Fruity",
            "region": """North Coast; River Valley; Upper Slope; High Desert; Lakeside; Old Hills; South
                Cape; Stone Valley""",
            "year": "2016; 2017; 2018; 2019; 2020; 2021",
            "note": "Vanilla; Cedar; Black Pepper; Honey; Toast; Leather; Flint; Rose Petal",
            "fruit": "Cherry; Plum; Green Apple; Peach; Blackberry; Citrus; Pear; Fig",
            "wood": "French Oak; American Oak; Chestnut; Used Oak; Acacia",
            "dish": "Roast Chicken; Grilled Fish; Aged Cheese; Pasta; Lamb; Mushroom Risotto; Salads",
            "serve": "46 °F; 50 °F; 55 °F; 60 °F; 64 °F",
        },
        grades={"size": "187 ml; 375 ml; 500 ml; 750 ml; 25.4 fl oz; 1 L; 1.5 L; 3 L"},
        options={"Size": "size"},
        details={
            "Variety": "{grape}",
            "Region": "{region}",
            "Volume": "{size}",
            "Vintage": "{year}",
            "Style": "{style}",
        },
        bullets="""{style} {grape} from {region}, with {note} on the nose and {fruit} on the palate;
            Rested for nine months in {wood}; Serve at {serve}, in a tall glass; Good with {dish}; {size}
            with a natural cork; Harvested by hand in the cool of the morning; {brand} farms without
            irrigation""",
        aspects="taste; aroma; finish; bottle; balance; label",
    ),
}
