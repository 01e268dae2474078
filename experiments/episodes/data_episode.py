"""Run one trial without pages: bind the plan, open the shop's data or its tools, let the agent act, judge."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, Final

from agents.base import Agent
from environments.episode import TabObservation
from environments.interfaces.episode import DataEpisode, ShopFailure, open_episode
from environments.protocol.shown_data import LineData, ProductData, lines_in, products_in
from environments.protocol.time_limit import NOBODY, Silent
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.orders import order_rows, task_of
from experiments.episodes.placed_order import order_in_answer
from experiments.episodes.shop_record import option_row, shop_record
from experiments.records.record import Row, Start, TrialRecord
from experiments.treatment.trajectory import (
    Trajectory,
    act_until,
    failed_on_the_way,
    limited,
    trace,
)
from experiments.treatment.treatment_check import squeeze
from interventions.apply.plan import tool_key
from interventions.authoring.page_facts import ShownFacts
from interventions.edits.base import Edit
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import STAGES
from proxy.allow_list import AllowList
from proxy.session import Session

_OF_DATA: Final = {"price": 0.005, "rating": 0.5, "reviews": 0.5}
"""How far a figure that was read may be from the one that was planned."""


def data_session(design: ShopDesign, trial: ShopTrial, allow: AllowList) -> Session:
    """Make the session that makes a trial's edits in answers without pages."""
    return Session(design.plan(trial), design.data_site, allow)


def item_ids(design: ShopDesign, trial: ShopTrial) -> dict[str, str]:
    """Return the id of each of a trial's products in the embedded shop -> the product's key, in order."""
    skus = {product.key: product.sku for product in design.shop.catalogue.products}
    return {skus[product.key]: product.key for product in trial.products}


def planned_names(trial: ShopTrial, session: Session) -> dict[str, str]:
    """Return the name of each product as the trial shows it, by the product's key."""
    names = {product.key: product.name for product in trial.products}
    for treatment in session.plan.treatments:
        for edit in treatment.edits if not treatment.is_late else ():
            if treatment.product in names and (name := edit.values().get("name")):
                names[treatment.product] = str(name)
    return names


async def run_episode(
    trial: ShopTrial,
    design: ShopDesign,
    agent: Agent,
    session: Session,
    base_url: str,
    proxy: str,
    silent: Silent = NOBODY,
) -> Trajectory:
    """Run one episode whose traffic passes through the session's proxy port, at `proxy`."""
    trajectory, ids = Trajectory(), item_ids(design, trial)
    names = planned_names(trial, session)
    wanted = {each: names[key] for each, key in ids.items()}
    episode: DataEpisode | None = None
    try:
        async with limited(trajectory, design.most_seconds, silent):
            to_order = design.experiment.to_order
            opened = open_episode(trial.interface, trial.goal, base_url, wanted, proxy, orders=to_order)
            async with opened as episode:
                over = partial(_is_over, episode=episode, session=session)
                end = "an order" if to_order else "a choice"
                await act_until(over, trajectory, episode, agent, most_steps=design.most_steps, wanted=end)
                if episode.end:
                    said = "the order was placed" if to_order else "it stands in the shop's answer"
                    trajectory.end("choice", said)
    except ShopFailure as failure:
        trajectory.fail("shop", str(failure))
    if episode:
        if episode.order or (design.experiment.ends == "either" and episode.cart):
            trajectory.end_on_the_way(ordered=bool(episode.order))
        judge(trajectory, trial, episode, session, ids)
    failed_on_the_way(trajectory, session)
    return trajectory


def _is_over(_: TabObservation, episode: DataEpisode, session: Session) -> bool:
    session.step += 1
    return bool(episode.end or session.failures)


def judge(
    trajectory: Trajectory, trial: ShopTrial, episode: DataEpisode, session: Session, ids: dict[str, str]
) -> None:
    """Correct the outcome of a choice once the treatment is checked."""
    if trajectory.outcome != "choice":
        return
    last = [episode.order] if episode.order else [*episode.carts.values()]
    given = [*_given(trajectory), *last]
    keys = _by_id(episode.answers, ids)
    chosen = list(dict.fromkeys(keys.get(line.id, "") for text in last for line in lines_in(text)))
    if len(chosen) != 1 or not chosen[0]:
        what = f"{len(chosen)} products" if all(chosen) else "not in the choice set"
        trajectory.end("no_choice", f"put into the cart: {', '.join(map(repr, chosen))}, {what}")
    elif reason := (
        untreated_tools(trajectory, session)
        or untreated(given, session, ids, chosen[0])
        or _unread_order(episode.order, keys)
    ):
        trajectory.end("treatment_failed", reason)
    else:
        trajectory.end("choice", trajectory.reason, chosen[0])


