"""Generated ways of a page that moves, takes away or doubles an edit, with what its reader does meanwhile."""

import random
from dataclasses import dataclass
from typing import Any

from tests.experiments.foreign_shop import NUDGE

NUDGED = ".product-title-details"
PRICE = "span.price"


def every(css: str, code: str) -> str:
    return f"document.querySelectorAll('{css}').forEach((t) => {{ {code} }});"


def beside(html: str) -> str:
    return f"document.querySelector('#more').innerHTML = '{html}';"


COVER = (
    "document.body.insertAdjacentHTML('beforeend', "
    "'<div style=\"position:fixed;inset:0;background:white;pointer-events:none\"></div>');"
)
MOVE = "document.querySelector('#more').append(t)"
HONEST = {"nothing": "", "harmless": every(f"{NUDGED}, {PRICE}", "t.style.color = 'navy'")}
DEEDS: dict[str, dict[str, str]] = {
    "nudge": {
        "remove": every(NUDGED, "t.remove()"),
        "hide": every(NUDGED, "t.style.visibility = 'hidden'"),
        "clear": every(NUDGED, "t.style.opacity = 0"),
        "reword": every(NUDGED, "t.textContent = 'As good as any'"),
        "cover": COVER,
        "move": every(NUDGED, MOVE),
    },
    "price": {
        "undo": every(PRICE, "t.textContent = '$19.99'"),
        "beside": beside("<p>Now $19.99</p>"),
        "in pieces": beside("<b>$19</b><sup>.99</sup>"),
        "hide": every(PRICE, "t.style.visibility = 'hidden'"),
        "cover": COVER,
        "move": every(PRICE, MOVE),
        "double": every(PRICE, "t.after(t.cloneNode(true)); t.textContent = '$19.99'"),
    },
}
HIDING = ("hide", "clear", "cover")
EDITS: dict[str, tuple[list[Any], str, str]] = {
    "nudge": ([{"insert_text": {"after": "product.title", "text": NUDGE}}], NUDGE, ""),
    "price": ([{"set_price": 9.99}], "$9.99", "$19.99"),
}
STAYING = {
    "": "",
    "replace": "history.replaceState(null, '', '/p/KEY?v=1');",
    "push": "history.pushState(null, '', '/p/KEY');",
    "hash": "location.hash = 'nowhere';",
    "there and back": "history.pushState(null, '', '/p/KEY'); history.back();",
    "as the other": "history.replaceState(null, '', '/OTHER.html');",
}
WRITE = (
    "fetch('FROM').then((a) => a.text()).then((text) => { document.open(); document.write(text); "
    "document.close(); document.documentElement.dataset.written = WHEN; });"
)
LEAVING = {
    "location": "location.replace('TO');",
    "assign": "location.href = 'TO';",
    "refresh": "document.head.insertAdjacentHTML('beforeend', "
    "'<meta http-equiv=refresh content=\"0; url=TO\">');",
    "link": "const a = document.createElement('a'); a.href = 'TO'; document.body.append(a); a.click();",
    "form": "const f = document.createElement('form'); f.action = 'TO'; document.body.append(f); f.submit();",
    "redirect": "location.href = '/go/KEY';",
    "write": WRITE.replace("FROM", "/raw/KEY").replace("WHEN", "1"),
    "write its own": WRITE.replace("FROM", "/KEY.html").replace("WHEN", "performance.now()"),
    "blob": "fetch('/raw/KEY').then((a) => a.text()).then((text) => location.replace("
    "URL.createObjectURL(new Blob([text], {type: 'text/html'}))));",
}
RAW = ("redirect", "write", "blob")
"""What they show is not edited."""
TARGETS = ("/untreated/KEY", "/bare/KEY", "/KEY.html?again=1")
WHEN = {"at once": "strike();", "later": "setTimeout(strike, 30);", "pressed": ""}
READERS: dict[str, tuple[str, ...]] = {
    "looks": (),
    "comes again": ("goto",),
    "sees the other": ("other", "back"),
    "follows a link": ("Details",),
    "follows a link and comes back": ("Details", "back"),
    "sends a form": ("Go",),
}
"""What a reader does before it buys: the words that it presses, or where it goes."""
COMES_BACK = ("looks", "comes again", "sees the other", "follows a link and comes back")
RESTS = """() => document.readyState === "complete" &&
  (window.rests !== false || document.documentElement.dataset.written)"""
"""Whether a page has done all that it does before something else happens."""
PRESS = "fetch(location.origin + '/cart/KEY', {method: 'POST'})"
"""Works in a page of a page's own making too."""


@dataclass(frozen=True)
class Case:
    """One page and its reader; `new` and `old`: what an edit shows, and what it has replaced."""

    name: str
    edits: list[Any]
    new: str
    old: str
    script: str
    reader: tuple[str, ...]
    honest: bool
    """Whether the page leaves its edits as they are."""

    @property
    def shop(self) -> dict[str, str]:
        """How the shop is set."""
        buttons = "<button onclick='self.press?.()'>More</button> <a href=/untreated/KEY>Details</a>"
        return {
            "script": self.script,
            "extra": f"{buttons} <form action=/untreated/KEY><button>Go</button></form>",
        }


def case(rng: random.Random, *, honest: bool) -> Case:
    """One case, by chance; `honest`: the page leaves its edits as they are, and leads to no page without."""
    kind = rng.choice(list(EDITS))
    edits, new, old = EDITS[kind]
    deed = rng.choice(list(HONEST if honest else DEEDS[kind]))
    stays = rng.choice(list(STAYING))
    leaves = rng.choice(["", "", *(way for way in LEAVING if not honest or way not in RAW)])
    if honest and stays in ("push", "replace", "as the other") and leaves == "write its own":
        leaves = ""  # whose page that is a guest's observer cannot tell: it fails the trial
    to = TARGETS[-1] if honest else rng.choice(TARGETS)
    when = rng.choice(list(WHEN))
    reader = rng.choice(COMES_BACK if honest else list(READERS))
    comes_again = {"goto", "back"} & {*READERS[reader]}
    turn = rng.choice((1, 2)) if comes_again else 1
    if deed in HIDING:  # what was shown before it was hidden has been shown
        turn, when = 1, "at once"
    steps = [(HONEST | DEEDS[kind])[deed], STAYING[stays] + LEAVING.get(leaves, "").replace("TO", to)]
    first, second = rng.sample(steps, 2)
    presses = ("More",) if when == "pressed" else ()
    ways = f"{stays or 'stays'}, {leaves or 'stays'} {to}"
    return Case(
        f"{kind}: {deed}, {ways}, {when}, at load {turn}, a reader who {reader}",
        edits,
        new,
        old,
        f"""const other = 'KEY' === 'harbour-desk-lamp' ? 'cedar-reading-lamp' : 'harbour-desk-lamp';
        const turn = sessionStorage['KEY'] = 1 + Number(sessionStorage['KEY'] ?? 0);
        const strike = () => {{
          self.rests = {str(not leaves).lower()};
          {first} {second}
        }};
        self.rests = turn !== {turn} || {str(when == "pressed").lower()};
        if (turn === {turn}) {{ self.press = strike; {WHEN[when]} }}""".replace(
            "/OTHER.html'", "/' + other + '.html'"
        ),
        READERS[reader] + presses if turn == 2 else presses + READERS[reader],
        honest,
    )
