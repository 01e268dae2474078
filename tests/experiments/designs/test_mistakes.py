"""A mistake in an experiment file, or in a file that it names, is one line: file, line, key, what to do."""

import re
from pathlib import Path

import pytest

from experiments.designs.loading import load_design
from interventions.errors import UserError

SHOP = "name: e\ngoal: Buy.\n"
NUDGED = f"{SHOP}factors: {{nudge: {{interventions: nudges}}}}\n"
STOPPING = f"{NUDGED}stopping: {{rule: anytime-valid}}\n"
CARD = "name: e\ntask: card\n"
BOTH = f"{SHOP}factors: {{nudge: {{interventions: nudges, on: [both]}}}}\n"
HOTELS = f"{CARD}cards: hotels\n"
WINE = f"{SHOP}options:\n  catalogue: wine.csv\n"
WTP = f"{CARD}cards: willingness-to-pay\n"
BIASES = f"{CARD}cards: biases\n"
DESKS = f"{CARD}cards: cards.yaml\n"
PAIRS = "{set_size: 2, sets: 1}"
SCORE = "name: e\ntask: score\n"
SITE = "environment: https://shop.example/\nlive: {allow: [], stop_before: [Pay]}\noptions: {file: s.csv}\n"
SQUARE = "factors: {order: latin-square}\n"
OFFERS = "cheap: {price: -10%, rating: 70}, good: {price: +10%, rating: 84}"
LOW, TOP = "worse-than-cheap: {price: 0%, rating: 62}", "worse-than-good: {price: +20%, rating: 77}"
DECOYS = f"{SHOP}decoys: {{{OFFERS}, third: {{{LOW}, {TOP}}}}}\n"
OF_THREE = f"{DECOYS}{SQUARE}match: [reviews]\n"
WHOLE = "options: {pairing: whole-list}\n"

