"""Models that end: by the table, and by OpenAI's own list of models."""

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.providers.ends import SOON, announced_ends, end_notes, end_of
from agents.providers.network import close_connections
from agents.providers.pricing import price_tables
from agents.providers.settings import SERVICES
from tests.agents.conftest import KEY, in_a_thread

ROOT = Path(__file__).parents[3]
WRITTEN = date(2026, 11, 29)


def test_a_model_is_warned_of_in_its_last_six_months_and_after_its_end() -> None:
    end = end_of("openai:gpt-5-mini-2025-08-07@effort=low")
    assert end == end_of("openai-computer:gpt-5-mini") == date(2026, 12, 11)
    days = [end - SOON - timedelta(1), end - SOON, end - timedelta(1), end, end + timedelta(900)]
    told = ["".join(end_notes(["openai:gpt-5-mini"], day)) for day in days]
    assert [line.partition(", ")[0].rpartition(" model ")[2] for line in told] == [
        "",
        *["ends on 2026-12-11"] * 2,
        *["has ended on 2026-12-11"] * 2,
    ]
    others = ["ollama:gpt-4o", "compatible:o3", "simulated:balanced", "openai:gpt-6-luna", "openai:gpt-4.11"]
    assert end_notes(others, WRITTEN) == []


@pytest.mark.parametrize("body", ["shutdown", "null", "none", "nonsense", "missing"])
async def test_what_openai_s_list_says_is_told(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list without the day, or none at all, changes nothing."""
    asked = []

    def listed(request: Request) -> Response:
        asked.append(request.headers["authorization"])
        if body == "missing":
            return JSONResponse({"error": {"message": "no such model"}}, status_code=404)
        line = {"id": request.path_params["model"], "object": "model", "created": 1, "owned_by": "openai"}
        days = {"shutdown": "2027-03-01", "null": None, "nonsense": "soon"}
        return JSONResponse(line | ({} if body == "none" else {"shutdown_date": days[body]}))

    with in_a_thread(Starlette(routes=[Route("/v1/models/{model}", listed)])) as url:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        agents = ["openai:gpt-9", "openai:gpt-5", "simulated:balanced"]  # the table has the second
        told = await announced_ends(agents, WRITTEN)
        await close_connections()
    assert asked == [f"Bearer {KEY}"]
    wanted = "openai:gpt-9: the model ends on 2027-03-01, after which nobody can repeat the run; name another"
    assert told == ([f"{wanted} for a new study"] if body == "shutdown" else [])


async def test_a_server_that_does_not_answer_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert await announced_ends(["openai:gpt-9"], WRITTEN) == []
    await close_connections()


def test_no_default_and_no_page_names_a_model_that_ends_soon() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "experiments").rglob("*.yaml")]
    pages += (ROOT / "experiments" / "commands").glob("*.py")
    names = r"(?:openai|openai-\w+|anthropic|anthropic-\w+|gemini|gemini-\w+):[\w.-]*\w"
    named = {name for page in pages for name in re.findall(names, page.read_text(encoding="utf-8"))}
    named |= {f"{name}:{service.example}" for name, service in SERVICES.items()}
    assert len(named) > 5
    assert end_notes(sorted(named), WRITTEN) == []


def test_no_model_that_has_ended_has_a_price() -> None:
    models = [model for model in price_tables()[-1].models if ":" not in model]
    notes = end_notes([f"{kind}:{model}" for model in models for kind in ("openai", "gemini")], WRITTEN)
    assert [note for note in notes if "has ended" in note] == []
