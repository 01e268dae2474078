"""The texts that an experiment declares are found on pages, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.simulated.nudges import DeclaredNudges, Nudge, as_searched

NUDGES = (
    Nudge("Only 2 left in stock", 1, "scarcity"),
    Nudge("Sold by somebody  else", -1),
    Nudge("A limited edition", 1),
    Nudge("A limited edition of mistakes", -1),
    Nudge("限定品", 1),
    Nudge("¡Últimas unidades!", 1),
    Nudge("Both", 1),
    Nudge("both", -1),
)


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("", 0),
        ("Only 2 left in stock", 1),
        ("(only 2\n LEFT in\u00a0stock!)", 1),
        ("Only 2 left in stocks", 0),
        ("12 Sold by somebody else", -1),
        ("Unsold by somebody else", 0),
        ("A limited edition", 1),
        ("A limited edition of mistakes", -1),
        ("A limited edition. A limited edition of mistakes", 0),
        ("Only 2 left in stock. A limited edition", 2),
        ("これは限定品です", 1),
        ("Lámpara ¡últimas unidades! 12 €", 1),
        ("Both", 0),
        ("This is a best seller!", 0),
    ],
)
def test_what_a_text_says(text: str, direction: int) -> None:
    assert DeclaredNudges(NUDGES).cue(as_searched(text)) == direction


@given(st.lists(st.builds(Nudge, st.text(max_size=12), st.sampled_from([1, -1]))), st.text(max_size=40))
def test_any_text_can_be_declared_and_searched(nudges: list[Nudge], text: str) -> None:
    known = DeclaredNudges(nudges)
    assert {nudge.direction for nudge in known.find(as_searched(text))} <= {1, -1}
    for nudge in nudges:
        if as_searched(nudge.text):
            assert nudge.direction in {found.direction for found in known.find(as_searched(nudge.text))}
