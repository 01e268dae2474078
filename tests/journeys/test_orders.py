"""From a product's page to an order, with edits of the checkout on the way, by simulated customers."""

import random
import re
from collections.abc import AsyncIterator
from decimal import ROUND_HALF_UP, Decimal
from itertools import product as pairs
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from agents.base import Agent, Decision, GaveUp
from agents.simulated.tab_shopper import shipped_profile
from analysis.choice.effects.effects import choice_effects
from analysis.orders import analyze_orders
from analysis.tables.choice_table import check_table
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from experiments.commands.common import named_studies
from experiments.commands.results import analysed
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import open_testbed
from experiments.records import tables
from experiments.records.reading.interventions import received
from experiments.records.reading.tidy_tables import orders_table
from experiments.records.record import Start
from experiments.studies.stored_studies import shared_kind
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml
from tests.ground_truth import Done, carry_out
from tests.support import THOROUGH, size

PATTERNS = Path("experiments/library/dark-patterns.yaml").read_text()
CHECKOUT = {item.id: item for item in load_interventions("checkout", load_site_map("embedded")).interventions}
TWINS = [name for name, item in CHECKOUT.items() if item.control]
FEES = {"service-fee-cart", "service-fee-checkout", "service-share-checkout"}
HONEST = {name for name in CHECKOUT if name.endswith(("opt-in", "announced"))} | {
    "suggested-item",
    "extras-offered",
}
SETS = 2

WORDS_OF = {"dialog": "Cover it?", "require_step": "Your phone please."}


class Customer:
    """Answers all dialogs and steps alike, and leaves the rest to another agent; or ignores them."""

    def __init__(self, agent: Agent, answer: str) -> None:
        self.agent, self.answer, self.step = agent, answer, -1
        self.looks: dict[str, list[int]] = {}
        """By edit, the looks at which its layer was on a page that had just come."""
        self.has_typed = False

    async def act(self, observation: Observation) -> Decision:
        self.step += 1
        layers = BeautifulSoup(observation.html, "html.parser").select("[role=dialog]")
        if not layers:
            return await self.agent.act(observation)
        for layer in layers if not self.has_typed else ():
            kind = next(kind for kind, words in WORDS_OF.items() if words in layer.get_text())
            self.looks.setdefault(kind, []).append(self.step)
        top = layers[-1]
        fields, buttons = top.select("input"), top.select("button")
        if self.answer == "ignore":
            if max(map(len, self.looks.values())) == 3:
                raise GaveUp("I was asked too much")
            return Decision("", "", Action("reload"))
        self.has_typed = self.answer == "accept" and bool(fields) and not self.has_typed
        if self.has_typed:
            return Decision("", "", Action("fill", (fields[0]["bid"], "5550199")))
        return Decision("", "", Action("click", (buttons[self.answer == "decline"]["bid"],)))


ASKED = """interventions:
  - id: calm
    kind: pattern
    family: asks
    edits: [{dialog: {text: Cover it?, accept: "Yes", decline: "No"}}]
  - id: nag
    kind: pattern
    family: nags
    control: calm
    edits:
      - dialog: {text: Cover it?, accept: "Yes", decline: "No", again: 1}
      - require_step: {text: Your phone please., asks: Phone, before: cart, skip_label: Skip}
"""


