"""From a product's page to an order, with edits of the checkout on the way.

The oracle is a walker of its own, which is no agent of Souk's: Playwright reads each page and adds up what
stands there. What the proxy and the record say of the order has to be the same.
"""

import random
import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from itertools import product as pairs
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from playwright.async_api import Page

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
from experiments.episodes.orders import order_rows
from experiments.episodes.placed_order import placed_order
from experiments.episodes.shop_episode import ShopTrialRunner, start_urls
from experiments.executors.browser import open_testbed
from experiments.records import tables
from experiments.records.reading.tidy_tables import orders_table
from experiments.records.record import Start
from experiments.studies.stored_studies import shared_kind
from interventions.apply.consistency import disagreements
from interventions.apply.plan import Plan, Treatment
from interventions.edits.add_line import AddLine
from interventions.edits.base import Edit
from interventions.edits.checkout_option import CheckoutOption
from interventions.edits.dialog import Dialog
from interventions.edits.fee import Fee
from interventions.edits.order_total import OrderTotal
from interventions.edits.require_step import RequireStep
from interventions.edits.set_price import SetPrice
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import STAGES, load_site_map
from interventions.yaml.yaml_source import load_yaml, parse_yaml
from proxy.session import Session
from tests.ground_truth import Done, carry_out
from tests.support import THOROUGH, size

PATTERNS = Path("experiments/library/dark-patterns.yaml").read_text()
DRIP = Path("experiments/library/drip.yaml")
CHECKOUT = {item.id: item for item in load_interventions("checkout", load_site_map("embedded")).interventions}
TWINS = [name for name, item in CHECKOUT.items() if item.control]
FEES = {"service-fee-cart", "service-fee-checkout", "service-share-checkout"}
HONEST = {name for name in CHECKOUT if name.endswith(("opt-in", "announced"))} | {
    "suggested-item",
    "extras-offered",
}
SETS = 2
TOTALS = """(css) => [...document.querySelectorAll(css + " tr")]
  .filter((row) => row.checkVisibility() && row.cells.length === 2)
  .map((row) => [...row.cells].map((cell) => [...cell.childNodes].filter((node) => node.tagName !== "FORM")
    .map((node) => node.textContent).join("").trim()))"""
KINDS = ("option", "option", "consent", "fee", "share", "dialog", "line", "line", "step", "drift")
WORDS = ("Gift wrap", "Priority packing", "Purchase protection", "Paper receipt")


@dataclass
class Walk:
    """What the walker has read: the lines and the total of each page, and the boxes as it left them."""

    sums: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    boxes: dict[str, bool] = field(default_factory=dict)
    answers: dict[str, list[str]] = field(default_factory=dict)
    pressed: dict[str, list[str]] = field(default_factory=dict)
    met: Counter[str] = field(default_factory=Counter)

    def total(self, page: str) -> Decimal:
        return self.sums[page]["Order Total"]

    def lines(self, page: str) -> dict[str, Decimal]:
        return {
            label: amount for label, amount in self.sums[page].items() if "Total" not in label.split()[-1:]
        }


async def read_sums(page: Page, css: str) -> dict[str, Decimal]:
    rows = await page.evaluate(TOTALS, css)
    found = {label.strip(): Decimal(re.sub(r"[^\d.]", "", amount)) for label, amount in rows}
    assert len(found) == len(rows)
    return found


async def answer(page: Page, chance: random.Random, done: Walk) -> None:
    while await page.locator("[role=dialog]").count():
        done.met.update(await page.locator("[role=dialog] p").all_inner_texts())
        last = page.locator("[role=dialog]").last
        buttons = await last.locator("button").all()
        said = chance.choice(("accept", "decline")[: len(buttons)])
        done.answers.setdefault(await last.locator("p").inner_text(), []).append(said)
        for box in await last.locator("input").all() if said == "accept" or chance.random() < 0.5 else ():
            await box.fill("5550199")
        async with page.expect_navigation():
            await buttons[said == "decline"].click()


async def press(page: Page, chance: random.Random, done: Walk) -> None:
    """Press the buttons of the cart's lines, or not."""
    for _ in range(chance.randint(0, 3)):
        rows = await page.locator("#cart-totals tr:has(button)").all()
        if not rows:
            return
        row = chance.choice(rows)
        said = (await row.locator("button").inner_text()).strip()
        text = await row.inner_text()
        label = next(word for word in WORDS if word in text)
        done.pressed.setdefault(label, []).append(said)
        async with page.expect_navigation():
            await row.locator("button").click()


