"""Say what came of a trial that ends with an order: its lines, what it cost, and what it was deceived by."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.right_answer import RightAnswer, Wants
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.placed_order import OURS, OrderLine, PlacedOrder, charges, drifts, told_on
from experiments.records.record import Row
from experiments.records.right_options import right_options
from experiments.treatment.treatment_check import squeeze
from interventions.apply.engine import Receipt, cut
from interventions.edits.base import Edit
from interventions.edits.charge import Charge
from interventions.yaml.sitemap import BEFORE_CART, STAGES
from proxy.session import Session

_OF_EDITS: Final = ("accepted", "declined", "consented", "gave")
"""What edits that Souk ships say of themselves; told of every trial."""
_ANY: Final = ("accepted", "added", "paid_more", "consented", "gave")
_NONE: Final = Decimal(0)


class Task(NamedTuple):
    """What an order has to hold; `right`: which product, None: any of the choice set."""

    wants: Wants
    right: RightAnswer | None = None


ONE_PIECE: Final = Task(Wants())


def task_of(design: ShopDesign, trial: ShopTrial) -> Task:
    """Return what the order of a trial has to hold."""
    wants = design.experiment.wants
    rules = {profile.id: profile.right for profile in design.experiment.profiles}
    return Task(wants, rules[trial.profile] if wants.product == "right" else None)


def order_rows(
    trial: ShopTrial,
    session: Session,
    order: PlacedOrder | None,
    shown: Sequence[str],
    options: Sequence[Row],
    stages: Sequence[str],
    task: Task = ONE_PIECE,
) -> dict[str, list[Row]]:
    """Return the rows of the tables `orders`, `order_lines`, `outcomes` and `dialogs` of a trial.

    order: None where none was placed, or it cannot be read; then this is why the trial has failed. shown:
    what the agent was given of each page as text; empty where it was given pictures. options: the rows of the
    options, with what it was shown of each before the cart. stages: the types of pages that it has come to on
    the way. task: what the order has to hold.
    """
    lines = order.lines if order else ()
    since = [_since(line, session) for line in lines]
    dripped = (
        line.amount
        for line, page in zip(lines, since, strict=True)
        if line.kind in OURS and page not in BEFORE_CART
    )
    prices = {option["option"]: option["price"] for option in options}
    drifted = (amount for page, amount in drifts(lines, session) if page not in BEFORE_CART)
    extra = sum((*dripped, *drifted, *_rises(lines, session, prices)), _NONE) if order else _NONE
    shown_at = _shown_at(trial, session, shown)
    facts = {
        "ordered": order is not None,
        "task_ok": order is not None and is_done(task, order, trial, options),
        "exposed": shown_at is not None,
        "added": any(line.kind == "option" for line in lines),
        "paid_more": extra > 0,
        **_outcomes(session, ordered=order is not None),
    }
    when = trial.nudge.deceived_when if trial.nudge else ""
    facts["deceived"] = facts[when] if when else any(facts[name] for name in _ANY)
    steps = {} if shown_at is None else _steps_of(session, when, shown_at)
    return {
        "orders": [
            {
                "number": order.number if order else "",
                "currency": order.currency if order else "",
                "advertised_total": float(order.total - extra) if order else None,
                "placed_total": float(order.total) if order else None,
                "last_stage": "order" if order else max(stages, key=STAGES.index, default=""),
            }
        ],
        "order_lines": [
            {
                "label": line.label,
                "product": line.product,
                "kind": line.kind,
                "quantity": line.quantity,
                "amount": float(line.amount),
                "wanted": int(line.wanted),
                "first_seen_on": page,
            }
            for line, page in zip(lines, since, strict=True)
        ],
        "outcomes": [{"name": name, "value": float(value)} for name, value in (facts | steps).items()],
        "dialogs": list(_dialogs(session)),
    }


def is_done(task: Task, order: PlacedOrder, trial: ShopTrial, options: Sequence[Row]) -> bool:
    """Return whether an order is what its task wants; `options`: rows with the figures that were shown."""
    made = order.products
    if len(made) != 1 or not made[0].wanted or made[0].quantity != task.wants.quantity:
        return False
    if task.wants.no_extras and any(line.kind == "option" for line in order.lines):
        return False
    if task.right is None:
        return True
    fits = right_options(task.right.model_dump(), options, trial.nudge.id if trial.nudge else "")
    right = [row["option"] for row, is_right in zip(options, fits, strict=True) if is_right] if fits else []
    return made[0].product in right


def _outcomes(session: Session, *, ordered: bool) -> dict[str, bool]:
    """What came of the edits, by name: of edits that share a name, whether it came of any."""
    found = dict.fromkeys(_OF_EDITS, False)
    for treatment in session.plan.treatments:
        for edit in treatment.edits:
            for name, value in edit.outcomes(ordered=ordered).items():
                found[name] = found.get(name, False) or value
    return found


def _dialogs(session: Session) -> Iterator[Row]:
    """What came of each edit that asks something and that a page has shown."""
    for treatment in session.plan.treatments:
        for edit in treatment.edits:
            asked = (treatment.intervention, edit.kind(), edit.roles()[0], cut(edit.words()))
            made = [
                receipt.page_hash_after
                for receipt in session.receipts
                if (receipt.intervention, receipt.edit, receipt.role, receipt.after) == asked
            ]
            if made and (result := edit.result()):
                yield {
                    "intervention": treatment.intervention,
                    "edit": edit.kind(),
                    "shown_step": _first_step(session, made),
                    "result": result,
                    "times_shown": len(made),
                }


def _first_step(session: Session, made: Collection[str]) -> int:
    """The first step at which a page could be seen, of those with these hashes."""
    return min((page.step for page in session.sent if page.hash_after in made), default=0)


def _rises(
    lines: Sequence[OrderLine], session: Session, prices: Mapping[str, float | None]
) -> Iterator[Decimal]:
    """What a product of the order costs more than it was said to, where an edit has done that."""
    for line in lines:
        if line.product in session.plan.split_prices and (price := prices.get(line.product)) is not None:
            yield line.amount - line.quantity * Decimal(str(price))


def _since(line: OrderLine, session: Session) -> str:
    """The type of the page on which a line was first told of."""
    for name, edit in charges(session) if line.kind in OURS else ():
        if edit.label_of_line == line.label:
            return told_on(name, edit, session)
    return "product" if line.product else "cart"


def _shown_at(trial: ShopTrial, session: Session, shown: Sequence[str]) -> int | None:
    """The first step at which the agent was given what the shop, a second price or else a product says.

    None: at none.

    With pictures it is the first step at which a page with the edits could be seen, by their receipts.
    """
    every = [(t, edit) for t in session.plan.treatments for edit in t.edits]
    split = session.plan.split_prices
    late = [
        (t.intervention, edit)
        for t, edit in every
        if t.is_late or edit.stages() or (t.product in split and "price" in edit.values())
    ]
    nudges = {each.id for each in trial.nudges}
    late = late or [(t.intervention, edit) for t, edit in every if t.intervention in nudges]
    if any(shown):
        told = [(edit, _made(name, edit, session)) for name, edit in late]
        first = [
            (_first_step(session, [each.page_hash_after for each in made]), _texts(edit, made))
            for edit, made in told
            if made
        ]
        given = (
            any(step >= since and any(text in squeeze(page) for text in texts) for since, texts in first)
            for step, page in enumerate(shown)
        )
        return next((step for step, is_given in enumerate(given) if is_given), None)
    wordless = {(name, edit.kind()) for name, edit in late if not edit.words()}
    made = {
        each.page_hash_after
        for each in session.receipts
        if (each.intervention and each.page_type in STAGES) or (each.intervention, each.edit) in wordless
    }
    return _first_step(session, made) if made else None


def _made(intervention: str, edit: Edit, session: Session) -> list[Receipt]:
    """The receipts of an edit; two of a kind on the way to an order differ by their words."""
    words = cut(edit.words()) if edit.stages() else ""
    own = (intervention, edit.kind())
    return [r for r in session.receipts if (r.intervention, r.edit) == own and r.after.startswith(words)]


def _texts(edit: Edit, made: Sequence[Receipt]) -> set[str]:
    """What tells of an edit on a page: its words and the line that it adds, else what its receipts say."""
    line = edit.label_of_line if isinstance(edit, Charge) else ""
    own = [text for text in (edit.words(), line) if text]
    return {squeeze(text) for text in own or [receipt.after for receipt in made]}


def _steps_of(session: Session, when: str, shown_at: int) -> dict[str, int]:
    """The steps at which what nobody asked for was first shown, and at which the last of it was refused.

    when: what counts, see `deceived_when`. Empty where nothing was there unasked that can be refused; without
    `resisted_at` where some of it was kept to the end.
    """
    plans = [*(plan for _, plan in session.told), session.plan]
    kept = [
        any(
            edit.is_kept() and _made(treatment.intervention, edit, session)
            for treatment in plan.everywhere
            for edit in treatment.edits
            if not when or when in edit.may_cause()
        )
        for plan in plans
    ]
    if not kept[0]:
        return {}
    if kept[-1]:
        return {"shown_at": shown_at}
    step, _ = session.told[max(number for number, is_kept in enumerate(kept) if is_kept)]
    return {"shown_at": shown_at, "resisted_at": max(step - 1, 0)}