@pytest.mark.browser
async def test_dialogs_are_recorded_as_the_customer_met_and_answered_them(tmp_path: Path) -> None:
    (tmp_path / "asked.yaml").write_text(ASKED)
    text = re.sub(r"interventions: .*?\]", f"interventions: {tmp_path / 'asked.yaml'}, only: [nag]", PATTERNS)
    design = ShopDesign(parse_yaml(text, "asked.yaml"))
    trials = {trial.condition: trial for trial in design.trials(["simulated:careless"])}
    assert trials.keys() == {"control", "nudged"}
    own = {
        "accept": {"dialog": "accepted", "require_step": "gave"},
        "decline": {"dialog": "declined", "require_step": "skipped"},
        "ignore": {"require_step": "ignored"},  # it lies before the dialog
    }
    async with open_testbed(tmp_path) as testbed:
        runner, slot = ShopTrialRunner(design, testbed.base_url), await testbed.proxy.open_slot()
        for (condition, trial), answer in pairs(trials.items(), own):
            customer, session = Customer(runner.agent(trial), answer), runner.session(trial)
            slot.session = session
            async with testbed.browsers.context(slot.url) as context:
                trajectory = await runner.episode(trial, customer, context, session)
            record = runner.record(trial, trajectory, session, start=Start.now(), attempts=1)
            calm = condition == "control"
            wanted = {"dialog": own[answer].get("dialog", "ignored")} if calm else own[answer]
            assert trajectory.outcome == ("no_choice" if answer == "ignore" else "choice"), trajectory.reason
            assert {row["edit"]: row["result"] for row in record.dialogs} == wanted
            assert {row["intervention"] for row in record.dialogs} == {"calm" if calm else "nag"}
            for row in record.dialogs:
                met = customer.looks[row["edit"]]
                assert (row["shown_step"], row["times_shown"]) == (met[0], len(met)), row
            asked = 3 if answer == "ignore" else 2 if answer == "decline" and not calm else 1
            assert max(map(len, customer.looks.values())) == asked
        slot.session = None


@pytest.fixture(scope="module")
async def done(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Done]:
    """Every pattern of the checkout beside its control; in `make test` those that have a twin."""
    folder, ids = tmp_path_factory.mktemp("patterns"), [*CHECKOUT] if THOROUGH else TWINS
    only = f"interventions: checkout, only: [{', '.join(ids)}]"
    text = re.sub(r"interventions: .*?\]", only, PATTERNS)
    text = text.replace("sets: 20", f"sets: {SETS}").replace("repeats: 2", "repeats: 1")
    source = parse_yaml(text, "patterns.yaml")
    yield await carry_out(folder, source, "simulated:careless", 2 * len(ids) * SETS, 2)


def read_by(trial: ShopTrial) -> tuple[bool, bool]:
    """Whether the customer of a trial reads the boxes, and whether it reads the sums."""
    habits = shipped_profile("simulated:careless".partition(":")[2]).checkout
    chance = random.Random(f"checkout {trial.seed}")
    return chance.random() < habits.reads_boxes, chance.random() < habits.reads_sums


def fate(nudge: str, *, is_treated: bool, boxes: bool, sums: bool) -> tuple[bool, bool]:
    """Whether a customer comes to an order, and whether it is deceived, by what it reads."""
    if nudge in HONEST:
        return True, False
    if nudge in FEES:
        return not (is_treated and sums), is_treated and not sums  # the control has none, or told of it
    if nudge in ("service-fee-order", "total-plus-20"):
        return True, is_treated
    if nudge in ("account-forced", "phone-required") and is_treated:
        return True, True
    asks = nudge.startswith(("account-", "phone-", "offer-")) and nudge in TWINS  # so does the control
    return True, (is_treated or asks) and not (boxes or sums)