def _unread_order(answer: str, keys: dict[str, str]) -> str:
    """Why an order cannot be read; empty: it can, or there is none."""
    try:
        order_in_answer(answer, keys)
    except CannotEdit as error:
        return str(error)
    return ""


def untreated(answers: Sequence[str], session: Session, ids: dict[str, str], chosen: str) -> str:
    """Return why the treatment of what an agent was given is not proven; empty: it is.

    Each planned edit of a product that an answer shows needs its receipt, and each answer has to show what
    was planned, as another reader than the one that wrote it reads it.
    """
    made = {(each.intervention, each.edit, each.product) for each in session.receipts}
    keys = _by_id(answers, ids)
    read = [(keys.get(each.ids[0], ""), each) for text in answers for each in products_in(text) if each.ids]
    if chosen not in {key for key, _ in read}:
        return f"the agent was not given {chosen} before it chose"
    lines = [(keys.get(each.id, ""), each) for text in answers for each in lines_in(text)]
    every: list[tuple[str, ProductData | LineData]] = [*read, *lines]
    for key, shown in every:
        for treatment in session.plan.by_product.get(key, ()):
            for edit in treatment.edits if treatment.is_on(_PAGES[type(shown)]) else ():
                if isinstance(shown, LineData) and not _OF_LINES & edit.values().keys():
                    continue
                if (treatment.intervention, edit.kind(), key) not in made:
                    return f"{treatment.intervention}: {edit.kind()} has no receipt for {key}"
                if lacks := not_shown(edit, shown):
                    return f"{treatment.intervention}: {edit.kind()}: {key} shows {lacks}"
    return ""


def untreated_tools(trajectory: Trajectory, session: Session) -> str:
    """Return which tool does not say what is planned, as the agent was given it; empty: none."""
    given = {tool_key(each.name): each for each in trajectory.looks[0].observation.shop_tools}
    made = {(each.intervention, each.edit, each.product) for each in session.receipts}
    for key, treatments in session.plan.by_product.items():
        for treatment in treatments if key.startswith("tool/") else ():
            for edit in treatment.edits:
                if key not in given:
                    return f"{treatment.intervention}: the shop has no {key}"
                proof = treatment.intervention, edit.kind(), key
                if proof not in made or squeeze(edit.words()) not in squeeze(given[key].description):
                    return f"{treatment.intervention}: {edit.kind()}: {key} does not say {edit.words()!r}"
    return ""


_OF_LINES: Final = {"price", "name", "image"}
"""What an edit changes in a line."""
_PAGES: Final[Mapping[type, tuple[str, ...]]] = {ProductData: ("data",), LineData: STAGES}
"""The types of pages for which a product in an answer stands, and a line of the cart."""


def not_shown(edit: Edit, product: ProductData | LineData) -> str:
    """Return what stands in an answer in place of what an edit makes; empty: it is there.

    Of a line only the name and the price are read.
    """
    if isinstance(product, LineData):
        name, price, planned = edit.values().get("name"), product.price, edit.values().get("price")
        if name is not None and squeeze(product.name) != squeeze(str(name)):
            return f"{product.name!r} in the cart"
        is_right = planned is None or (price is not None and _is_near("price", price, planned))
        return "" if is_right else f"price {price} in the cart, and {planned} was planned"
    for part, value in edit.values().items():
        if isinstance(value, str):
            if part == "name" and squeeze(product.name) != squeeze(value):
                return repr(product.name)
            continue
        # In the shop all variants of a product have its price.
        for shown in product.prices if part == "price" else (getattr(product, part),):
            if shown is None or not _is_near(part, shown, value):
                return f"{part} {shown}, and {value} was planned"
    if edit.told and squeeze(edit.words()) not in squeeze(product.text):
        return f"no {edit.words()!r}"
    return ""


def _is_near(part: str, shown: float, planned: Decimal | str) -> bool:
    return abs(shown - float(planned)) <= _OF_DATA[part]