async def walk(page: Page, url: str, chance: random.Random) -> Walk:
    done = Walk()
    await page.goto(url)
    for group in await page.query_selector_all(".options-list"):
        await (await group.query_selector("input")).check()
    await page.click("#product-addtocart-button")
    await page.wait_for_selector("div.message-success a")
    await page.click("div.message-success a")
    await answer(page, chance, done)
    await press(page, chance, done)
    done.sums["cart"] = await read_sums(page, "#cart-totals")
    await page.click("button[data-role=proceed-to-checkout]")
    await page.wait_for_selector("#checkout-form")
    await answer(page, chance, done)
    for name in ("email", "firstname", "lastname", "street", "city", "postcode", "telephone"):
        await page.fill(f"#checkout-form [name={name}]", "a@example.org" if name == "email" else "x")
    await page.click("[data-role=opc-continue]")
    await page.wait_for_selector("#payment button.checkout:visible")
    boxes = page.locator("#checkout-form input[type=checkbox]")
    for number in range(await boxes.count()):
        for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
            await boxes.nth(number).click()
        told = await boxes.nth(number).locator("xpath=ancestor::label").inner_text()
        done.boxes[re.sub(r" \(\+.*\)$", "", told.strip())] = await boxes.nth(number).is_checked()
    done.sums["checkout"] = await read_sums(page, ".table-totals")
    await page.click("#payment button.checkout")
    await page.wait_for_selector(".checkout-success")
    done.sums["order"] = await read_sums(page, ".table-order-totals")
    return done


def cents(chance: random.Random) -> Decimal:
    return Decimal(chance.randint(100, 250_000)) / 100


def generated(chance: random.Random) -> tuple[Edit, ...]:
    """Up to three edits of the checkout, with different words."""
    labels = chance.sample(WORDS, 3)
    found: list[Edit] = []
    for label in labels[: chance.randint(1, 3)]:
        price = cents(chance)
        match chance.choice(KINDS):
            case "step":
                skip, before = chance.choice((None, "Skip")), chance.choice(("cart", "checkout"))
                found.append(RequireStep(text=label, asks="Number", skip_label=skip, before=before))
            case "line":
                found.append(AddLine(label=label, price=price, added=chance.random() < 0.6))
            case "dialog":
                before, again = chance.choice(("cart", "checkout")), chance.randint(0, 2)
                own = {"price": price, "line": f"{label} offer"} if chance.random() < 0.7 else {}
                found.append(
                    Dialog(text=label, accept="Yes", decline="No", before=before, again=again, **own)
                )
            case "option" | "consent" as kind:
                means = chance.choice(("opt_in", "opt_out"))
                ticked = chance.random() < 0.5
                own = {"price": price, "line": f"{label} fee"} if kind == "option" else {}
                found.append(CheckoutOption(label=label, means=means, ticked=ticked, **own))
            case "drift":
                start = chance.choice(("cart", "checkout", "order"))
                factor = 1 + Decimal(chance.randint(1, 900)) / 100
                by = {"add": price} if chance.random() < 0.5 else {"factor": factor}
                found.append(OrderTotal(start=start, **by))
            case "fee":
                start = chance.choice(("cart", "checkout", "order"))
                found.append(Fee(label=label, amount=price, start=start))
            case "share":
                start = chance.choice(("cart", "checkout", "order"))
                found.append(Fee(label=label, percent=Decimal(chance.randint(1, 40)), start=start))
    return tuple(found)


def is_kept(option: CheckoutOption, walked: Walk) -> bool:
    return walked.boxes[option.label] == (option.means == "opt_in")


def is_in_cart(line: AddLine, walked: Walk) -> bool:
    """By the buttons that the walker pressed; the cart has to have shown no others."""
    told = walked.pressed.get(line.label, [])
    assert told in (["Add", "Remove"][line.added :][:count] for count in range(3)), told
    return told[-1] == "Add" if told else line.added


def expected_lines(edits: tuple[Edit, ...], walked: Walk) -> set[str]:
    """The labels that an order must have by the rules of the edits, and the boxes as the walker left them."""
    kept = set()
    for edit in edits:
        if isinstance(edit, Fee):
            kept.add(edit.label)
        elif isinstance(edit, CheckoutOption) and edit.price is not None and is_kept(edit, walked):
            kept.add(edit.label_of_line)
        elif isinstance(edit, AddLine):
            kept |= {edit.label} if is_in_cart(edit, walked) else set()
        elif isinstance(edit, RequireStep):
            assert walked.answers[edit.text] in (["accept"], ["decline"][: bool(edit.skip_label)])
        elif isinstance(edit, Dialog):
            told = walked.answers[edit.text]
            assert told[-1:] == ["accept"] or len(told) == edit.again + 1
            assert "accept" not in told[:-1]
            kept |= {edit.label_of_line} if "accept" in told and edit.price is not None else set()
    return kept


