"""Generated attacks on every kind of edit, in a shop of its own markup: the oracle is what the screen shows.

A script of the shop undoes, hides, covers, doubles or moves an edit, at once or when something happens. The
oracle knows neither the engine nor its marks (`screen`); of a trial without pictures it is what the observation says.
Some edits have two attacks each; with `make thorough` all of them have twenty-five.
"""

# ruff: noqa: E501 - scripts and markup stand as they run

import random
from collections.abc import Mapping
from html import escape
from typing import NamedTuple

import pytest
from playwright.async_api import Page

from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import View
from experiments.treatment.card_check import card_spots
from experiments.treatment.sights import ProductObservation
from experiments.treatment.treatment_check import shows_on_own_page, untreated
from interventions.edits.base import Edit
from interventions.edits.registry import EDITS, edit_from_dict
from interventions.yaml.sitemap import SiteMap
from tests.journeys.screen import is_on_screen, is_read
from tests.journeys.treated import KEY, treated
from tests.support import size, usual

pytestmark = pytest.mark.browser

CASES = size(2, 25)
PICTURE = View(screenshot=True)
VIEWS = (PICTURE, PICTURE, View(), View(page="whole"))
SITE = SiteMap.model_validate(
    {
        "name": "boutique",
        "query": "id",
        "pages": {"product": {"css": "#fiche"}},
        "roles": {
            "product.title": [{"css": "#fiche > h2"}],
            "product.name": [{"css": "#fiche > h2"}],
            "product.price": [{"css": "p.prix > b"}],
            "product.rating": [{"css": "p.notes > i", "scale": 5}],
            "product.reviews": [{"css": "p.notes > u"}],
            "product.stars": [{"css": "p.notes > i"}],
            "product.reviews_summary": [{"css": "p.notes"}],
            "product.stock": [{"css": "p.stock"}],
            "product.option": [{"css": "ul.choix > li"}],
            "product.description": [{"css": "div.texte"}],
            "page.body": [{"css": "body"}],
            "item": [{"css": "li.carte"}],
            "item.link": [{"css": "a", "attribute": "href"}],
        },
    }
)
PAGE = """<!doctype html><html lang=en><head><title>Boutique</title><style>
body {{ margin: 8px; background: white; font: 16px sans-serif; height: 2600px }} p, h2 {{ margin: 4px 0 }}
</style></head><body><div id=haut>A shop of its own</div><section id=fiche><h2>Harbour Desk Lamp</h2>
<p class=prix><b>$19.99</b></p><p class=notes><i>4.4 out of 5</i> <u>12 Reviews</u></p><p class=stock>In stock</p>
<ul class=choix><li>Red</li><li>Blue</li></ul><div class=texte>A warm light for long evenings.</div>
<button type=button id=rien>More</button></section><aside id=bas></aside><script>{script}</script></body></html>"""


class Kind(NamedTuple):
    """An edit, the text that it shows, and the text that it has replaced; empty: there is none."""

    edit: dict[str, object]
    new: str
    old: str = ""
    attacks: tuple[str, ...] = ()
    """The attacks on it; empty: all."""
    views: tuple[View, ...] = VIEWS


