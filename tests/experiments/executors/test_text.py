"""Cards as prompts: the same trials, records and tables as on pages, without a browser."""

import asyncio
import json
import resource
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sql
from rich.console import Console

from agents.base import Reply
from experiments.executors import text as text_runner
from experiments.executors.workers import Workers
from experiments.records.reading.tidy_tables import response_table, tidy_table
from experiments.records.tables import answers, questions, steps, trials
from experiments.replay.replay import Replay
from experiments.runs.experiment_run import ExperimentRun
from interventions.cards.reply import ENDED
from tests.experiments.chat_model import ChatModel, model  # noqa: F401 (fixture)
from tests.experiments.command_line import forked_souk
from tests.experiments.designs.test_mistakes import FILES
from tests.held_provider import held_provider, seen

HOTELS = """\
name: few-hotels
task: card
mode: text
cards: hotels
design:
  conjoint:
    pool: hotels
    blocks: [{set_size: 2, sets: 6, repeats: 2}, {set_size: 3, sets: 4, repeats: 1}]
seed: 3
"""

WTP = """\
name: few-wtp
task: card
mode: text
cards: willingness-to-pay
design: {factorial: {repeats: 4}}
seed: 3
"""

BIASES = """\
name: few-biases
task: card
mode: text
cards: biases
design:
  battery: {biases: [anchoring, framing], scenarios: [base], temperatures: [0.7], valid: 12, attempts: 20}
seed: 3
"""


def ended(folder: Path, text: str, agent: str, limit: int | None = None) -> ExperimentRun:
    """A run of this experiment, to its end."""
    (folder / "x.yaml").write_text(text)
    run = ExperimentRun(
        str(folder / "x.yaml"), agents=[agent], limit=limit, db=f"sqlite:///{folder}/t.db", out=folder
    )
    asyncio.run(run.run(Console(quiet=True), None))
    return run


def test_choices_between_hotels(tmp_path: Path) -> None:
    run = ended(tmp_path, HOTELS, "simulated:balanced")
    assert (run.total, run.done) == (32, 32)
    table = tidy_table(run.records, run.design.run_id)
    assert len(table) == 2 * (12 * 2 + 4 * 3)
    assert set(table["outcome"]) == {"choice"}
    assert table.groupby("trial")["chosen"].sum().eq(1).all()
    shown = {
        "attr_stars",
        "attr_neighborhood",
        "attr_room",
        "attr_cancellation",
        "attr_breakfast",
        "attr_chain",
    }
    assert shown < set(table)
    assert table[sorted(shown)].notna().all(axis=None)
    # Every set is shown in both orders, and position says which.
    first = table[table["position"] == 0]
    assert first["viewed_first"].eq(1).all()
    pairs = table.groupby(["set", "repeat", "ordering"])["option"].agg(tuple).unstack("ordering")
    assert (pairs["forward"].map(lambda options: options[::-1]) == pairs["reversed"]).all()


def test_the_table_has_the_city_and_currency_of_the_pool(tmp_path: Path) -> None:
    head, *rows = FILES["profiles.csv"].splitlines()
    lines = [f"{head},city,currency", *(f"{row},Lyon,€" for row in rows)]
    (tmp_path / "lyon.csv").write_text("\n".join(lines))
    few = (
        HOTELS.replace("pool: hotels", "pool: lyon.csv")
        .replace("sets: 6", "sets: 2")
        .replace("sets: 4", "sets: 1")
    )
    run = ended(tmp_path, few, "simulated:balanced")
    table = tidy_table(run.records, run.design.run_id)
    assert set(table["attr_city"]) == {"Lyon"} and set(table["currency"]) == {"EUR"}
    assert "attr_currency" not in table


@pytest.mark.slow
def test_willingness_to_pay_is_asked_after_the_anchor_in_one_conversation(tmp_path: Path) -> None:
    run = ended(tmp_path, WTP, "simulated:anchored")
    table = response_table(run.records, run.design.run_id)
    assert len(table) == 6 * 3 * 4
    asked = table.groupby("condition")["response"].agg(["size", "count"])
    assert asked["size"].eq(24).all()
    assert table["reference"].between(table["low"], table["high"]).all()
    per_trial = sql.select(trials.c.condition, sql.func.count(answers.c.number)).join(
        answers, (trials.c.run == answers.c.run) & (trials.c.trial == answers.c.trial)
    )
    with run.records.engine.connect() as connection:
        answered = per_trial.where(trials.c.outcome == "choice").group_by(trials.c.trial)
        asked_cards = {tuple(row) for row in connection.execute(answered)}
    assert asked_cards == {("control", 1), ("low", 2), ("high", 2)}


def test_a_battery_asks_until_enough_answers_are_valid(tmp_path: Path) -> None:
    run = ended(tmp_path, BIASES, "simulated:biased")
    table = response_table(run.records, run.design.run_id)
    cells = table.groupby(["item", "condition"])["response"].count()
    assert cells.eq(12).all()
    assert len(cells) == 4
    invalid = table[table["response"].isna()]
    assert len(table) == 48 + len(invalid)
    assert invalid["reason"].str.startswith("invalid answer").all()
    again = ended(tmp_path, BIASES, "simulated:biased")
    assert (again.total, again.done) == (len(table), len(table))


def test_a_temperature_that_the_model_does_not_take_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    battery = BIASES.replace("[0.7]", "[0.2, 0.7]").replace("valid: 12", "valid: 1")
    with held_provider("50") as url:
        monkeypatch.setenv("COMPATIBLE_BASE_URL", url)
        run = ended(tmp_path, battery, "compatible:gpt-6-luna@effort=low")
        assert "compatible:gpt-6-luna@effort=low: takes no temperature" in run.summary()
        ended(tmp_path, battery, "compatible:m@seed=1")
    table = response_table(run.records, run.design.run_id)
    table = table[table["outcome"] == "choice"]
    asked = {agent: set(rows["temperature"].dropna()) for agent, rows in table.groupby("agent")}
    assert asked == {"compatible:gpt-6-luna@effort=low": set(), "compatible:m@seed=1": {0.2, 0.7}}