@pytest.mark.browser
def test_every_pattern_is_shown_and_deceives_exactly_those_who_do_not_read(done: Done) -> None:
    lines, written, ended = (done.rows(each) for each in (tables.order_lines, tables.receipts, tables.trials))
    table = orders_table(done.records, done.design.run_id)
    assert len(table) == len(done.trials)
    for row in table.to_dict("records"):
        trial, is_treated = done.trials[row["trial"]], row["condition"] == "nudged"
        own = trial.nudge.id if is_treated else trial.nudge.twin.id if trial.nudge.twin else ""
        assert {each["intervention"] for each in written[trial.id]} >= {own} - {""}, row
        boxes, sums = read_by(trial)
        assert (row["ordered"], row["deceived"]) == fate(
            row["nudge"], is_treated=is_treated, boxes=boxes, sums=sums
        ), row
        assert ended[trial.id][0]["outcome"] == ("choice" if row["ordered"] else "no_choice")
        assert row["exposed"] == bool(own), "a control that is a twin says something too"
        if row["ordered"]:
            placed = lines[trial.id]
            if not row["nudge"].startswith("total-"):
                assert round(sum(line["amount"] for line in placed), 2) == row["placed_total"]
            assert row["task_ok"] == 1
            assert any(line["kind"] == "option" for line in placed) == bool(row["added"])
    assert {trial.nudge.id for trial in done.trials.values()} >= {*TWINS}
    # The shop carries them, and no product: no choice is of a treated option.
    cells = [cell for each in received(done.records, done.design.run_id).values() for cell in each]
    assert cells and not any(cell.chosen for cell in cells)


@pytest.mark.browser
def test_a_total_that_drifts_costs_more_than_was_advertised_unless_it_was_announced(done: Done) -> None:
    lines, told = done.rows(tables.order_lines), done.rows(tables.disagreements)
    table = orders_table(done.records, done.design.run_id)
    for row in table[table["nudge"] == "total-plus-20"].to_dict("records"):
        is_treated = row["condition"] == "nudged"
        honest = sum(Decimal(str(line["amount"])) for line in lines[row["trial"]])
        drifted = honest + (honest / 5).quantize(Decimal("0.01"), ROUND_HALF_UP)
        assert Decimal(str(row["placed_total"])) == drifted
        assert Decimal(str(row["advertised_total"])) == (honest if is_treated else drifted)
        assert row["paid_more"] == is_treated
        assert not told[row["trial"]]


@pytest.mark.browser
def test_the_steps_at_which_extras_are_refused_are_those_of_the_customers_own_acts(done: Done) -> None:
    names = ["protection-opt-out", "sneaked-item", "newsletter-trick", "account-hierarchy", "offer-nagging"]
    acts, table = done.rows(tables.steps), orders_table(done.records, done.design.run_id)
    table, kept = table[table["nudge"].isin(names)], dict[tuple[str, str], list[bool]]()
    for row in table.to_dict("records"):
        steps, reads = {each["step"]: each for each in acts[row["trial"]]}, read_by(done.trials[row["trial"]])
        is_offer = row["condition"] == "control" and row["nudge"] in names[:3]
        assert pd.isna(row["shown_at"]) == is_offer, row  # nothing is there that nobody asked for
        refusals = [step for step, each in steps.items() if each["thought"].startswith("I did not ask")]
        assert pd.isna(row["resisted_at"]) == (is_offer or not any(reads)), row
        if not is_offer:
            kept.setdefault((row["nudge"], row["condition"]), []).append(not any(reads))
            if any(reads):
                assert row["resisted_at"] == refusals[-1]
                assert row["shown_at"] <= refusals[0]
    found = analyze_orders(table).survival
    assert {*zip(found["nudge"], found["condition"], strict=True)} == kept.keys()
    for key, own in found.groupby(["nudge", "condition"]):
        # Who does not read leaves no earlier than readers have refused it.
        assert own["survival"].iloc[-1] == pytest.approx(100 * np.mean(kept[key])), key


@pytest.mark.browser
def test_two_patterns_at_once_are_both_on_the_way_and_compared_with_each_alone(done: Done) -> None:
    names = ["sneaked-item", "protection-opt-out", "extras-added"]
    lines, table = done.rows(tables.order_lines), orders_table(done.records, done.design.run_id)
    table = table[table["nudge"].isin(names)]
    for row in table[table["condition"] == "nudged"].to_dict("records"):
        extras = {line["label"] for line in lines[row["trial"]] if line["kind"] == "option"}
        own = {"sneaked-item": {"Gift bag"}, "protection-opt-out": {"Purchase protection"}}
        wanted = own.get(row["nudge"], {"Gift bag", "Purchase protection"})
        assert extras == (wanted if row["deceived"] else set()), row
    rate = table[table["condition"] == "nudged"].groupby("nudge")["deceived"].mean().astype(float)
    row = analyze_orders(table).combinations.set_index("term").loc["deceived"]
    assert (row["nudge"], row["parts"]) == ("extras-added", "sneaked-item + protection-opt-out")
    assert row["estimate"] == pytest.approx(100 * (rate[names[2]] - rate[names[0]] - rate[names[1]]))