NUDGE = "This product is a best seller!"
KINDS = {
    "insert_text after": Kind({"insert_text": {"after": "product.title", "text": NUDGE}}, NUDGE),
    "insert_text before": Kind({"insert_text": {"before": "product.stock", "text": NUDGE}}, NUDGE),
    "insert_text append": Kind({"insert_text": {"append": "product.description", "text": NUDGE}}, NUDGE),
    "badge": Kind({"badge": {"text": NUDGE}}, NUDGE),
    "banner": Kind({"banner": {"text": NUDGE}}, NUDGE),
    "countdown": Kind({"countdown": {"text": "Only now {time}"}}, "Only now"),
    "strike_price": Kind({"strike_price": {"was": 29.99}}, "$29.99"),
    "unit_price": Kind({"unit_price": {"content": 500, "unit": "g"}}, "$4.00 per 100 g"),
    "show_rating_text": Kind({"show_rating_text": {}}, "Rating"),
    "set_price": Kind({"set_price": 9.99}, "$9.99", "$19.99"),
    "set_rating": Kind({"set_rating": 60}, "3.0 out of 5", "4.4 out of 5"),
    "set_reviews": Kind({"set_reviews": 43}, "43 Reviews", "12 Reviews"),
    "set_stock": Kind({"set_stock": "Only two left"}, "Only two left", "In stock"),
    "set_title": Kind({"set_title": "Golden Lamp"}, "Golden Lamp", "Harbour Desk Lamp"),
    "replace_text": Kind(
        {"replace_text": {"in": "product.description", "from": "warm", "to": "cold"}},
        "A cold light",
        "A warm light for long evenings.",
    ),
    "rewrite_text": Kind(
        {"rewrite_text": {"in": "product.description", "text": "Cold rays for the whole house."}},
        "Cold rays for the whole house.",
        "A warm light for long evenings.",
    ),
    "collapse": Kind({"collapse": {"role": "product.description", "label": NUDGE}}, NUDGE),
    "set_attribute": Kind(
        {"set_attribute": {"role": "product.title", "name": "title", "value": NUDGE}},
        NUDGE,
        attacks=("undo the attribute", "remove", "nothing", "harmless"),
        views=(View(), View(page="whole")),  # on the screen only under a pointer
    ),
    "remove": Kind({"remove": "product.stock"}, "", "In stock"),
    # Elsewhere the word may stand for anything.
    "hide_option": Kind({"hide_option": "Red"}, "", "Red", ("double in the list", "nothing", "harmless")),
}
ELSEWHERE = {
    "set_image": "test_hostile_pictures.py",
    "hidden_text": "test_hidden_texts.py: no attack on what nobody sees, but one on each channel",
    "set_default": "test_defaults.py: these options are no fields",
    "style": "test_looks.py: its words are the page's own",
    "reorder": "test_hostile_lists.py",
    "swap": "test_hostile_lists.py",
    "results": "test_hostile_lists.py",
    "insert_item": "test_listings.py",
    "link_to": "test_listings.py",
    "sort_default": "test_hostile_lists.py",
    "review": "test_reviews.py: in a part of the page that is fetched",
    **dict.fromkeys(
        ("fee", "order_total", "add_line", "checkout_option", "dialog", "require_step"),
        "test_orders.py: on no product's page",
    ),
    "ask": "nobody answers a question that is not there, and without an answer there is no trial",
}