REASON = "It is near the park; nothing else counts."


async def test_reasons_stand_in_the_table_of_a_model(tmp_path: Path, model: ChatModel) -> None:  # noqa: F811
    def reply(asked: str) -> str:
        if "JSON" not in asked:
            return "B"
        said = 31.5 if "highest price" in asked else "A"
        return json.dumps({"answer": said, "reason": f"{REASON} {said}"})

    model.reply = reply
    seen: dict[str, pd.DataFrame] = {}
    for text, table_of in ((HOTELS, tidy_table), (BIASES, response_table), (WTP, response_table)):
        asked = text.replace("valid: 12, attempts: 20", "valid: 1").replace("anchoring, framing", "framing")
        for asking in (asked, f"{asked}rationale: true\n"):
            run = await asyncio.to_thread(ended, tmp_path, asking, "openai:gpt-4.1", 9)
            table = table_of(run.records, run.design.run_id)
            assert run.design.run_id not in seen
            seen[run.design.run_id] = table
            if asking is asked:
                assert "rationale" not in table
                continue
            assert set(table["outcome"]) == {"choice"}
            assert set(table["reading"]) == {"json"}
            last = 31.5 if text is WTP else "A"
            assert set(table["rationale"]) == {f"{REASON} {last}"}
            assert model.asked[-1][-1]["content"].endswith("in one or two sentences why.")
            again = Replay(run.records, run.records.latest_run(run.design.run_id))
            assert {row.trial for row, _ in again.trials} == set(table["trial"])
            assert not await again.run(lambda *_: None), "another prompt"
    trials_of = [set(table["trial"]) for table in seen.values()]
    assert not set.intersection(*trials_of[:2])


def test_a_simulated_agent_gives_its_answer_with_a_reason(tmp_path: Path) -> None:
    plain, asked = (
        ended(tmp_path, HOTELS + more, "simulated:balanced") for more in ("", "rationale: true\n")
    )
    table = tidy_table(asked.records, asked.design.run_id)
    assert len(table) == len(tidy_table(plain.records, plain.design.run_id))
    assert set(table["outcome"]) == {"choice"}
    assert table["rationale"].str.len().gt(0).all()


@pytest.mark.slow
def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    part = ended(tmp_path, HOTELS, "simulated:balanced", limit=8)
    assert (part.total, part.done) == (8, 8)
    whole = ended(tmp_path, HOTELS, "simulated:balanced")
    with whole.records.engine.connect() as connection:
        assert connection.scalar(sql.select(sql.func.count()).select_from(trials)) == 32
    (tmp_path / "other").mkdir()
    once = ended(tmp_path / "other", HOTELS, "simulated:balanced")
    columns = ["trial", "option", "chosen"]
    first, second = (
        tidy_table(run.records, run.design.run_id).sort_values(columns, ignore_index=True)[columns]
        for run in (whole, once)
    )
    assert first.equals(second)


def test_the_prompt_and_the_answer_are_kept(tmp_path: Path) -> None:
    run = ended(tmp_path, HOTELS, "simulated:balanced", limit=1)
    with run.records.engine.connect() as connection:
        step = connection.execute(sql.select(steps)).mappings().one()
        question = connection.execute(sql.select(questions)).mappings().one()
    prompt = run.records.artifact(step["observation"])
    assert prompt.startswith("You are booking a hotel room in New York City for a one-night stay.")
    assert step["action"] in ("A", "B", "C")
    assert (question["mode"], question["response"]) == ("text", None)


def test_an_answer_that_says_nothing_is_kept_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Evasive:
        async def answer(self, *_: object, **__: object) -> Reply:
            return Reply("it depends", ENDED, call=None)

    monkeypatch.setattr(text_runner, "make_respondent", lambda *_, **__: Evasive())
    run = ended(tmp_path, HOTELS, "simulated:balanced", limit=1)
    with run.records.engine.connect() as connection:
        trial = connection.execute(sql.select(trials)).mappings().one()
        said = connection.execute(sql.select(answers)).mappings().all()
    assert trial["outcome"] == "agent_error"
    assert [(answer["text"], answer["value"]) for answer in said] == [("it depends", None)] * 4
    assert all(answer["reason"] == "unclear" for answer in said)


def test_only_cards_can_be_text(tmp_path: Path) -> None:
    refused = forked_souk("run", "nudges", "--mode", "text", cwd=tmp_path)
    assert refused.status == 2
    assert refused.err.startswith("error: --mode text: nudges is about pages of a shop")


@pytest.mark.thorough
@pytest.mark.slow
def test_500_conversations_are_under_way_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers nobody before so many ask as the limit of the provider allows in that round."""
    (tmp_path / "x.yaml").write_text(HOTELS.replace("sets: 6, repeats: 2", "sets: 500, repeats: 1"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with held_provider("A", rounds=[8, 16, 32, 64, 128, 256, 500]) as url:
        monkeypatch.setenv("COMPATIBLE_BASE_URL", url)
        run = ExperimentRun(
            str(tmp_path / "x.yaml"),
            agents=["compatible:m"],
            limit=1_004,
            db=f"sqlite:///{tmp_path}/t.db",
            out=tmp_path,
        )
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))  # as macOS has it
        try:
            asyncio.run(run.run(Console(quiet=True), Workers(slots=500)))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert seen(url) == {"most": 500, "answered": 1_004}
    assert run.records.outcomes(run.design.run_id) == {"choice": 1_004}
