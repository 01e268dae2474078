"""A card with its example, from the command line."""

import pytest

from interventions.cards.page import ANSWER_PATH, render_page
from interventions.files.__main__ import main
from interventions.files.schema import load_interventions


def test_as_a_prompt_and_as_a_page(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    template = load_interventions("willingness-to-pay")["buy"].card
    assert template is not None
    card = template.example_card("buy", condition="high")
    main(["willingness-to-pay", "buy", "condition=high"])
    assert capfdbinary.readouterr().out.decode() == f"{card.system}\n\n---\n\n{card.prompt}\n"
    main(["willingness-to-pay", "buy", "condition=high", "--page"])
    assert capfdbinary.readouterr().out == render_page(card, action=ANSWER_PATH)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hotels", "hotel"], 'no intervention "hotel"; '),
        (["nudges", "wirecutter"], "wirecutter: is no card; "),
        (["biases", "framing", "scenario=off"], 'differs by scenario, which is given as "off"'),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert told.startswith("error: ")
    assert message in told
    assert told.count("\n") == 1