HIDING = (
    "opacity: 0", "visibility: hidden", "display: none", "color: transparent", "color: white", "font-size: 0",
    "position: absolute; left: -9999px", "clip-path: inset(50%)", "transform: scale(0)", "filter: blur(40px)",
    "height: 0; overflow: hidden", "content-visibility: hidden", "position: relative; top: 2000px",
    "text-indent: -9999px; overflow: hidden", "mask-image: linear-gradient(transparent, transparent)",
    "position: absolute; clip: rect(1px, 1px, 1px, 1px)", "contain: strict; height: 0", "filter: invert(1)",
    "mix-blend-mode: screen; background: none; color: black", "zoom: 0.02", "translate: -9999px",
    "background: linear-gradient(#fff, #fffffe); color: white", "rotate: x 90deg", "filter: brightness(0) invert(1)",
    "-webkit-text-stroke: 0; -webkit-text-fill-color: white", "font: 0/0 serif", "overflow: clip; max-height: 0",
)  # fmt: skip
HARMLESS = ("color: navy", "padding: 3px", "border: 1px solid", "position: relative", "font-weight: bold")
# `t` is the element with the text of the edit, or the place where the old one stood.
ATTACKS = {
    "undo the attribute": "for (const each of document.querySelectorAll('#fiche > h2')) each.removeAttribute('title')",
    "double in the list": "document.querySelector('ul.choix').insertAdjacentHTML('beforeend', `<b>${OLD}</b>`)",
    "undo": "t.textContent = OLD",
    "remove": "t.remove()",
    "hide": "t.style.cssText += ';HIDING'",
    "hide around": "t.parentElement.style.cssText += ';HIDING'",
    "cover": """const b = t.getBoundingClientRect(); document.body.insertAdjacentHTML('beforeend',
        `<div style="position:fixed;background:white;left:${b.left - 4}px;top:${b.top - 4}px;` +
        `width:${b.width + 8}px;height:${b.height + 8}px"></div>`)""",
    "double beside": "t.insertAdjacentHTML('afterend', `<span>${OLD}</span>`)",
    "cover through": """const b = t.getBoundingClientRect(); document.body.insertAdjacentHTML('beforeend',
        `<div STATE style="position:fixed;background:white;left:${b.left - 4}px;top:${b.top - 4}px;` +
        `width:${b.width + 8}px;height:${b.height + 8}px;pointer-events:none"></div>`)""",
    "cover by style": """t.classList.add('over'); document.head.insertAdjacentHTML('beforeend', `<style>.over {
        position: relative } .over::after { content: ""; position: absolute; inset: 0; background: white }</style>`)""",
    "cover from within": """t.style.position = 'relative';
        t.insertAdjacentHTML('beforeend', '<i style="position:absolute;inset:0;background:white"></i>')""",
    "double in pieces": """const half = Math.ceil(OLD.length / 2);
        t.insertAdjacentHTML('afterend', `<div><b>${OLD.slice(0, half)}</b><i>${OLD.slice(half)}</i></div>`)""",
    "double in capitals": "document.querySelector('#haut').append(' ', document.createElement('br'), OLD.toUpperCase())",
    "double in a drawing": """t.insertAdjacentHTML('afterend',
        `<svg width=300 height=30><text x=0 y=20>${OLD}</text></svg>`)""",
    "double in a field": "t.insertAdjacentHTML('afterend', `<input size=40 FIELD='${OLD}'>`)",
    "double by a style's attribute": """t.dataset.old = OLD; document.head.insertAdjacentHTML('beforeend',
        '<style>[data-old]::after { content: " " attr(data-old) }</style>')""",
    "double by a list's mark": """t.insertAdjacentHTML('afterend',
        `<ul><li style="margin-left: 200px; list-style-type: '${OLD}'">x</li></ul>`)""",
    "double in a sandbox": """const f = document.createElement('iframe'); f.sandbox = ''; f.srcdoc = `<b>${OLD}</b>`;
        t.after(f); await new Promise((done) => { f.onload = done; })""",
    "double in a declared closed shadow": """const h = document.createElement('div'); t.after(h);
        h.setHTMLUnsafe(`<p><template shadowrootmode=closed><b>${OLD}</b></template></p>`)""",
    "double elsewhere": "document.querySelector('#haut').append(' ', OLD)",
    "double in a sentence": "document.querySelector('#haut').textContent = `Once: ${OLD}, as ever`",
    "double by style": """document.head.insertAdjacentHTML('beforeend',
        `<style>#fiche > h2::after { content: " ${OLD}" }</style>`)""",
    "old by style": """t.style.fontSize = 0; t.classList.add('zero'); document.head.insertAdjacentHTML('beforeend',
        `<style>.zero::after { content: "${OLD}"; font-size: 16px }</style>`)""",
    "double in a shadow": """const h = document.createElement('div'); t.after(h);
        h.attachShadow({mode: 'open'}).innerHTML = `<b>${OLD}</b>`""",
    "double in a closed shadow": """const h = document.createElement('div'); t.after(h);
        h.attachShadow({mode: 'closed'}).innerHTML = `<b>${OLD}</b>`""",
    "a tree over it": """t.closest('h2, p, div, section').attachShadow({mode: 'MODE'}).innerHTML = `<b>${OLD}</b>`""",
    "double in a frame": """const f = document.createElement('iframe'); f.srcdoc = `<b>${OLD}</b>`; t.after(f);
        await new Promise((done) => { f.onload = done; })""",
    "move below": "document.querySelector('#bas').style.marginTop = '1500px'; document.querySelector('#bas').append(t)",
    "move elsewhere": "document.querySelector('#haut').append(t)",
    "move into details": """const d = document.createElement('details'); d.innerHTML = '<summary>x</summary>';
        t.replaceWith(d); d.append(t)""",
    "move into a closed shadow": """const h = document.createElement('div'); t.replaceWith(h);
        h.attachShadow({mode: 'closed'}).append(t)""",
    "replace by a copy": "const c = t.cloneNode(true); t.replaceWith(c)",
    "harmless": "t.style.cssText += ';HARMLESS'",
    "nothing": "",
}
CHOICES = {
    "HIDING": HIDING,
    "HARMLESS": HARMLESS,
    "STATE": ("", "inert"),
    "FIELD": ("value", "placeholder"),
    "MODE": ("open", "closed"),
}
WHEN = {
    "load": "strike()",
    "delay": "addEventListener('later', () => setTimeout(strike, 15))",
    "scroll": "addEventListener('scroll', strike, {once: true})",
    "click": "addEventListener('pointerdown', strike, {once: true})",
    "mutation": "new MutationObserver(strike).observe(document.body, {attributes: true})",
}
SCRIPT = """
const NEW = %s, OLD = %s;
window.struck = 0;
async function strike() {
  if (window.struck) return;
  window.struck = 1;
  const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.includes(NEW));
  const t = (NEW && [...document.body.querySelectorAll(':not(script)')].find(own)) ||
    document.querySelector('ul.choix') || document.querySelector('#fiche');
  try { %s } catch (error) { window.failed = String(error); }
  window.struck = 2;
}
%s;
"""


