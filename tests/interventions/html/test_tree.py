"""Parse within bounds: the count of the parser's steps against the trees that the parser makes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from interventions.apply.engine import EditFailed
from interventions.errors import CannotEdit
from interventions.html import tree
from interventions.html.parsing_cost import parsing_steps
from interventions.html.tree import parse, select
from interventions.yaml.sitemap import load_site_map
from tests.interventions.rewriting import rewritten
from tests.support import size

TAGS = (
    "div span p li ul ol dl dd dt table tr td th tbody caption select option optgroup button object template "
    "form a b i font svg path g title desc foreignobject math mi mrow script style textarea noscript iframe "
    "h1 section applet marquee ruby rt x-y nobr body head html br img input pre colgroup col frameset"
)
NAMES = TAGS.split()
OTHERS = ("x", "<!--", "-->", "<![CDATA[", "]]>", "<!x>", "</>", "<script><!--<script>", "</p>", "</br>")


def made_tag(made: random.Random) -> str:
    name, kind = made.choice(NAMES), made.random()
    forms = ((0.45, f"<{name}>"), (0.55, f"<{name} a{made.randrange(99)}=1>"), (0.62, f"<{name}/>"))
    return next(
        (form for bound, form in forms if kind < bound), f"</{name}>" if kind < 0.95 else made.choice(OTHERS)
    )


def made_page(made: random.Random) -> str:
    """Motifs of tags, repeated, as what makes a tree deep does."""
    motifs = (
        "".join(
            made_tag(made) * made.choice((1, 1, made.randrange(1, 20))) for _ in range(made.randrange(1, 9))
        )
        * made.randrange(1, 25)
        for _ in range(made.randrange(1, 4))
    )
    return "".join(motifs)


def depths(root: LexborNode | None) -> list[int]:
    """How many elements are around each element of a tree."""
    found, left = [], [(root, 0)] if root else []
    while left:
        node, depth = left.pop()
        found.append(depth)
        left += [(child, depth + 1) for child in node.iter() if child.is_element_node]
    return found


@pytest.mark.parametrize("scripting", [True, False])
def test_the_count_is_never_much_too_low(scripting: bool) -> None:
    """Whatever ends, opens again or hides tags: the tree that is made is no deeper than was counted."""
    made = random.Random(f"{tree.MOST_STEPS} {scripting}")
    deep = 0
    for _ in range(size(60, 3000)):
        page = made_page(made)
        found = depths(LexborHTMLParser(page, scripting=scripting).root)
        counted = parsing_steps(page.encode(), page.count("<") ** 2 // 2)
        assert sum(found) <= 5 * (counted + 20 * len(found) + 100), page
        deep += max(found) > 50
    assert deep > 5


def test_pages_as_they_are_written_are_far_below_the_bound() -> None:
    """Tags that nobody closes, icons, scripts that write tags and templates are in them."""
    card = (
        "<li><a href=/x><svg width=9><title>Star</title><path d='M0 0'/><g><use href=#a /></g></svg>"
        "<p>Lamp<p><b>19.90</b><form><select><option>1<option>2</select></form>"
        "<script>document.write('<div>' + '<p>')</script><noscript><img src=x></noscript></a>"
    )
    page = f"<body><div><ul>{card * 2000}</ul></div><table><tr><td>1<td>2<tr><td>3</table>".encode()
    assert 0 < parsing_steps(page, tree.MOST_STEPS) < tree.MOST_STEPS / 20


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 100,
        "<b><div></b>" * 50 + "<i a><p>" * 50,
        f"<p {' '.join(f'a{number}' for number in range(120))}>",
        "".join(f"<body a{number}>" for number in range(120)),
        "<select>" + "<option>1" * 100,
    ],
)
def test_a_page_beyond_the_bound_is_refused_before_it_is_parsed(page: str) -> None:
    assert parse(page, most=100_000).body is not None
    with pytest.raises(CannotEdit, match="the parser needs more than 2,000 steps"):
        parse(page, most=2_000)


def test_a_page_beyond_the_bound_fails_closed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_STEPS", 1_000)
    site = load_site_map("schema-org")
    with pytest.raises(EditFailed, match=r"^http://shop/x: it would stop all trials"):
        rewritten("<div>" * 60, None, {"set_price": 5}, site=site, url="http://shop/x")


SELECTORS = ["h1", "body > h1", ".name", "div *", "h1, .name", ":is(h1, .name)"]


@given(st.lists(st.sampled_from(SELECTORS), min_size=1))
def test_elements_are_found_once_in_the_order_of_the_page(selectors: list[str]) -> None:
    page = LexborHTMLParser("<p class=name>X</p><h1 class=name>Y</h1><div id=top><b class=name>Z</b></div>")
    found = {node.text() for each in selectors for node in page.css(each)}
    assert [node.text() for node in select(page, ", ".join(selectors))] == sorted(found)
