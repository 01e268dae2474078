"""Word lists: toothpaste, mouthwash, deodorants."""

from environments.shop.lexicon.shelf import shelf

SHELVES = {
    "Toothpaste": shelf(
        brands="""Brightwell; Pearlmint; Dentica Blue; Molar & Sage; Enamelle; Fresh Quarry; Minty Fox;
            Caldera Oral; Snowcap; Oravine; Gumfield; Little Molar""",
        heads="""{brand} {action} Toothpaste, {flavor}, {size}; {brand} {flavor} Toothpaste with
            {ingredient}, {size}; {brand} {style} {action} Toothpaste, {size}; {brand} {ingredient}
            {action} Toothpaste, {flavor}, {size}""",
        tails="""{diet}; for {user}; Low Foam Formula; Travel Friendly Tube; Gentle on Enamel; Fresh
            Breath All Morning; Daily Use; Helps Remove Plaque; With {ingredient} and Xylitol; Recyclable
            Tube; No Artificial Dyes""",
        words={
            "action": """Whitening; Enamel Care; Sensitive; Tartar Care; Gum Care; Cavity Care; Stain
                Lifting; Complete Care""",
            "flavor": """Peppermint; Spearmint; Cinnamon; Wintergreen; Mild Fennel; Charcoal Mint;
                Strawberry; Orange; Eucalyptus; Green Tea""",
            "ingredient": """Fluoride; Hydroxyapatite; Activated Charcoal; Baking Soda; Aloe; Coconut Oil;
                Propolis; Sea Salt; Bamboo Salt""",
            "style": "Natural; Gel; Herbal; Advanced; Organic; Gentle; Powder; Tablet",
            "diet": "Vegan; SLS Free; Fluoride Free; Cruelty Free; Sugar Free; Paraben Free",
            "user": "Adults; Kids 2 and Up; Sensitive Teeth; the Whole Family; Travelers; Braces",
        },
        grades={
            "size": """0.85 oz; 1.7 oz; 2.5 oz; 3.4 oz; 4 oz; 4.7 oz; 6 oz; 2 Tubes of 4 oz; 3 Tubes of
                4.7 oz; 6 Tubes of 3.4 oz""",
        },
        options={"Flavor Name": "flavor", "Size": "size"},
        details={
            "Flavor": "{flavor}",
            "Net Contents": "{size}",
            "Active Ingredient": "{ingredient}",
            "Age Range": "{user}",
        },
        bullets="""{action} toothpaste with {ingredient}, for use twice a day; {flavor} taste that is
            fresh without burning; {diet}; {style} formula with low abrasion; {size}; Suits {user}; Caps
            and tubes from {brand} can be recycled""",
        aspects="taste; freshness; foam; tube; whitening; texture",
    ),
    "Mouthwash": shelf(
        brands="""Rinsewell; Cool Creek; Gargle & Green; Breezeway; Clear Quarry; Oralune; Tidal Mint;
            Halcyon Rinse; Sage & Saline; Polar Cup; Freshwater Oral; Kindly""",
        heads="""{brand} {action} Mouthwash, {flavor}, {size}; {brand} {style} Mouth Rinse, {flavor},
            {size}; {brand} {flavor} Mouthwash with {ingredient}, {size}; {brand} {style} {action} Oral
            Rinse, {ingredient}, {size}""",
        tails="""{diet}; Alcohol Free; for {user}; Long Lasting Fresh Breath; Gentle Daily Rinse; Helps
            Reduce Plaque; No Burn Formula; Travel Friendly Bottle; Works in 30 Seconds; With {ingredient}""",
        words={
            "action": """Fresh Breath; Whitening; Gum Care; Dry Mouth; Cavity Care; Plaque Control; Enamel
                Care""",
            "flavor": """Cool Mint; Spearmint; Cinnamon; Citrus; Wintergreen; Green Tea; Bubble Gum;
                Eucalyptus; Clove""",
            "ingredient": "Fluoride; Zinc; Aloe; Tea Tree Oil; Xylitol; Sea Salt; Chlorophyll; Coconut Oil",
            "style": "Natural; Herbal; Concentrated; Antiseptic; Gentle; Daily; Advanced; Foaming",
            "diet": "Vegan; Dye Free; Sugar Free; Cruelty Free; Fluoride Free; Wheat Free",
            "user": "Adults; Kids 6 and Up; Sensitive Gums; Braces; Travelers; Dry Mouth",
        },
        grades={
            "size": """3 fl oz; 8 fl oz; 12 fl oz; 16 fl oz; 33.8 fl oz; 1.5 L; 2 Bottles of 1 L; 4
                Bottles of 16 fl oz; 6 Bottles of 1 L""",
        },
        options={"Flavor Name": "flavor", "Size": "size"},
        details={
            "Flavor": "{flavor}",
            "Volume": "{size}",
            "Active Ingredient": "{ingredient}",
            "Age Range": "{user}",
        },
        bullets="""{action} rinse with {ingredient}; swish for thirty seconds, twice a day; {flavor},
            fresh without the sting; {diet} and alcohol free; {size} with a measuring cap; {style} formula
            for {user}; {brand} bottles are made from recycled plastic""",
        aspects="taste; freshness; burn; bottle; aftertaste; cap",
    ),
    "Deodorants & Antiperspirants": shelf(
        brands="""Cedar & Salt; Everdry; Hushed; Northlane; Linen Coast; Underwood Row; Plainly Fresh;
            Barefoot Atlas; Zephyrine; Stonewash; Meridian Man; Lily Gale""",
        heads="""{brand} {style} Deodorant {form}, {scent}, {size}; {brand} {scent} {form} Deodorant,
            {size}; {brand} {hours} Antiperspirant {form}, {scent}, {size}; {brand} {style} Antiperspirant
            Deodorant, {scent}, {hours}, {size}""",
        tails="""{diet}; for {user}; No White Marks; With {ingredient}; Quick Drying; Travel Friendly
            Size; Gentle on Skin; Odor Protection All Day; Non-Staining; Light Clean Scent""",
        words={
            "style": "Natural; Clinical; Sensitive; Sport; Mineral; Invisible; Daily; Extra Strength",
            "form": "Stick; Roll-On; Spray; Cream; Crystal; Gel; Aerosol; Wipes",
            "scent": """Cedarwood; Lavender; Unscented; Coconut; Fresh Linen; Bergamot; Cucumber;
                Sandalwood; Citrus Grove; Rosemary Mint; Aloe""",
            "hours": "24 Hour; 36 Hour; 48 Hour; 72 Hour",
            "ingredient": """Baking Soda; Magnesium; Shea Butter; Arrowroot; Charcoal; Witch Hazel; Aloe;
                Tea Tree Oil""",
            "diet": "Aluminum Free; Vegan; Cruelty Free; Paraben Free; Alcohol Free; Talc Free",
            "user": "Men; Women; Men and Women; Teens; Sensitive Skin; Active Days",
        },
        grades={
            "size": """0.5 oz; 1.7 oz; 2.25 oz; 2.7 oz; 3 oz; 3.8 oz; 5 oz; 3 Sticks of 2.6 oz; 4 Cans
                of 5 oz; 6 Sticks of 2.7 oz""",
        },
        options={"Scent": "scent", "Size": "size"},
        details={
            "Scent": "{scent}",
            "Form": "{form}",
            "Net Contents": "{size}",
            "Active Ingredient": "{ingredient}",
            "For": "{user}",
        },
        bullets="""{hours} odor protection with {ingredient}; {scent} scent that stays close to the skin;
            {diet}; {form} that dries fast and leaves no marks on dark shirts; {size}; {style} formula for
            {user}; {brand} tests on willing people, never on animals""",
        aspects="scent; staying power; feel; stick; freshness; gentleness",
    ),
}