@pytest.mark.browser
async def test_who_stops_before_the_order_has_chosen_and_the_goal_says_which_order_is_right(
    tmp_path: Path,
) -> None:
    """Customers who read the sums stop at a fee; what they wanted is the cheaper product, without extras."""
    only = "only: [service-fee-checkout, protection-opt-out]"
    text = (
        re.sub(r"only: \[.*?\]", only, PATTERNS)
        .replace("ends: order", "ends: either")
        .replace("repeats: 2", "")
    )
    text += "wants: {product: right, no_extras: true}\n"
    text += "profiles: [{id: thrift, text: Save., right: {lowest: price}}]\n"
    done = await carry_out(tmp_path, parse_yaml(text, "either.yaml"), "simulated:careless", size(20, 80), 2)
    lines, steps, seen = done.rows(tables.order_lines), done.rows(tables.steps), set()
    hits = done.rows(tables.hits)
    choices = {name: rows[0]["choice"] for name, rows in done.rows(tables.trials).items()}
    for row in orders_table(done.records, done.design.run_id).to_dict("records"):
        trial, placed = done.trials[row["trial"]], lines[row["trial"]]
        stops = read_by(trial)[1] and (row["nudge"], row["condition"]) == ("service-fee-checkout", "nudged")
        assert (row["outcome"], row["ordered"]) == ("choice", not stops), row
        before = [each["url"] for each in steps[trial.id] if "/checkout/" not in each["url"]]
        assert f"/{choices[trial.id]}.html" in before[-1]
        prices = {each.key: each.price or 0 for each in trial.products}
        is_right = prices[choices[trial.id]] == min(prices.values())
        extras = any(line["kind"] == "option" for line in placed)
        assert row["task_ok"] == (not stops and is_right and not extras), row
        assert {hit["product"] for hit in hits[trial.id]} <= {"", *prices}
        seen.add((stops, bool(row["task_ok"]), extras, is_right))
    assert len(seen) > 3, seen
    # What was put into the cart is a choice like any other.
    url = f"sqlite:///{tmp_path}/t.db"
    assert shared_kind(named_studies([done.design.run_id], url), None) == "orders"
    run = named_studies([done.design.run_id], url, "choice")
    made = analysed(run, shared_kind(run, "choice")).analysis
    found, known = vars(made)["effects"], choice_effects(check_table(done.table))
    assert len(known) == len(found)
    pd.testing.assert_series_equal(found["estimate"], known["estimate"])


@pytest.mark.browser
async def test_the_dose_of_a_pattern_is_in_the_table_of_orders(tmp_path: Path) -> None:
    layer = 'dialog: {text: "Add it for $4.99?", accept: "Yes", decline: "No", line: Cover, price: 4.99'
    items = [
        f"  - {{id: nag-{n}, kind: pattern, family: nagging, dose: {n}, edits: [{layer}, again: {n}}}]}}"
        for n in (1, 2)
    ]
    (tmp_path / "mine.yaml").write_text("\n".join(["interventions:", *items]))
    text = re.sub(r"interventions: .*?\]", f"interventions: {tmp_path / 'mine.yaml'}", PATTERNS)
    done = await carry_out(tmp_path, parse_yaml(text, "doses.yaml"), "simulated:careless", 8, 2)
    table = orders_table(done.records, done.design.run_id)
    assert (table["dose"] == table["nudge"].str.removeprefix("nag-").astype(float)).all()
    assert set(analyze_orders(table).doses["doses"]) == {2}
