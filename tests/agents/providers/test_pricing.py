import base64
import io
import logging
import re
from pathlib import Path

import pytest
from PIL import Image

from agents.base import ChatMessage
from agents.providers import make_model
from agents.providers.pricing import Tokens, cost_of, price_of, price_tables
from interventions.errors import UserError


@pytest.mark.parametrize(
    ("snapshot", "model"),
    [
        ("openai:gpt-4.1-mini-2025-04-14", "openai:gpt-4.1-mini"),
        ("anthropic:claude-haiku-4-5-20251001", "anthropic:claude-haiku-4-5"),
    ],
)
def test_a_dated_snapshot_costs_what_its_model_costs(snapshot: str, model: str) -> None:
    assert price_of(snapshot) == price_of(model)
    assert price_of(model) is not None


@pytest.mark.parametrize("name", ["ollama:llama3.2", "ollama:gpt-4.1", "hf:org/model"])
def test_what_runs_here_is_free_whatever_its_name(name: str) -> None:
    assert cost_of(name, Tokens(10_000, 10_000)) == 0.0


def test_a_cache_saves_what_its_tokens_would_have_cost_more() -> None:
    price = price_of("openai:gpt-4.1-mini")
    assert price is not None and price.cached is not None and price.cached < price.input
    assert price.saved(1_000_000) == pytest.approx(price.input - price.cached)


def test_an_unknown_model_has_no_cost_and_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert cost_of("compatible:llama-of-this-test", Tokens(10, 10)) is None
        assert cost_of("compatible:llama-of-this-test", Tokens(20, 20)) is None
    assert [record.getMessage() for record in caplog.records] == [
        "no price is listed for compatible:llama-of-this-test; its cost is recorded as unknown"
    ]


def test_the_example_of_the_docs_is_a_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"as `prices\.yaml`:\n\n```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "prices.yaml").write_text(example, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOUK_PRICES", "prices.yaml")
    million = Tokens(1_000_000, 1_000_000)
    names = ("ollama:llama-cloud", "compatible:my-model", "compatible:x", "qwen-computer:x", "command:x")
    assert [cost_of(name, million) for name in names] == pytest.approx([0.8, 2.0, 0.0, 0.5, 0.0])
    assert cost_of("qwen-computer:x", Tokens(0, 0), images=3) == pytest.approx(0.003)
    assert cost_of("compatible:my-model", Tokens(1_000_000, 0, 1_000_000)) == pytest.approx(0.05)


OWN_TABLES = [
    # It adds and replaces.
    (
        "gpt-4.1: {input: 3, output: 9}, 'compatible:*': {input: 1, output: 1}",
        {"openai:gpt-4.1": 12.0, "compatible:anything": 2.0, "openai:gpt-4.1-mini": 2.0},
    ),
    # A model's own price goes before that of its provider.
    (
        "'openai:*': {input: 1, output: 1}, 'openai:gpt-of-this-test': {input: 5, output: 5}",
        dict.fromkeys(("openai:gpt-of-this-test", "openai:gpt-of-this-test-2027-01-31"), 10.0)
        | {"openai:gpt-of-this-test-20270131": 10.0, "openai:another": 2.0},
    ),
    # Whatever it says goes before what comes with Souk.
    (
        "llama-of-a-cloud: {input: 3, output: 9}",
        {"ollama:llama-of-a-cloud": 12.0, "ollama:llama-of-a-cloud-2027-01-31": 12.0, "ollama:llama3.2": 0.0},
    ),
]


@pytest.fixture
def own_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the user's own table."""
    monkeypatch.setenv("SOUK_PRICES", str(tmp_path / "mine.yaml"))
    return tmp_path / "mine.yaml"


@pytest.mark.parametrize(("models", "costs"), OWN_TABLES)
def test_a_table_of_ones_own(own_table: Path, monkeypatch, models: str, costs: dict[str, float]) -> None:
    own_table.write_text(f"as_of: '2027-01'\nmodels: {{{models}}}\n", encoding="utf-8")
    million = Tokens(1_000_000, 1_000_000)
    assert {name: cost_of(name, million) for name in costs} == pytest.approx(costs)
    assert price_tables()[0].as_of == "2027-01"
    monkeypatch.delenv("SOUK_PRICES")
    assert cost_of("openai:gpt-4.1", million) == pytest.approx(10)


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "compatible"], indirect=True)
async def test_pictures_may_have_a_price_of_their_own(provider, own_table) -> None:
    price = "{input: 1, output: 2, image: 0.25}"
    own_table.write_text(f"as_of: '2027-01'\nmodels: {{'{provider.kind}:m': {price}}}\n", encoding="utf-8")
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, "PNG")
    shown = [base64.b64encode(picture.getvalue()).decode()]
    for pictures, cost in ((shown * 2, 0.5), ([], 0.0)):
        provider.say("A", usage=(1_000_000, 500_000))
        asked: ChatMessage = {"role": "user", "content": "data", "images": pictures}
        reply = await make_model(f"{provider.kind}:m").ask([asked])
        assert reply.call is not None
        assert reply.call.cost == pytest.approx(2 + cost)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, ": no such file"),
        ("as_of: '2026-03'\nmodels: {m: {input: 1}}", r":2:10: models\.m\.output: missing"),
        ("as_of: '2026-03'\nmodels: {m: {input: -1, output: 1}}", r":2:14: models\.m\.input: "),
        ("as_of: last week\nmodels: {}", r":1:1: as_of: "),
    ],
)
def test_a_mistake_in_ones_own_table_is_one_line(own_table: Path, text: str | None, message: str) -> None:
    if text:
        own_table.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=rf"mine\.yaml{message}") as caught:
        make_model("ollama:llama3.2")
    assert "\n" not in str(caught.value)
