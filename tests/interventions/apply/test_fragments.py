"""Parts of pages that scripts fetch: cards known by construction, read back by another parser."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pytest
from bs4 import BeautifulSoup

from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.set_price import SetPrice
from tests.interventions.rewriting import LINK, rewritten, site_of
from tests.support import size

KEYS = ["desk-lamp", "oak-shelf", "red-chair", "tea-pot", "wool-rug"]
# Of each form of card: the element, selectors that meet it in its page, and what stands in it.
FORMS: dict[str, tuple[str, list[str], str]] = {
    "li": ("li", ["li.card", "ul.cards > li", "ul#list li.card"], "{}"),
    "tr": ("tr", ["tr.card", "table.cards tr", "table.cards > tbody > tr", ".cards .card"], "<td>{}</td>"),
    "td": ("td", ["td.card", "table.cards td.card"], "{}"),
    "tbody": ("tbody", ["tbody.card", "table.cards > tbody.card"], "<tr><td>{}</td></tr>"),
    "div": ("div", [".card", "section[data-list='a'] > div.card", "main div"], "{}"),
    "dd": ("dd", ["dd.card", "dl.cards > dd"], "{}"),
    "article": ("article", ["article", "div.grid article"], "<div>{}</div>"),
}
BEFORE = ["", "\n  ", "<!-- <li> page 2 -->", "<!-- cards -->\n"]


@dataclass(frozen=True)
class Fragment:
    """A part of a page, the selector of its cards, and the prices that it shows, in order."""

    html: str
    css: str
    prices: list[tuple[str, str]]


def fragment(source: random.Random, form: str) -> Fragment:
    tag, selectors, inside = FORMS[form]
    parts, prices = [source.choice(BEFORE)], []
    end = "" if tag in ("li", "dd", "tr") and source.random() < 0.3 else f"</{tag}>"
    for key in source.sample(KEYS, source.randint(1, 5)):
        price = f"${source.randint(5, 90)}.{source.randint(10, 99)}"
        link = f'<a href="/p/{key}" title=\'a "quoted" é\'>{key} &amp; co</a> <b class=price>{price}</b>'
        parts.append(f"<{tag} class='card x'>{inside.format(link)}{end}{source.choice(['', chr(10)])}")
        prices.append((key, price))
    return Fragment("".join(parts), source.choice(selectors), prices)


def escaped(data: object) -> str:
    return json.dumps(data).replace("<", "\\u003C").replace("/", "\\/")


# How a shop sends the part; each with its type, and how a script reads the part again.
Send = tuple[str, Callable[[str], str], Callable[[str], str]]
SENT: dict[str, Send] = {
    "html": ("text/html; charset=utf-8", lambda html: html, lambda body: body),
    "plain": ("text/plain; charset=utf-8", lambda html: html, lambda body: body),
    "json": (
        "application/json",
        lambda html: json.dumps({"page": 2, "html": html, "note": "1 < 2 <b>é</b>"}, ensure_ascii=False),
        lambda body: json.loads(body)["html"],
    ),
    "list": (
        "application/vnd.shop+json",
        lambda html: escaped([{"command": "insert", "<li>": [1.50, None, html]}]),
        lambda body: json.loads(body)[0]["<li>"][2],
    ),
    "guarded": (
        "application/json",
        lambda html: ")]}',\n" + json.dumps({"sections": {"a-b": html}}, indent=1),
        lambda body: json.loads(body.partition("\n")[2])["sections"]["a-b"],
    ),
    "twice": (
        "application/json",
        lambda html: json.dumps({"d": json.dumps({"html": html})}),
        lambda body: json.loads(json.loads(body)["d"])["html"],
    ),
    "json as html": (
        "text/html; charset=utf-8",
        lambda html: json.dumps({"fragments": {"div.list": html}}),
        lambda body: json.loads(body)["fragments"]["div.list"],
    ),
    "json as plain": (
        "text/plain",
        lambda html: json.dumps([html]),
        lambda body: json.loads(body)[0],
    ),
}


@pytest.mark.parametrize("sent", SENT)
@pytest.mark.parametrize("form", FORMS)
def test_cards_of_fetched_parts_are_edited(form: str, sent: str) -> None:
    content_type, write, read = SENT[sent]
    for seed in range(size(3, 40)):
        source = random.Random(f"{form} {sent} {seed}")
        part = fragment(source, form)
        planned = source.sample(KEYS, 2)
        roles = {"item": part.css, "item.link": LINK, "item.price": ".price", "product.price": "p.price"}
        plan = Plan(tuple(Treatment("cheap", f"p/{key}", (SetPrice(Decimal("4.20")),)) for key in planned))
        body = write(part.html).encode()
        done = rewrite(
            body,
            content_type=content_type,
            url="http://shop.test/more?page=2",
            plan=plan,
            site=site_of(roles),
        )
        result = read(done.body.decode())
        shown = [node.text for node in BeautifulSoup(result, "html.parser").select(".price")]
        wanted = ["$4.20" if key in planned else price for key, price in part.prices]
        assert shown == wanted, (part, planned)
        assert len(done.receipts) == wanted.count("$4.20")
        # Whatever is no price is as it was.
        assert re.sub(r"\$[\d.]+", "", result) == re.sub(r"\$[\d.]+", "", part.html)
        if not done.receipts:
            assert done.body is body


def test_what_stands_beside_a_part_keeps_its_bytes() -> None:
    site = site_of({"item": "li", "item.link": LINK, "item.price": "b"})
    body = b'{ "a" : 1.50, "b":"\\u00e9 <i>x<\\/i>" ,\r\n"html": "<li><a href=/lamp>L</a><b>$7.00</b>" }'
    url, kind = "http://shop.test/a", "application/json"
    done = rewritten(body, "lamp", {"set_price": 5}, site=site, url=url, kind=kind)
    assert done.body == body.replace(b"$7.00", b"$5.00")