def attack(
    kind: Kind,
    rng: random.Random,
    name: str = "",
    attacks: Mapping[str, str] = ATTACKS,
    moments: Mapping[str, str] = WHEN,
) -> tuple[str, str, str]:
    """A name, a script, and when it strikes: at the first of the moments more often than at others."""
    # In a sentence only a price is known again; a word such as "Red" may stand there for anything.
    possible = kind.attacks or [name for name in attacks if name != "double in a sentence" or "$" in kind.old]
    name, when = name or rng.choice(possible), rng.choice([next(iter(moments))] * 3 + list(moments))
    code = attacks[name]
    for word, choices in CHOICES.items():
        code = code.replace(word, rng.choice(choices))
    old = kind.old or "Something else"
    return f"{name} on {when}: {code}", SCRIPT % (f"`{kind.new}`", f"`{old}`", code, moments[when]), when


def test_every_kind_of_edit_is_attacked() -> None:
    attacked = {next(iter(kind.edit)) for kind in KINDS.values()} | set(ELSEWHERE)
    shipped = {name for name, edit in EDITS.items() if edit.__module__.startswith("interventions.")}
    assert attacked == shipped


async def happen(page: Page, when: str) -> None:
    """What the script waits for."""
    if when == "scroll":
        await page.evaluate("scrollTo(0, 2)")
    elif when == "click":
        await page.dispatch_event("#rien", "pointerdown")
    elif when == "delay":
        await page.evaluate("dispatchEvent(new Event('later'))")
    elif when == "mutation":
        await page.evaluate("document.body.dataset.now = 1")
    await page.wait_for_function("window.struck === 2")
    assert await page.evaluate("window.failed") is None


class Outcome(NamedTuple):
    """Why a trial does not count; at which looks its reader was shown the edit, and the old text."""

    reason: str
    new: list[bool]
    old: list[bool]


async def looks(
    page: Page, edit: Edit, kind: Kind, script: str, when: str, view: View = PICTURE, markup: str = PAGE
) -> Outcome:
    """Look at the page before and after something happens, as an agent with this view does."""
    body, session = treated(markup.format(script=script), SITE, edit)
    wanted = ObservationQuery(
        tuple(edit.spots(SITE)) if shows_on_own_page(edit, SITE) else (),
        edit.leftover != "",
        card_spots((edit,), SITE, all_kinds=True),
    )
    await page.goto("about:blank")  # nothing is left of the scripts of the page before
    await page.set_content(body)
    seen, new, old = [], [], []
    for last in (False, True):
        if last:
            await happen(page, when)
        shown = await observe(page, view, (), wanted)
        if not view.screenshot:  # the agent is given the same, whatever is read besides
            assert (await observe(page, view, ())).html == shown.html
        seen.append(ProductObservation(KEY, shown.html, shown.standing))
        for text, found in ((kind.new, new), (kind.old, old)):
            found.append(await is_on_screen(page, text) if view.screenshot else is_read(shown.html, text))
    return Outcome(untreated(seen, session, [KEY]), new if kind.new else [True] * 2, old)