KEYS = [
    ("", "name: e\ntask: cards", 'task: unknown value "cards"; did you mean "card"?'),
    ("", "name: e\ntask: buy", 'task: unknown value "buy"; use one of: card, compare-tabs, home, listing'),
    ("", "interventions: []", "interventions: this is a file of interventions; name it in an experiment"),
    ("", "name: e\ngoal: Spend ${price}.", 'goal: nothing is known of "${price}"; a goal can name ${cat'),
    (SHOP, "factors: {nudge: {interventions: hotels}}", "interventions: hotel-choice: cards change no page"),
    (SHOP, "factors: {nudge: {interventions: nudges, on: []}}", "factors.nudge.on: the list is empty"),
    (SHOP, "environment: shopp", 'environment: "shopp" is no environment; write shop, compose:NAME or'),
    (SHOP, "environment: compose:postgres", 'environment: no shop "postgres" to launch; '),
    (SHOP, "environment: compose:onestopmarkt", 'did you mean "onestopmarket"?'),
    (SHOP, "environment: file:///etc/passwd", "is no environment"),
    (SHOP, "environment: https://shop.example/a?b", "is no environment"),
    (SHOP, "environment: https://shop.example/", "environment: a site that is not ours needs the key live"),
    (SHOP, "environment: compose:onestopmarket", "environment: this shop's products have to be read from"),
    (SHOP, f"{SITE}task: listing", "task: listing needs the embedded shop"),
    (SHOP, "task: home", "task: home shows all that the shop lists there; write options.pairing: whole-list"),
    (SHOP, WHOLE, "options.pairing: the products of a list are not opened in tabs"),
    (
        SHOP,
        "attributes: {badges: {interventions: badges, only: [ad]}}",
        "attributes.badges: badges are drawn with the places; write factors.order: latin-square",
    ),
    (
        SHOP,
        f"{SQUARE}attributes: {{badges: {{interventions: badges, only: [add]}}}}",
        'attributes.badges.only[0]: no intervention "add"; did you mean "ad"?',
    ),
    (
        SHOP,
        f"{SQUARE}attributes: {{badges: {{interventions: badges, only: [ad, ad]}}}}",
        "attributes.badges.only[1]: ad is there twice, or a nudge too",
    ),
    (
        SHOP,
        "factors: {order: latin-square, nudge: {interventions: badges, only: [ad]}}\n"
        "attributes: {badges: {interventions: badges, only: [ad]}}",
        "attributes.badges.only[0]: ad is there twice, or a nudge too",
    ),
    (
        SHOP,
        f"{SQUARE}attributes: {{badges: {{interventions: rationality, only: [cheaper-1c]}}}}",
        "attributes.badges.only[0]: cheaper-1c is no badge",
    ),
    (
        SHOP,
        f"{SQUARE}stopping: {{rule: anytime-valid, effect: order}}",
        "factors.order is latin-square, and places are drawn",
    ),
    (SHOP, f"{WHOLE}task: listing", "a whole list has the shop's order; write factors.order: listed"),
    (SHOP, f"{WHOLE}task: home\nfactors: {{order: listed}}\ngoal: 'In ${{category}}'", "goal: "),
    (
        SHOP,
        "factors: {nudge: {interventions: nudges, on: [each, random]}}",
        "factors.nudge.on: random is one of each; remove one of the two",
    ),
    (
        SHOP,
        "factors: {nudge: {interventions: checkout, on: [none, shop], only: [donation-opt-in]}}\n"
        "site: embedded",
        "donation-opt-in shows on the way to an order; write ends: order, or leave it out",
    ),
    (
        SHOP,
        "factors: {nudge: {interventions: checkout, on: [shop]}}\nsite: embedded\nends: order",
        "factors.nudge.on: without control trials nothing is compared; write none and shop",
    ),
    (SHOP, "live: {allow: [shop.example]}", "live.stop_before: missing; add this key"),
    (SHOP, "live: {allow: [], stop_before: []}", "live.stop_before"),
    (SHOP, "live: {allow: ['https://x'], stop_before: [Pay]}", 'live.allow[0]: "https://x" is no host'),
    (SHOP, "page: product.html", "page: "),
    (SHOP, "task: search\noptions: {file: sets.csv}", "options.file: search forms its own choice sets"),
    (SHOP, "task: listing\noptions: {titles: {filter: true}}", "options.titles: "),
    (SHOP, "agents: []", "agents: the list is empty"),
    (SHOP, "observation: {pages: whole}", 'observation.pages: unknown key; did you mean "page"'),
    (SHOP, "observation: screenshoot", 'no modality; did you mean "screenshot"'),
    (SHOP, "observation: [html, picture]", '"picture" is no modality; the modalities are: both, feed, html'),
    (SHOP, "observation: [html, html]", "a modality stands twice"),
    (SHOP, "observation: {modality: [tree], screenshot: true}", "a modality says all of what is shown"),
    (SHOP, "computers: {'openai-computer:m': {coordinates: pixels}}", "takes no options; agents that do: "),
    (SHOP, "computers: {qwen-computer: {coordinates: pixels}}", "takes no options"),
    (SHOP, "computers: {'gemini-computer:m': {coordinates: pixels}}", "takes no coordinates; it takes "),
    (SHOP, "computers: {'qwen-computer:m': {coordinates: inches}}", "inches"),
    (SHOP, "attributes: {}", "attributes: no attribute is drawn; name levels of price, rating or reviews"),
    (SHOP, "attributes: {price: [-10%]}", "attributes.price: one level is no draw; give two or more"),
    (SHOP, "attributes: {price: [+10%, 10.0%]}", "attributes.price: a level stands twice"),
    (SHOP, "attributes: {price: [-10%, 20]}", "attributes.price: changes in percent and amounts cannot"),
    (SHOP, "attributes: {price: [-10%, cheap]}", 'attributes.price[1]: "cheap" is no price; write'),
    (SHOP, "attributes: {price: [0%, -100%]}", 'attributes.price[1]: "-100%" is no price'),
    (SHOP, "attributes: {price: [0%, 0.5%]}", "attributes.price: two levels are one price of "),
    (SHOP, "attributes: {rating: [60, 101]}", "attributes.rating[1]: "),
    (SHOP, "attributes: {reviews: [0, 10]}", "attributes.reviews[0]: "),
    (SHOP, "attributes: {prices: [1, 2]}", 'attributes.prices: unknown key; did you mean "price"'),
    (SHOP, "attributes: {price: [-10%, 10%]}\nmatch: [price]", "match: the price is drawn too"),
    (DECOYS, SQUARE, "decoys: they set price and rating, and all else has to be"),
    (DECOYS, f"{SQUARE}match: [price, reviews]", "decoys: they set price and rating"),
    (DECOYS, "match: [reviews]", "decoys: products change their places with their roles; write"),
    (DECOYS, f"match: [reviews]\n{SQUARE[:-2]}, nudge: {{interventions: nudges}}}}", "factors.nudge: "),
    (OF_THREE, "options: {set_size: 2}", "decoys: they need sets of three products, and "),
    (OF_THREE, "attributes: {price: [-10%, 10%]}", "attributes.price: decoys set the prices and ratings of"),
    (OF_THREE, "stopping: {rule: anytime-valid, effect: order}", "factors.order is latin-"),
    (OF_THREE, "allocation: adaptive", "allocation: it needs questions that are asked again as they were"),
    (
        SHOP,
        f"decoys: {{cheap: {{price: 0%, rating: 90}}, good: {{price: 9%, rating: 84}}, third: {{{LOW}}}}}",
        "decoys.good: it is no trade-off; make good dearer and higher rated than cheap",
    ),
    (
        SHOP,
        f"decoys: {{{OFFERS}, third: {{worse-than-cheap: {{price: 0%, rating: 70}}, {TOP}}}}}",
        "decoys.third.worse-than-cheap: it is not worse-than-cheap; price it between",
    ),
    (SHOP, f"decoys: {{{OFFERS}, third: {{{LOW}}}}}", "decoys.third: an effect is the mean over"),
    (SHOP, f"decoys: {{{OFFERS}, third: {{worse-than: {{price: 0%, rating: 62}}}}}}", "decoys.third"),
    (SHOP, f"decoys: {{{OFFERS}, third: {{dearest: {{price: 9, rating: 1}}}}}}", '"9" is no change of a'),
    (
        f"{SHOP}{SQUARE}match: [reviews]\noptions: {{set_size: 3}}\n",
        "decoys: {cheap: {price: 0%, rating: 70}, good: {price: 0.02%, rating: 84}, "
        "third: {cheapest: {price: -10%, rating: 50}, dearest: {price: +10%, rating: 90}}}",
        "decoys.third.cheapest: two prices are one in ",
    ),
    (SHOP, "profiles: []", "profiles: "),
    (SHOP, "profiles: [price_increased]", 'profiles[0]: "price_increased" is no name; use lower-case'),
    (SHOP, "profiles: [none, price-increase]", 'profiles[1]: unknown profile "price-increase"; did you mean'),
    (SHOP, "profiles: [none, none]", "profiles[1]: none stands twice"),
    (SHOP, "profiles: [{id: mine, text: Hello.}, mine]", "profiles[1]: mine stands twice"),
    (SHOP, "profiles: [{id: mine, txt: x}]", "profiles[0].txt: unknown key"),
    (SHOP, "plan: {hypotheses: [{name: h, effect: nudge}]}", "[0].effect: no product carries a nudge"),
    (SHOP, "plan: {hypotheses: [{name: h, effect: order}]}\nfactors: {order: listed}", "effect: the order"),
    (NUDGED, "stopping: {rule: anytime}", "stopping.rule: "),
    (NUDGED, "stopping: {rule: fixed, alpha: 0.1}", "stopping.alpha: only rule: anytime-valid has"),
    (NUDGED, "stopping: {rule: anytime-valid, alpha: 0}", "stopping.alpha: "),
    (NUDGED, "stopping: {rule: anytime-valid, margin: -5}", "stopping.margin: "),
    (NUDGED, "stopping: {rule: anytime-valid, most: 0}", "stopping.most: "),
    (NUDGED, "stopping: {rule: anytime-valid, efect: nudge}", 'stopping.efect: unknown key; did you mean'),
    (STOPPING, "attributes: {price: [-10%, 0%]}", "stopping: it needs strata that show the same"),
    (NUDGED, "allocation: adaptive\nattributes: {price: [-10%, 0%]}", "allocation: it needs questions"),
    (NUDGED, "allocation: adaptive\nobservation: [html, tree]", "several modalities; write all"),
    (NUDGED, "allocation: adaptive\noptions: {sets: 9}", "allocation: 18 questions are asked more than 2"),
    (STOPPING, "options: {set_size: 3, sets: 4}", "stopping.rule: it needs choice sets of"),
    (STOPPING, "observation: [html, tree]", "write an experiment for each modality"),
    (BOTH, "options: {set_size: 3}", "factors.nudge.on: both needs sets of two products; write set_size: 2"),
    (BOTH, "allocation: adaptive", "allocation: factors.nudge.on has both; write all"),
    (BOTH, "stopping: {rule: anytime-valid, effect: order}", "stopping.rule: factors.nudge.on has both"),
    (SHOP, "factors: {nudge: {interventions: placebo, on: [both]}}", "both needs two nudges, and there is"),
    (SHOP, "factors: {nudge: {interventions: nudges, on: [all]}}", 'nudge.on[0]: unknown value "all"; '),
    (SHOP, "stopping: {rule: anytime-valid}", "stopping: no product carries a nudge"),
    (SHOP, "stopping: {rule: anytime-valid, effect: order}\nfactors: {order: listed}", "effect: the order"),
    (SHOP, "options: {pairing: adjacent}", 'options.pairing: unknown value "adjacent"; did you mean "price-'),
    (SHOP, "options: {pairing: price-coverage, set_size: 3}", "options.set_size: price-coverage forms pairs"),
    (SHOP, "options: {categories: 3}", "options.categories: has no effect on the pairing price-adjacent; "),
    (SHOP, "options: {pairing: randm}", 'options.pairing: unknown value "randm"; did you mean "random"'),
    (SHOP, "options: {pairing: random, max_price_gap: 0.1}", "has no effect on the pairing ran"),
    (SHOP, "options: {min_products_per_category: 1}", "options.min_products_per_category: must be greater"),
    (SHOP, "options: {min_products_per_category: 9_999}", "no category has 9999 products, the largest has "),
    (SHOP, "options: {file: sets.csv, min_products_per_category: 3}", "per_category: has no effect"),
    (SHOP, "options: {file: sets.csv, max_price_gap: 0.1}", "max_price_gap: has no effect on the sets of"),
    (SHOP, "options: {titles: {model: 'openai:x'}}", "options.titles.model: the answers are kept beside "),
    (SHOP, "options: {currency: EUR}", "options.currency: has no effect on the embedded"),
    (SHOP, "options: {catalogue: teas.csv, currency: euro}", 'currency: "euro" is no currency; write'),
    (SHOP, "options: {catalogue: teas.csv, language: Klingon}", '"Klingon" is no language'),
    (WINE, "  currency: EUR", "options.currency: is of products that the embedded shop serves, and these"),
    (WINE, "task: listing", "task: listing needs products that the embedded shop serves"),
    (WINE, "  pairing: whole-list\ntask: listing\nfactors: {order: listed}", "has no column list, with the"),
    (SHOP, "options: {pairing: whole-list, set_size: 4}", "options.set_size: the set is the whole list"),
    (SHOP, "options: {catalogue: none.csv}", "options.catalogue: none.csv: no such file in "),
    (WINE, "  max_price_gap: 0", "that close; raise max_price_gap or max_rating_gap"),
    (WINE, "  pairing: matched-ratings\n  max_price_gap: 0", "that close; raise max_price_gap"),
    (WINE, "  pairing: matched-ratings\n  set_size: 4", "options: no 4 products of a c"),
    (WINE, "  set_size: 5", "options: no 5 products of a category have a price, a rating and a title"),
    (HOTELS, "mode: book\ndesign: {conjoint: {}}", 'mode: unknown value "book"; '),
    (HOTELS, "design: {}", "design: no designs; give one of"),
    (HOTELS, "design: {conjoint: {repeats: 3}}", "design.conjoint.repeats: unknown key; "),
    (HOTELS, "design: {conjoint: {pool: hotel}}", 'conjoint.pool: unknown pool "hotel"; did you mean "'),
    (HOTELS, "design: {conjoint: {pool: no-such.csv}}", "conjoint.pool: no-such.csv: no such file in "),
    (HOTELS, "design: {conjoint: {blocks: []}}", "design.conjoint.blocks: missing; say which sets"),
    (HOTELS, "design: {conjoint: {blocks: [{set_size: 9, sets: 1}]}}", "blocks[0].set_size: must be"),
    (HOTELS, "design: {conjoint: {blocks: [{set_size: 2, sets: 99_999}]}}", "sets: 180 hotels make only 161"),
    (HOTELS, f"design: {{conjoint: {{blocks: [{PAIRS}, {PAIRS}]}}}}", "2 stands twice"),
    (DESKS, f"design: {{conjoint: {{pool: wide.csv, blocks: [{PAIRS}]}}}}", "blocks: wide.csv holds ready"),
    (BIASES, f"design: {{conjoint: {{blocks: [{PAIRS}]}}}}", "cards: biases has no cards with alternatives"),
    (BIASES, "design: {battery: {biases: [framin]}}", 'biases[0]: biases has no bias "framin"; did'),
    (BIASES, "design: {battery: {valid: 300, attempts: 200}}", "attempts: 200 attempts cannot give 300"),
    (BIASES, "design: {battery: {}}\ntemperature: 1", "temperature: a battery has a list of its own; remove"),
    (WTP, "design: {factorial: {products: wpt}}", 'products: unknown products "wpt"; did you mean "'),
    (WTP, "design: {factorial: {conditions: [low, low]}}", "factorial.conditions: low stands twice; remove"),
    (HOTELS, "design: {factorial: {}}", 'cards: hotels has no card "wtp-control"; it has: hotel-choice'),
    (SCORE, "targets: [ten, 20%]", '"ten" holds no numbers; write one'),
    (SCORE, "targets: [10%, 10 percent]", "a number stands in two targets; write each once"),
    (SCORE, "targets: {from: 5, to: 5}", "5 to 5 is no range"),
    (SCORE, "targets: {format: x}", '"x" has no place for the number'),
    (SCORE, "stimuli: anchorin", 'stimuli: unknown stimuli "anchorin"; did you mean "anchoring"?'),
    (SCORE, "stimuli: none.yaml", "no such file"),
    (SCORE, "stimuli: many.yaml", "attribution: many: exact needs 2^13 prompts"),
    (SCORE, "permutations: 1", "permutations: must be greater than or equal to 2"),
    (SCORE, "goal: buy", "goal: unknown key"),
]  # fmt: skip

