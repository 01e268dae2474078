"""The difference of two pages: only what changed, in lines that can be read."""

from hypothesis import given
from hypothesis import strategies as st

from experiments.pages.html_diff import Hunk, html_diff, shown

PAGE = """<!doctype html>
<html><head><title>Shop</title><script>if (1 < 2) { x = "<p>" }</script></head>
<body><div class="a"><h1><span>Oat "Cookies"</span></h1>
<p>One<p>Two<br><img src=x alt="a > b">
<div class="price-box"><span class="price" data-amount="19.99">$19.99</span></div>
</div><!-- <p> --></body></html>
"""


def lines(hunk: Hunk, width: int = 80) -> list[str]:
    return [f"{sign} {line}" for sign, line in shown(hunk, width)]


def test_an_inserted_element_stands_among_its_neighbours() -> None:
    (hunk,) = html_diff(PAGE, PAGE.replace("</h1>", '</h1><b style="color:red">Only 2 left</b>'))
    assert lines(hunk) == [
        '    <span>Oat "Cookies"</span>',
        "  </h1>",
        '+ <b style="color:red">Only 2 left</b>',
        "  <p>",
        "    One",
    ]
    assert hunk.to_dict() == {"line": 3, "removed": [], "added": ['<b style="color:red">Only 2 left</b>']}


def test_a_changed_figure_is_one_line_less_and_one_more() -> None:
    (hunk,) = html_diff(PAGE, PAGE.replace("$19.99", "$5.00"))
    changed = [line[0] + line[1:].strip() for line in lines(hunk) if line[0] != " "]
    assert changed == [
        '-<span class="price" data-amount="19.99">$19.99</span>',
        '+<span class="price" data-amount="19.99">$5.00</span>',
    ]


def test_places_apart_are_hunks_apart() -> None:
    after = PAGE.replace("Oat", "Rye").replace("$19.99", "$5.00")
    assert [hunk.number for hunk in html_diff(PAGE, after)] == [3, 5]


def test_a_long_tag_is_cut_and_what_differs_stays_in_sight() -> None:
    before = f'<p><a title="{"x" * 300} old {"y" * 300}" class="{"c" * 50}">Text</a></p>'
    after = before.replace(" old ", " new ")
    (hunk,) = html_diff(before, after)
    gone, come = [line for line in lines(hunk, 60) if line[0] != " "]
    assert " old " in gone
    assert " new " in come
    assert max(map(len, lines(hunk, 60))) <= 62


def test_an_inserted_text_is_not_hidden_by_long_attributes() -> None:
    added = f'<h2 class="{"c" * 60}" style="{"s" * 200}">Only 2 left in stock</h2>'
    (hunk,) = html_diff(PAGE, PAGE.replace("</h1>", f"</h1>{added}"))
    (line,) = [line for line in lines(hunk, 100) if line[0] == "+"]
    assert line.endswith(">Only 2 left in stock</h2>")


@given(st.text(alphabet="<>ab/ \"'=!-\n", max_size=60), st.text(alphabet="<>ab/ \"'=!-\n", max_size=60))
def test_any_two_texts_have_a_difference_that_can_be_shown(before: str, after: str) -> None:
    hunks = html_diff(before, after)
    assert bool(hunks) <= (before != after)
    for hunk in hunks:
        assert any(sign != " " for sign, _ in hunk.lines)
        assert all(len(line) <= 40 for _, line in shown(hunk, 40) if len(line.lstrip()) > 20)