@pytest.mark.parametrize("kind", usual(KINDS, 6))
async def test_a_trial_does_not_count_where_its_reader_was_not_shown_the_edit(page: Page, kind: str) -> None:
    made, rng = KINDS[kind], random.Random(kind)
    edit = edit_from_dict(made.edit)
    for view in dict.fromkeys(made.views):
        reason, new, old = await looks(page, edit, made, "window.struck = 2", "load", view)
        assert (reason, new, any(old)) == ("", [True, True], False), "without an attack the trial counts"
    wrong = []
    for _ in range(CASES):
        name, script, when = attack(made, rng)
        view = rng.choice(made.views)
        reason, new, old = await looks(page, edit, made, script, when, view)
        if not reason and (not any(new) or any(old)):
            wrong.append((escape(name, quote=False), view, new, old))
        if reason and name.startswith(("harmless", "nothing")):
            wrong.append((escape(name, quote=False), view, reason))
    assert not wrong


# What honest shops have: parts of a page, by where they stand.
HONEST = {
    "a sticky header": {
        "above": "<div style='position:sticky;top:0;z-index:9;background:white'>Boutique, 12 lamps</div>"
    },
    "a carousel": {
        "below": "<div style='overflow:hidden;width:99px'><p style='width:400px'>New lamps</p></div>"
    },
    "lazy pictures": {"below": "<img loading=lazy src=/a.png width=50 height=50 alt='A lamp'>"},
    "a copy for phones": {
        "above": "<div class=phone><b>$19.99</b> <i>4.4 out of 5</i> Harbour Desk Lamp</div>",
        "style": ".phone { display: none } @media (max-width: 500px) { .phone { display: block } }",
    },
    "viewed before": {
        "below": "<ul><li class=carte><a href='/lampe?id=8'>Harbour Desk Lamp, small</a> <b>$19.99</b> 4.4 out of 5</li></ul>"
    },
    "colours of today": {"style": "body { color: oklch(0.37 0 0); background: oklch(1 0 0) }"},
    "letters with a gradient": {
        "style": "h2, b { background: linear-gradient(red, blue); background-clip: text; color: transparent }"
    },
    "links over all": {
        "style": "#fiche { position: relative } #fiche .all { position: absolute; inset: 0 }",
        "inside": "<a class=all href=#></a>",
    },
    "grain over all": {
        "below": "<div style='position:fixed;inset:0;pointer-events:none;background:linear-gradient(rgba(0,0,0,.04),rgba(0,0,0,.02))'></div>"
    },
    "a shape behind": {
        "style": "#fiche { position: relative; z-index: 1 }",
        "above": "<div style='position:absolute;inset:120px 0 0;pointer-events:none;background:#eef'></div>",
    },
    "a dark theme": {"style": "body { background: #111 !important; color: #ddd }"},
    "words that were there": {
        "below": "<p>Red lamps stay warm. Titles such as Harbour Desk Lamp 2 are in stock.</p>"
    },
    "a quantity before": {"inside": "<span>1</span><span>9.99</span>"},
    "a bar under the title": {
        "style": "h2 { position: relative } h2::after { content: ''; position: absolute; left: 0; bottom: 0; width: 60px; height: 2px; background: red }"
    },
    "a blended logo": {"above": "<i style='mix-blend-mode: difference; color: white'>B</i>"},
}


def honest(parts: dict[str, str]) -> str:
    """The page with parts more."""
    at = {"style": "</style>", "above": "<div id=haut>", "inside": "<button", "below": "<aside"}
    markup = PAGE
    for name, text in parts.items():
        escaped = text.replace("{", "{{").replace("}", "}}")
        markup = markup.replace(at[name], escaped + at[name], 1)
    return markup


@pytest.mark.thorough
@pytest.mark.parametrize("shop", usual(HONEST, 4))
async def test_honest_pages_count(page: Page, shop: str) -> None:
    failed, number = [], list(HONEST).index(shop)
    for kind, made in list(KINDS.items())[number % size(5, 1) :: size(5, 1)]:
        view = made.views[0]
        edit = edit_from_dict(made.edit)
        reason, *_ = await looks(page, edit, made, "window.struck = 2", "load", view, honest(HONEST[shop]))
        if reason:
            failed.append((kind, reason))
    assert not failed