def _by_id(answers: Sequence[str], ids: dict[str, str]) -> dict[str, str]:
    """The key of each product by its id, and by those of the variants that answers have named."""
    found = dict(ids)
    for product in (each for text in answers for each in products_in(text)):
        if product.ids and product.ids[0] in ids:
            found |= dict.fromkeys(product.ids, ids[product.ids[0]])
    return found


def to_record(
    trial: ShopTrial,
    design: ShopDesign,
    trajectory: Trajectory,
    session: Session,
    *,
    start: Start,
    attempts: int,
) -> TrialRecord:
    """Make the record of a finished trial."""
    shown = [look.observation.data for look in trajectory.looks]
    ids, options = item_ids(design, trial), _option_rows(trial, design, session, _given(trajectory))
    second: dict[str, Any] = {}
    if design.experiment.to_order:
        stages = ["cart"] if {each.intervention for each in session.receipts} & session.plan.late else []
        order = None
        with suppress(CannotEdit):
            order = order_in_answer(shown[-1] if shown else "", _by_id(shown, ids))
        second = order_rows(trial, session, order, shown, options, stages, task_of(design, trial))
    count = len(trajectory.decisions)
    record = shop_record(
        trial, design, trajectory, session, trace(trajectory), count, start=start, attempts=attempts
    )
    return replace(
        record,
        options=options,
        disagreements=[{"text": text} for text in _disagreements(shown, ids, session.plan.split_prices)],
        attributes=[
            {"position": at, "attributes": own}
            for at, product in enumerate(trial.products)
            if (own := design.list_facts(product) | trial.facts(product.key))
        ],
        **second,
    )


def _given(trajectory: Trajectory) -> list[str]:
    """The answers that the agent was given before it decided the last time, in order.

    After an action that failed it is shown the last answer again.
    """
    looked = [step for step, decision in enumerate(trajectory.decisions) if decision.looked]
    looks = trajectory.looks[: looked[-1] + 1 if looked else 0]
    return [
        look.observation.data
        for step, look in enumerate(looks)
        if step == 0 or not trajectory.errors[step - 1]
    ]


def _option_rows(trial: ShopTrial, design: ShopDesign, session: Session, answers: Sequence[str]) -> list[Row]:
    keys = item_ids(design, trial)
    shown, order = _facts(answers, keys)
    sent, _ = _facts([page.body.decode(errors="replace") for page in session.sent], keys)
    nothing = ShownFacts()
    rows: list[Row] = []
    for position, product in enumerate(trial.products):
        mine = shown.get(product.key, nothing)
        lacking = [f"{part}: no answer" for part in _OF_DATA if getattr(mine, part) is None]
        rows.append(
            option_row(
                trial,
                design,
                product,
                position,
                sent=sent.get(product.key, mine),
                shown=mine,
                unread="no answer showed it" if mine is nothing else "; ".join(lacking),
                first=product.key == next(iter(order), ""),
                opened=order.count(product.key),
            )
        )
    return rows


def _facts(answers: Sequence[str], keys: dict[str, str]) -> tuple[dict[str, ShownFacts], list[str]]:
    """What answers show of each product last, and the products as they have shown them, in order."""
    found, order = dict[str, ShownFacts](), list[str]()
    for product in (each for text in answers for each in products_in(text)):
        if key := keys.get(next(iter(product.ids), "")):
            found[key] = ShownFacts(
                product.name, None, product.price, product.rating, product.reviews
            ).or_else(found.get(key, ShownFacts()))
            order.append(key)
    return found, order


def _disagreements(answers: Sequence[str], ids: dict[str, str], late: Container[str]) -> Iterator[str]:
    """Yield where answers show different prices of a product, from the products to the cart.

    late: the products that are meant to have another price in the cart.
    """
    keys, prices = _by_id(answers, ids), dict[str, dict[float, None]]()
    for text in answers:
        for product in products_in(text):
            if product.price is not None and (key := keys.get(next(iter(product.ids), ""))):
                prices.setdefault(key, {})[product.price] = None
        for line in lines_in(text):
            if line.price is not None and (key := keys.get(line.id)):
                part = f"{key} in the cart" if key in late else key
                prices.setdefault(part, {})[line.price] = None
    for key, found in prices.items():
        if len(found) > 1:
            yield f"price of {key}: {', '.join(f'{price:,.2f}' for price in found)}"