DESK = """\
interventions:
  - id: desk
    kind: card
    card:
      fields: {Desk: "${name}", Color: "${color}", Price: "$${price:,}"}
      question: Which one?
      answer: {kind: letter}
      example: {alternatives: [{name: One, color: red, price: 10}, {name: Two, color: blue, price: 20}]}
"""
MANY = [f"f{number}" for number in range(12)]
FILES = {
    "cards.yaml": DESK,
    "wide.csv": f"""\
task,repeat,{','.join(f"option_{n}_{name}" for n in (1, 2, 3) for name in ("id", "name", "color", "price"))}
first,0,a,Ash Desk,red,199.50,b,Beech Desk,blue,1200,,,,
first,1,a,Ash Desk,red,180,b,Beech Desk,blue,1100,,,,
second,0,a,Ash Desk,red,150,b,Beech Desk,blue,900,c,Cedar Desk,green,700
""",
    "long.csv": """\
task,repeat,id,name,color,price
first,0,a,Ash Desk,red,199.50
first,0,b,Beech Desk,blue,1200
first,1,a,Ash Desk,red,180
first,1,b,Beech Desk,blue,1100
second,0,a,Ash Desk,red,150
second,0,b,Beech Desk,blue,900
second,0,c,Cedar Desk,green,700
""",
    "profiles.csv": """\
id,name,stars,neighborhood,chain,amenities,low,high,rooms,score,reviews,cancellation,breakfast
a,Inn A,2,Harlem,,Free WiFi,60,90,Twin Room | Queen Room,7.1,500,1,0
b,Inn B,3,Harlem,Hyatt,Free WiFi,100,100,King Room,8.0,1000,,
c,Inn C,4,Tribeca,Hilton,Free WiFi; Spa,200,400,King Room,9.9,2000,0.5,0.5
""",
    "products.csv": "key,title,description,price,low,high\nlamp,Desk Lamp,A lamp.,25,5,80\n",
    "products.yaml": "products: [{key: lamp, title: Lamp, description: Red., price: 25, low: 5, high: 80}]\n",
    "wine.csv": """\
key,category,name,price,rating,has_options
ash,Wine,Ash Red,10,80,false
elm,Wine,Elm Red,11,80,false
fir,Wine,Fir Red,12,80,true
oak,Wine,Oak Red,13,80,false
yew,Wine,Yew Red,14,81,false
""",
    "teas.csv": """\
name,price,rating,reviews,category,picture
Ruby,4.10,80%,12,Tea,
Jade,4.50,80%,13,Tea,
""",
    "sets.csv": "set,option\n1,oak\n1,elm\n",
    "phrases.yaml": "patterns: {odd: [lot N]}\n",
    "stimuli.yaml": """\
template: "{story}: {anchor}. {question}"
stimuli:
  lift: {story: The lift stopped at floor, question: How tall is the tower?, anchor: {low: 2.5, high: 40}}
  bare: {question: How tall?, anchor: {low: 1, high: 2}}
""",
    "many.yaml": f"""\
template: "{"".join(f"{{{name}}}" for name in [*MANY, "anchor"])}"
stimuli:
  many: {{{", ".join(f"{name}: x" for name in MANY)}, anchor: {{low: 1, high: 2}}}}
""",
}  # fmt: skip
"""Files without a mistake, by name."""
NAMED_IN = {
    "wide.csv": f"{DESKS}design: {{conjoint: {{pool: wide.csv}}}}",
    "long.csv": f"{DESKS}design: {{conjoint: {{pool: long.csv}}}}",
    "profiles.csv": f"{HOTELS}design: {{conjoint: {{pool: profiles.csv, blocks: [{PAIRS}]}}}}",
    "products.csv": f"{WTP}design: {{factorial: {{products: products.csv}}}}",
    "products.yaml": f"{WTP}design: {{factorial: {{products: products.yaml}}}}",
    "wine.csv": f"{SHOP}options: {{catalogue: wine.csv}}",
    "teas.csv": f"{SHOP}options: {{catalogue: teas.csv}}",
    "sets.csv": f"{SHOP}options: {{catalogue: wine.csv, file: sets.csv}}",
    "phrases.yaml": f"{SHOP}options: {{catalogue: wine.csv, titles: {{patterns: phrases.yaml}}}}",
    "stimuli.yaml": f"{SCORE}stimuli: stimuli.yaml",
}
"""The experiments that name them."""
PAIR = "category," + ",".join(
    f"product{number}_{name}" for number in (1, 2) for name in ("url", "name", "price", "rating")
)
SOLD = "linden-fold-2-ply-paper-towels-16-double-rolls"  # in the embedded shop

