"""What the proxy and the record say of an order is what a walker of its own reads on each page.

It is no agent of Souk's: Playwright reads each page, and the test adds up what stands there.
"""

import random
import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from playwright.async_api import Page

from experiments.designs.shop.design import ShopDesign
from experiments.episodes.orders import order_rows
from experiments.episodes.placed_order import placed_order
from experiments.episodes.shop_episode import ShopTrialRunner, start_urls
from experiments.executors.browser import open_testbed
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
from interventions.yaml.sitemap import STAGES
from interventions.yaml.yaml_source import load_yaml
from proxy.session import Session
from tests.support import size

DRIP = Path("experiments/library/drip.yaml")
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
    for again in range(chance.choice((1, 1, 2))):
        if again:
            await page.reload()
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
