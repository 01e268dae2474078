"""Make what the records of all trials in a shop have, with pages or without."""

from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.records.page_figures import figure_row
from experiments.records.record import Row, Start, TrialRecord, to_row
from experiments.treatment.sent_pages import sent_pages
from experiments.treatment.trajectory import (
    Traced,
    Trajectory,
    recorded_calls,
    recorded_checks,
    trial_row,
    usage_of,
)
from interventions.apply.plan import ProductFacts
from interventions.authoring.page_facts import ShownFacts
from proxy.session import Session


def shop_record(
    trial: ShopTrial,
    design: ShopDesign,
    trajectory: Trajectory,
    session: Session,
    traced: Traced,
    count: int,
    *,
    start: Start,
    attempts: int,
) -> TrialRecord:
    """Make a record without the rows of what was shown; `count`: the number of steps."""
    calls, (steps, artifacts), (sent, bodies) = recorded_calls(trajectory), traced, sent_pages(session)
    return TrialRecord(
        trial=trial_row(
            design.run_id,
            trial,
            trajectory,
            usage_of(calls),
            steps=count,
            start=start,
            attempts=attempts,
            nudges=trial.nudges,
            match=design.match,
            profile=trial.profile,
            modality=trial.modality or "",
        ),
        steps=steps,
        receipts=[to_row(receipt) for receipt in session.receipts],
        calls=[to_row(call, step=step) for step, call in calls],
        safety_checks=[
            to_row(each, step=step, acknowledged=int(each.acknowledged))
            for step, each in recorded_checks(trajectory)
        ],
        sent_pages=sent,
        artifacts=artifacts | bodies,
        cause=trajectory.cause,
    )


def option_row(
    trial: ShopTrial,
    design: ShopDesign,
    product: ProductFacts,
    position: int,
    *,
    sent: ShownFacts,
    shown: ShownFacts,
    unread: str,
    first: bool,
    opened: int | None,
) -> Row:
    """Make the row of an option: what the shop sent of it, and what the agent was shown.

    unread: why a fact is not known. first: it was seen first. opened: how often; None: not known.
    """
    return {
        **figure_row(design.products.get(product.key, product), sent),
        **shown._asdict(),
        "unread": unread,
        "position": position,
        "category": product.category,
        "viewed_first": int(first),
        "nudged": int(product.key in trial.carried),
        "opened": opened,
    }