IN_FILES = [
    ("wide.csv", "1200", "much", '2: option_2_price: expected a number, found "much"; mend the'),
    ("wide.csv", "Cedar Desk", "", "4: option_3_name: the cell is empty or missing; fill it in"),
    ("wide.csv", "blue,900", ",900", "4: option_2_color: the card shows it, but the cell is empty"),
    ("wide.csv", "b,Beech Desk,blue,1200", ",,,", "2: task: task first has 1 options; give"),
    ("wide.csv", "b,Beech Desk,blue,1200", "a,Beech Desk,blue,1200", "2: id: task first shows"),
    ("wide.csv", "first,1", "first,0", "3: repeat: task first stands twice with repeat 0; num"),
    ("wide.csv", "first,1", "first,one", '3: repeat: expected a whole number, found "one"; m'),
    ("wide.csv", ",,,,\nfirst", "\nfirst", "2: fewer cells than the header has columns; me"),
    ("wide.csv", "", "", " the table has no rows"),
    ("wide.csv", "", "task,id,name\n", " the table has no rows"),
    ("wide.csv", "", "task,id,name\nx,\udcff,y\n", " the text is not UTF-8"),
    ("wide.csv", "", 'task,id,name\n"x,y\n', "2: not CSV"),
    ("wide.csv", "", 'a,b\n"x\ny",1\n"x\ny"\n', "4: fewer cells"),
    ("wide.csv", "", 'a,b\n"x\ny",1\n"x\ny",1,2\n', "4: more cells"),
    ("wide.csv", "", 'a,b\n"x\ny",1\n"x\ny,1\n2,3\n', "4: not CSV"),
    ("wide.csv", "", "a;b\n1,5;2\n", "1: the columns are separated by semicolons; separate them by commas"),
    ("long.csv", "first,1,a", "second,1,a", "4: task: task second has 1 options"),
    ("long.csv", "second,0,c", "first,0,c", "8: task: the rows of task first do not follow each"),
    ("long.csv", "task,", "set,", "1: neither profiles (id, name, low, high, rooms"),
    ("long.csv", "199.50", "0", "2: price: must be greater than 0"),
    ("profiles.csv", "60,90", "90,60", "2: high: is below low, 90; swap the two"),
    ("profiles.csv", ",2,Harlem", ",two,Harlem", "2: stars: expected a whole number, fo"),
    ("profiles.csv", "b,Inn B", "a,Inn B", "3: id: the id a is taken; give each"),
    ("profiles.csv", "Twin Room | Queen Room", "Twin Room |", "2: rooms: "),
    ("products.csv", "5,80", "80,5", "2: high: is below low, 80; swap the two"),
    ("products.csv", ",25,", ",,", "2: price: missing, and the embedded shop has no"),
    ("products.csv", ",25,", ",dear,", '2: price: expected a number, found "dear"; mend'),
    ("products.csv", "lamp,", f"{SOLD},", "2: title: the embedded shop's page says it; remove"),
    ("products.yaml", "high: 80", "high: 2", "1:75: products[0].high: is below low, 5"),
    ("products.yaml", "title: Lamp, ", "", "1:12: products[0].title: missing, and the"),
    ("products.yaml", "", "products: []", "1:1: products: the list is empty; write at least one item"),
    ("wine.csv", "price,", "cost,", '1: no column "price"; it has: category, cost, has_options'),
    ("wine.csv", "name,", "nam,", '1: no column "name"; did you mean "nam"?'),
    ("teas.csv", "price,", "cost,", '1: no column "price"; did you mean'),
    ("teas.csv", "4.10", "cheap", '2: price: "cheap" is no price; write one above 0'),
    ("teas.csv", "4.10", "-4.10", '2: price: "-4.10" is no price'),
    ("teas.csv", "4.10", "4.10-5", '2: price: "4.10-5" is no price'),
    ("teas.csv", "4.10", "4.105", '2: price: "4.105" is 4105 or a thousandth of it; write it with two'),
    ("teas.csv", "4.10", "4.10 €", '2: price: "€" is not the currency USD; name it under'),
    ("teas.csv", "4.10", "", "2: price: the cell is empty; fill it in"),
    ("teas.csv", "80%", "good", '2: rating: "good" is no rating; write one such as 4.5 / 5'),
    ("teas.csv", "80%", "180%", "2: rating: 180 is not above 0 and up to 100; mend it"),
    ("teas.csv", ",12,", ",many,", '2: reviews: "many" is no number; write one such as 120'),
    ("teas.csv", ",12,", ",1.5,", '2: reviews: "1.5" is no number; write one such as 120'),
    ("teas.csv", ",12,", ",-3,", '2: reviews: "-3" is no number; write one such as 120'),
    ("teas.csv", ",picture", ",Price", '1: "price" and "Price" are one column; keep one of'),
    ("teas.csv", ",picture", ",keyy", '1: column "keyy" may say where a shop\'s pages are; write key'),
    ("teas.csv", "picture\nRuby,4.10,80%,12,Tea,", "rating_scale\nRuby,4.10,6,12,Tea,7",
     "2: rating_scale: 7 is not 5, 10"),
    ("teas.csv", "Jade", "Ja\0de", "3: name: a letter is 0 (NUL); remove it"),
    ("teas.csv", "Jade", "Ruby", "3: name: the name is in line 2 too; make the two differ"),
    ("teas.csv", "Jade", "", "3: name: the cell is empty; fill it in"),
    ("teas.csv", "12,Tea,", "12," + "c" * 501 + ",", "2: category: the category is longer than 500 letters"),
    ("teas.csv", "12,Tea,", "12,Tea,ruby.png", "2: picture: ruby.png: no such file beside the table"),
    ("teas.csv", "12,Tea,", "12,Tea,../teas.csv", "2: picture: ../teas.csv is not in the folder"),
    ("teas.csv", "12,Tea,", "12,Tea,/etc/hostname", "2: picture: /etc/hostname is not in the folder"),
    ("teas.csv", "12,Tea,", "12,Tea,teas.csv", "2: picture: teas.csv is no picture that pages"),
    ("wine.csv", "Elm Red,", "", "3: fewer cells than the header has columns; mend the line"),
    ("sets.csv", "", "a,b\n1,2\n", "1: neither the columns set and option nor product1_url"),
    ("sets.csv", "elm", "", "3: option: the cell is empty; fill it in"),
    ("sets.csv", "elm", "elmm", '3: option: no product "elmm" can be chosen; did you mean "elm"'),
    ("sets.csv", "elm", "fir", "3: option: fir is a product with options; name another"),
    ("sets.csv", "", "set,option,position\n1,oak,first\n", "2: position: not a whole number from 0"),
    ("sets.csv", "1,elm\n", "", "2: set 1: 1 options; give the set 2 to 8"),
    ("sets.csv", "elm", "OAK", "2: set 1: one option stands twice in the set; name another"),
    ("sets.csv", "1,elm\n", "1,elm\n2,elm\n2,oak\n", "4: set 2: another set has the same options; remove"),
    ("sets.csv", "1,elm\n", "1,elm\n2,elm\n2,oak\n2,ash\n", "4: set 2: 3 options, but 2 in the first set"),
    ("sets.csv", "", f"{PAIR}\nWine,a,A,5,80,b,B,,80\n", "2: product2_url: a product without a price; mend"),
    ("sets.csv", "", f"{PAIR}\nWine,a,A,5,x,b,B,5,80\n", "2: product1_url: a product with an unreadable"),
    ("phrases.yaml", "patterns", "phrases", "1:1: patterns: missing; add this key"),
    ("phrases.yaml", "lot N", "", "1:12: patterns.odd: the list is empty"),
    ("phrases.yaml", "lot N", "'--'", "1:18: patterns.odd[0]: "),
    ("stimuli.yaml", "{anchor}.", "7.", "1:1: template: it has no place for the number; add {anchor}"),
    ("stimuli.yaml", "{story}", "{Story}", '1:1: template: "{Story}" is no place for a field; write'),
    ("stimuli.yaml", "{story}:", "{story}}:", "1:1: template: a brace stands alone; write places as {field}"),
    ("stimuli.yaml", "{question: How", "{questoin: How", "4:10: stimuli.bare.questoin: the template has no"),
    ("stimuli.yaml", "{low: 1, high: 2}", "{low: 2, high: 1}", "4:48: stimuli.bare.anchor.high: 1 is not"),
    ("stimuli.yaml", "{low: 1, high: 2}", "5", "4:31: stimuli.bare.anchor:"),
    ("stimuli.yaml", ", anchor: {low: 1, high: 2}", "", "4:3: stimuli.bare: the anchor is missing; add"),
    ("stimuli.yaml", "template:", "templat:", "1:1: templat: unknown key"),
]  # fmt: skip
"""File, what stands there (empty: all of it), what stands there instead, and what is said."""


def mistake(folder: Path, experiment: str) -> str:
    (folder / "e.yaml").write_text(experiment)
    with pytest.raises(UserError) as caught:
        load_design(str(folder / "e.yaml"))
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(("head", "lines", "said"), KEYS)
def test_in_an_experiment_file(head: str, lines: str, said: str, folder: Path) -> None:
    found = mistake(folder, f"{head}{lines}\n")
    assert re.match(r"e\.yaml:\d+:\d+: ", found) and said in found


@pytest.mark.parametrize(("name", "old", "new", "said"), IN_FILES)
def test_in_a_file_that_an_experiment_names(name: str, old: str, new: str, said: str, folder: Path) -> None:
    assert old in FILES[name]
    text = FILES[name].replace(old, new, 1) if old else new
    (folder / name).write_bytes(text.encode(errors="surrogateescape"))
    assert f"{name}:{said}" in mistake(folder, f"{NAMED_IN[name]}\n")


def test_the_files_themselves_are_right(folder: Path) -> None:
    for name, experiment in NAMED_IN.items():
        (folder / "e.yaml").write_text(f"{experiment}\n")
        assert load_design(str(folder / "e.yaml")).size > 0, name
