import logging
from pathlib import Path

import pytest

from agents.pricing import PriceTable, cost_of, price_of, price_table
from interventions.errors import UserError
from interventions.yaml_source import load_model


def test_cost_is_per_million_tokens() -> None:
    price = price_table().models["gpt-4.1-mini"]
    assert cost_of("gpt-4.1-mini", 1_000_000, 0) == pytest.approx(price.input)
    assert cost_of("gpt-4.1-mini", 500_000, 250_000) == pytest.approx(price.input / 2 + price.output / 4)


def test_a_dated_snapshot_costs_what_its_model_costs() -> None:
    assert price_of("gpt-4.1-mini-2025-04-14") == price_of("gpt-4.1-mini")


def test_an_unknown_model_has_no_cost_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert cost_of("llama-of-this-test", 10, 10) is None
        assert cost_of("llama-of-this-test", 20, 20) is None
    assert [record.getMessage() for record in caplog.records] == [
        "no price is listed for llama-of-this-test; its cost is recorded as unknown"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("as_of: '2026-03'\nmodels: {m: {input: 1}}", r":2:10: models\.m\.output: missing"),
        ("as_of: '2026-03'\nmodels: {m: {input: -1, output: 1}}", r":2:14: models\.m\.input: "),
        ("as_of: last week\nmodels: {}", r":1:1: as_of: "),
    ],
)
def test_mistakes_in_the_yaml_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=message) as caught:
        load_model(path, PriceTable)
    assert "\n" not in str(caught.value)
