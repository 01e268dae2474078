"""Cards in the browser: what the proxy shows and takes gives the same trials and tables as prompts do."""

from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy as sql
from rich.console import Console

from experiments.records.reading.tidy_tables import response_table, tidy_table
from experiments.records.tables import answers, receipts, steps
from experiments.runs.experiment_run import ExperimentRun
from tests.experiments.executors.test_text import BIASES, HOTELS, WTP
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_driver")]

HOTEL_TRIALS = size(6, 12)
KEPT = ["trial", "agent", "set", "option", "position", "price", "rating", "reviews", "condition", "repeat"]


async def ended(folder: Path, text: str, agent: str, limit: int, mode: str) -> ExperimentRun:
    """A run of the experiment in this mode, to its end."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240
    (folder / "x.yaml").write_text(text.replace("mode: text", f"mode: {mode}"))
    run = ExperimentRun(
        str(folder / "x.yaml"), agents=[agent], limit=limit, db=f"sqlite:///{folder}/t.db", out=folder
    )
    await run.run(Console(quiet=True), None)
    return run


async def both(folder: Path, text: str, agent: str, limit: int) -> tuple[ExperimentRun, ExperimentRun]:
    """The same experiment as pages and as prompts."""
    page, prompt = [await ended(folder / mode, text, agent, limit, mode) for mode in ("page", "text")]
    assert page.records.outcomes(page.design.run_id).keys() <= {"choice", "agent_error"}
    return page, prompt


@pytest.fixture(scope="module")
async def hotels(tmp_path_factory: pytest.TempPathFactory) -> tuple[ExperimentRun, ExperimentRun]:
    return await both(tmp_path_factory.mktemp("hotels"), HOTELS, "simulated:balanced", HOTEL_TRIALS)


@pytest.mark.thorough
def test_hotels_are_the_same_trials_with_the_same_choices(
    hotels: tuple[ExperimentRun, ExperimentRun],
) -> None:
    page, prompt = (tidy_table(run.records, run.design.run_id) for run in hotels)
    assert list(page) == list(prompt)
    shown = [*KEPT, "chosen", *(name for name in page if name.startswith("attr_"))]
    pd.testing.assert_frame_equal(page[shown], prompt[shown])


def test_a_page_leaves_a_receipt_and_a_trace(hotels: tuple[ExperimentRun, ExperimentRun]) -> None:
    page, _ = hotels
    with page.records.engine.connect() as connection:
        shown = connection.execute(sql.select(receipts)).mappings().all()
        seen = connection.execute(sql.select(steps).where(steps.c.step == 0)).mappings().all()
    assert {(row["intervention"], row["edit"], row["page_type"]) for row in shown} == {
        ("hotel-choice", "card", "card")
    }
    assert len({row["trial"] for row in shown}) == len(seen) == HOTEL_TRIALS
    assert all(len(row["page_hash_after"]) == 32 for row in shown)
    assert "Price per night" in page.records.artifact(seen[0]["observation"])


@pytest.mark.thorough
async def test_willingness_to_pay_is_asked_on_the_products_page_without_its_price(tmp_path: Path) -> None:
    page, prompt = await both(tmp_path, WTP, "simulated:anchored", size(6, 9))
    columns = ["trial", "item", "condition", "repeat", "response", "reference", "low", "high"]
    tables = [response_table(run.records, run.design.run_id) for run in (page, prompt)]
    assert list(tables[0]) == list(tables[1])
    pd.testing.assert_frame_equal(tables[0][columns], tables[1][columns])
    with page.records.engine.connect() as connection:
        seen = connection.execute(sql.select(steps)).mappings().all()
        edits = set(connection.scalars(sql.select(receipts.c.edit)))
    assert edits == {"ask", "remove"}
    prices = {f"{price:.2f}" for price in tables[0]["reference"]}
    for row in seen:
        if "/.souk/" not in row["url"]:
            assert not [price for price in prices if price in page.records.artifact(row["observation"])]


@pytest.mark.thorough
async def test_an_invalid_answer_is_told_on_the_page_and_recorded(tmp_path: Path) -> None:
    # Where there are letters a page has buttons, and no answer can be invalid.
    numbers = BIASES.replace("[anchoring, framing]", "[anchoring, endowment]")
    # With seed 8 one of the first 16 answers is invalid.
    numbers = numbers.replace("valid: 12", f"valid: {size(4, 12)}").replace("seed: 3", f"seed: {size(8, 3)}")
    page, prompt = await both(tmp_path, numbers, "simulated:biased", size(16, 48))
    tables = [response_table(run.records, run.design.run_id) for run in (page, prompt)]
    columns = ["trial", "item", "condition", "response", "reason"]
    pd.testing.assert_frame_equal(tables[0][columns], tables[1][columns])
    assert tables[0]["response"].isna().any(), "no simulated answer was invalid; take more trials"
    with page.records.engine.connect() as connection:
        refused = connection.execute(sql.select(answers).where(answers.c.value.is_(None))).mappings().all()
        last = connection.execute(
            sql.select(steps).where(steps.c.trial == refused[0]["trial"]).order_by(steps.c.step.desc())
        ).mappings()
        shown = page.records.artifact(next(iter(last))["observation"])
    assert "This answer cannot be taken" in shown