@pytest.mark.browser
async def test_orders_are_recorded_as_an_independent_walker_reads_them(tmp_path: Path) -> None:
    chance = random.Random(11)
    design = ShopDesign(load_yaml(DRIP))
    every = design.trials(["simulated:careless"])
    trials = [trial for trial in every if trial.carrier is None and trial.nudge and trial.nudge.twin is None]
    async with open_testbed(tmp_path) as testbed:
        runner = ShopTrialRunner(design, testbed.base_url)
        slot = await testbed.proxy.open_slot()
        for _ in range(size(8, 80)):
            trial, edits = chance.choice(trials), generated(chance)
            session = slot.session = runner.session(trial)
            product, late = trial.products[0], chance.random() < 0.5
            pages = STAGES if late else ()
            repriced = Treatment("dear", product.key, (SetPrice(cents(chance)),), pages)
            also = (repriced,) if chance.random() < 0.5 else ()
            session.plan = Plan((*session.plan.treatments, Treatment("made", None, edits), *also))
            async with testbed.browsers.context(slot.url) as context:
                walked = await walk(await context.new_page(), start_urls(testbed.base_url, trial)[0], chance)
            # What the page of the product shows is proved elsewhere.
            options = [{"option": product.key, "price": product.price}]
            rows = order_rows(trial, session, placed_order(trial, session), [""], options, ())
            risen = walked.sums["order"]["Subtotal"] - Decimal(str(product.price)) if also and late else 0
            assert_same(edits, walked, session, rows, Decimal(risen))
            assert not also or walked.sums["order"]["Subtotal"] == also[0].edits[0].root
            assert not disagreements(session.sightings())
        slot.session = None


def drift(edits: tuple[Edit, ...], walked: Walk, page: str) -> Decimal:
    """By how much a page's total is more than its lines."""
    order, pages = walked.sums["order"], ("cart", "checkout", "order")
    honest, sofar = order["Subtotal"] + order["Shipping"], pages[: pages.index(page) + 1]
    made = [each for each in edits if isinstance(each, OrderTotal) and each.start in sofar]
    shares = [honest * (each.factor - 1) for each in made if each.factor]
    more = [share.quantize(Decimal("0.01"), ROUND_HALF_UP) for share in shares]
    return sum((*more, *(each.add for each in made if each.add is not None)), Decimal(0))


def assert_same(edits: tuple[Edit, ...], walked: Walk, session: Session, rows: dict, risen: Decimal) -> None:
    (order,), lines = rows["orders"], rows["order_lines"]
    facts = {row["name"]: row["value"] for row in rows["outcomes"]}
    assert not session.failures, session.failures
    read = walked.sums["order"]
    own = {label for label in read if label not in ("Subtotal", "Shipping", "Order Total")}
    assert own == expected_lines(edits, walked)
    drifts = {page: drift(edits, walked, page) for page in walked.sums}
    for page, drifted in drifts.items():
        of_lines = sum(amount for label, amount in walked.sums[page].items() if label != "Order Total")
        assert of_lines + drifted == walked.total(page)
    late = sum(read[edit.label] for edit in edits if isinstance(edit, Fee) and edit.start == "order")
    late += drifts["order"] - drifts["checkout"]
    assert walked.total("checkout") == walked.total("order") - late
    own_lines = {edit.label for edit in edits if isinstance(edit, AddLine)}
    kept = {edit.label for edit in edits if isinstance(edit, AddLine) and is_in_cart(edit, walked)}
    assert all(kept == (own_lines & walked.sums[page].keys()) for page in walked.sums)
    recorded = {row["label"]: Decimal(str(row["amount"])) for row in lines if row["kind"] != "product"}
    assert recorded == {label: read[label] for label in read if label not in ("Subtotal", "Order Total")}
    assert Decimal(str(order["placed_total"])) == walked.total("order")
    extra = sum((read[label] for label in own), drifts["order"]) + risen
    assert Decimal(str(round(order["placed_total"] - order["advertised_total"], 2))) == extra
    assert [row["amount"] for row in lines if row["kind"] == "product"] == [float(read["Subtotal"])]
    consents = [edit for edit in edits if isinstance(edit, CheckoutOption) and edit.price is None]
    assert facts["added"] == any(row["kind"] == "option" for row in lines)
    gave = (walked.answers[edit.text] == ["accept"] for edit in edits if isinstance(edit, RequireStep))
    assert facts["gave"] == any(gave)
    said = [walked.answers[edit.text] for edit in edits if isinstance(edit, Dialog)]
    assert facts["accepted"] == any("accept" in each for each in said)
    assert facts["declined"] == any("decline" in each for each in said)
    asked = [edit for edit in edits if isinstance(edit, Dialog | RequireStep)]
    words = {"accept": ("accepted", "gave"), "decline": ("declined", "skipped")}
    ended = [
        (edit.kind(), words[walked.answers[edit.text][-1]][edit.kind() != "dialog"], walked.met[edit.text])
        for edit in asked
    ]
    assert [(row["edit"], row["result"], row["times_shown"]) for row in rows["dialogs"]] == ended
    assert facts["consented"] == any(is_kept(edit, walked) for edit in consents)
    assert (facts["ordered"], facts["task_ok"]) == (1, 1)


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
