"""`souk run` as a user runs it: a broken site map fails closed, a language model shops like any agent."""

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from experiments.records.store import Records
from proxy.error_page import NOT_TREATED
from tests.chat_completion import completion
from tests.experiments.command_line import forked_souk
from tests.support import serve

BROKEN = """
name: broken
extends: onestopmarket
roles:
  product.title: div.no-such-title
"""

EXPERIMENT = """
name: broken
site: {site}
goal: Add the best product from the open tabs to the shopping cart.
options: {{sets: 2}}
factors:
  nudge: {{interventions: nudges, only: [best-seller, free-shipping], on: [none, each]}}
"""


def query(folder: Path, statement: str) -> list[Any]:
    with sqlite3.connect(folder / "runs" / "souk.db") as connection:
        return connection.execute(statement).fetchall()


def test_a_broken_selector_ends_as_treatment_failed_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(BROKEN)
    (tmp_path / "broken.yaml").write_text(EXPERIMENT.format(site=tmp_path / "map.yaml"))
    result = forked_souk("run", "broken.yaml", "--limit", "3", cwd=tmp_path)
    assert result.status == 1, result.err
    told = [line for line in result.err.splitlines() if "treatment_failed" in line]
    assert len(told) == 2
    assert told[0].startswith("first treatment_failed, in trial "), "while the run goes on"
    assert told[1].startswith("2 of 3 trials ended as treatment_failed")
    for line in told:
        assert "product.title" in line
        assert "div.no-such-title" in line
    outcomes = query(tmp_path, "select condition, outcome, count(*) from trials group by 1, 2 order by 1")
    assert outcomes == [("control", "choice", 1), ("nudged", "treatment_failed", 2)]
    last = query(
        tmp_path,
        "select observation from steps join trials using (trial) where outcome = 'treatment_failed' "
        "group by trial having step = max(step)",
    )
    records = Records(f"sqlite:///{tmp_path}/runs/souk.db")
    assert len(last) == 2
    for (name,) in last:
        assert NOT_TREATED in records.artifact(name), "the agent saw the error page"


def model(requests: list[dict[str, Any]]) -> Callable[[Request], Any]:
    """A chat model that looks at both tabs and buys, after one answer that nobody can parse."""

    async def answer(request: Request) -> JSONResponse:
        body = await request.json()
        requests.append(body)
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        button = re.findall(r'<button bid="(\w+)"[^>]*>Add to Cart', prompt)
        if len(requests) == 1:
            text = "import os; os.system('rm -rf /')"
        elif "tab_focus(0)" in prompt.split("Answer", 1)[0] or len(requests) % 2:
            text = f"<think>Good.</think><memory>Seen both.</memory><action>click('{button[-1]}')</action>"
        else:
            text = "<think>Look.</think><memory>Tab 1 seen.</memory><action>tab_focus(0)</action>"
        return JSONResponse(completion(text, tokens_out=50, model=body["model"]))

    return answer


HALF = """
interventions:
  - id: half
    kind: price
    family: price
    direction: -1
    edits: [{replace_text: {in: product.price, from: $, to: $9}}]
"""


@pytest.mark.thorough
def test_pages_that_disagree_are_told(tmp_path: Path) -> None:
    """Only the text of the price is changed, not what the page says of it elsewhere."""
    (tmp_path / "half.yaml").write_text(HALF)
    text = EXPERIMENT.format(site="onestopmarket").replace(
        "nudges, only: [best-seller, free-shipping]", "half.yaml"
    )
    (tmp_path / "e.yaml").write_text(text)
    result = forked_souk("run", "e.yaml", "--limit", "3", cwd=tmp_path)
    assert result.status == 0, result.err
    (told,) = [line for line in result.err.splitlines() if "different values" in line]
    assert told.startswith("2 of 3 trials gave a product different values: ")
    assert re.search(r": price is 9[\d.]+ as product.price on \S+, but [\d.]+ as product.price on", told)
    where = "select count(distinct trial) from disagreements join trials using (trial) where condition = "
    assert query(tmp_path, where + "'nudged'") == [(2,)]
    assert query(tmp_path, where + "'control'") == [(0,)]


async def test_a_language_model_runs_the_same_experiment(tmp_path: Path) -> None:
    requests: list[dict[str, Any]] = []
    routes = [Route("/v1/chat/completions", model(requests), methods=["POST"])]
    async with serve(Starlette(routes=routes)) as url:
        env = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": f"{url}v1"}
        options = ("--agent", "openai:gpt-4.1-mini", "--limit", "2", "--slots", "1")
        result = await run_in_threadpool(forked_souk, "run", "nudges", *options, cwd=tmp_path, env=env)
    assert result.status == 0, result.err
    assert query(tmp_path, "select outcome, count(*) from trials group by 1") == [("choice", 2)]
    ((tokens_in, cost),) = query(tmp_path, "select sum(tokens_in), sum(cost) from trials")
    assert tokens_in == 1000 * len(requests)
    assert cost > 0
    calls = query(tmp_path, "select model, error from calls order by trial, number")
    assert len(calls) == len(requests)
    assert sum(1 for _, error in calls if error) == 1, (
        "the answer that was no action is recorded with its reason"
    )
    assert "rm -rf" not in str(query(tmp_path, "select action from steps"))
