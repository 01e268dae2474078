"""The key `stopping`: what it makes another run, and the order in which strata count."""

import json
from collections import defaultdict
from collections.abc import Sequence as Items
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste
from analysis.choice.exact.exact import exact_tests
from analysis.choice.stopping import Rule, Sequence, sequences
from analysis.estimators.sequential import log_evidence, log_wealth
from analysis.tables.frame import Floats
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from experiments.designs.shop.strata_order import StrataOrder, strata_order
from experiments.designs.shop.trial import ShopTrial
from experiments.records.record import EndedTrial
from experiments.studies.sequence import sequence_table
from tests.experiments.designs.make import AGENT, shop
from tests.simulated_choices import with_choices
from tests.support import size

RULE = {"rule": "anytime-valid"}
NEVER = {"rule": "anytime-valid", "alpha": 1e-6}
ALPHA = 0.05


def design(stopping: dict[str, Any] | None = None, **changes: Any) -> ShopDesign:
    """The shipped experiment with a rule and other values under some keys."""
    return shop(**changes, **({} if stopping is None else {"stopping": stopping}))


def the_order(made: ShopDesign) -> StrataOrder:
    """The order as it is read from what is stored."""
    found = strata_order(json.loads(json.dumps(made.facts([AGENT]).to_dict())))
    assert found
    return found


def ended(trial: ShopTrial, choice: str | None) -> EndedTrial:
    names = ("agent", "set", "condition", "profile", "ordering", "repeat", "carrier")
    return EndedTrial(
        **{name: getattr(trial, name) for name in names},
        nudge=trial.nudge.id if trial.nudge else "",
        direction=trial.nudge.direction if trial.nudge else None,
        outcome="choice" if choice else "no_choice",
        choice=choice,
        first=trial.products[-1].key,
    )


@pytest.mark.thorough
def test_what_is_declared_makes_another_run_and_the_number_of_trials_does_not() -> None:
    plain = design()
    assert {design(rule).run_id for rule in ({}, {"rule": "fixed"}, {"most": 60})} == {plain.run_id}
    ruled = design(RULE)
    assert design({**RULE, "most": 60}).run_id == design({**RULE, "most": 600}).run_id == ruled.run_id
    others = [{**RULE, **more} for more in ({"alpha": 0.1}, {"margin": 5}, {"effect": "order"})]
    assert len({plain.run_id, ruled.run_id, *(design(rule).run_id for rule in others)}) == 5
    assert [trial.set for trial in ruled.trials([AGENT])] == [trial.set for trial in plain.trials([AGENT])]


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(8, 60), deadline=None)
@given(
    sets=st.integers(1, 6),
    nudges=st.integers(1, 5),
    repeats=st.integers(1, 2),
    profiles=st.sampled_from([["none"], ["price-increased", "none"]]),
    on=st.sampled_from([["each"], ["none", "each"]]),
    orders=st.sampled_from(["both", "listed"]),
    effect=st.sampled_from(["nudge", "order"]),
)
def test_the_stored_facts_give_the_place_of_each_trial_and_its_stratum(
    sets: int, nudges: int, repeats: int, profiles: list[str], on: list[str], orders: str, effect: str
) -> None:
    names = list(design().nudges)[:nudges]
    made = design(
        {**RULE, "effect": effect if orders == "both" else "nudge"},
        options={"set_size": 2, "sets": sets},
        factors={
            "nudge": {"interventions": "nudges", "only": [each.id for each in names if each], "on": on},
            "order": orders,
        },
        repeats=repeats,
        profiles=profiles,
    )
    order, strata = the_order(made), defaultdict(list)
    trials = list(made.trials([AGENT]))
    assert order.most == len(trials) == made.size
    for number, trial in enumerate(trials):
        row = order.row(ended(trial, trial.products[0].key))
        assert row
        assert row[0] == number
        if row[1]:
            strata[row[1]].append((number, row[2]))
    assert {len(each) for each in strata.values()} == {2}
    assert all(one[1] != other[1] for one, other in strata.values()), "each trial is a question of its own"
    block = made.block_size()
    assert all(one[0] // block == other[0] // block for one, other in strata.values()), "complete early"


def study(made: ShopDesign, limit: int | None = None, taste: Taste | None = None) -> SimulatedTrials:
    return simulated_trials(made, taste or shipped_taste("balanced"), limit, AGENT)


def ended_trials(known: SimulatedTrials, chosen: Floats) -> list[EndedTrial]:
    """The trials with these choices (rows of the table)."""
    at, found = 0, []
    for trial in known.trials:
        own = chosen[at : at + 2]
        found.append(ended(trial, trial.products[int(own.argmax())].key))
        at += 2
    return found


@pytest.mark.parametrize(("effect", "term"), [("nudge", "nudged"), ("order", "viewed_first")])
def test_all_strata_of_a_whole_run_are_those_of_the_exact_test(effect: str, term: str) -> None:
    """Nothing is asked twice here: each text is with its own sets only, and there is no control."""
    only = ["best-seller", "no-returns"]
    factors = {"nudge": {"interventions": "nudges", "only": only, "on": ["each"]}, "order": "both"}
    made = design({**NEVER, "effect": effect}, options={"set_size": 2, "sets": 20}, factors=factors)
    known = study(made, taste=shipped_taste("random"))
    chosen = known.drawn(np.random.default_rng(1), 1)[:, 0]
    exact = exact_tests(with_choices(known, chosen)).set_index(["term", "part"]).loc[(term, "")]
    table = sequence_table(the_order(made), ended_trials(known, chosen))
    state = sequences(table)[AGENT].state
    assert (state.wins, state.losses, state.strata) == tuple(
        exact[["strata_for", "strata_against", "strata"]]
    )
    assert state.estimate == pytest.approx(exact["estimate"])


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=size(15, 150), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), missing=st.floats(0, 0.3), alpha=st.sampled_from([0.05, 0.4]))
def test_the_order_of_arrival_changes_nothing(seed: int, missing: float, alpha: float) -> None:
    """Whatever arrives when, twice, or in parts: the decision, and the numbers at it, are the same."""
    rng = np.random.default_rng(seed)
    made = design(RULE, options={"set_size": 2, "sets": 6}, repeats=2)
    order, known = the_order(made), study(made, 240)
    trials = ended_trials(known, known.drawn(rng, 1)[:, 0])
    lost = rng.random(len(trials)) < missing
    rows = [
        order.row(trial._replace(outcome="agent_limit", choice=None) if away else trial)
        for trial, away in zip(trials, lost, strict=True)
    ]

    def followed(numbers: Items[int]) -> Sequence:
        found = Sequence(Rule("nudge", alpha, 10.0))
        for number in numbers:
            row = rows[number]
            assert row
            found.add(*row)
        return found

    plain = followed(range(len(rows)))
    mixed = followed([*rng.permutation(len(rows)), *rng.integers(len(rows), size=20)])
    assert mixed == plain
    half = followed(range(len(rows) // 2))
    assert plain.states[: len(half.states)] == half.states, "what is known is never changed by what comes"
    waiting = followed([number for number in range(len(rows)) if number != 1])
    assert not waiting.states and waiting.waits == len(rows) - 2


def looks(known: SimulatedTrials, chosen: Floats, order: StrataOrder) -> Floats:
    """The differences of -1, 0 and 1 of the strata in the order of the design, strata x studies.

    It knows the columns of the simulation, and nothing of `Sequence`. A question is asked once here.
    """
    halves, signs = defaultdict(list), {}
    for number, trial in enumerate(known.trials):
        row = order.row(ended(trial, None))
        assert row
        if trial.nudge and trial.carrier and trial.repeat == 0:
            keys = [product.key for product in trial.products]
            halves[row[1]].append(2 * number + keys.index(trial.carrier))
            signs[row[1]] = trial.nudge.direction
    firsts, seconds = np.array(list(halves.values())).T
    return (chosen[firsts] + chosen[seconds] - 1) * np.array(list(signs.values()))[:, None]


SHOPPERS = {
    "null": Taste(log_price=-5, rating=1, log_reviews=0.2, position=0.4),
    "random": Taste(),
    "deterministic": Taste(log_price=-2, rating=0.3),
    "nearly deterministic": Taste(log_price=-2, rating=0.3),
}


@pytest.mark.slow
@pytest.mark.parametrize("shopper", SHOPPERS)
def test_ten_thousand_runs_under_constant_peeking(shopper: str) -> None:
    """Without any effect of the nudge at most alpha ever stop with one, on the shipped design's own trials.

    The deterministic shopper answers a question, asked again, as before; so its repeats say nothing new. The
    other one answers every tenth question afresh.
    """
    studies, batch = 10_000, 2_500
    rng = np.random.default_rng(list(SHOPPERS).index(shopper))
    alike = shopper.endswith("deterministic")
    repeats = 2 if alike else 1
    made = design(RULE, options={"set_size": 2, "sets": 4}, repeats=repeats)
    order, known = the_order(made), study(made, taste=SHOPPERS[shopper])
    half = len(known.table) // repeats
    rejected, rejected_naively = [], []
    for number in range(studies // batch):
        noise = rng.gumbel(size=(half, batch)).astype(np.float32)
        noise = np.tile(noise, (repeats, 1))  # the second repeat comes after all of the first
        if shopper == "nearly deterministic":
            fresh = np.repeat(rng.random((half, batch)) < 0.1, 2, axis=0)  # both options of a trial
            noise[fresh] = rng.gumbel(size=int(fresh.sum()))
        chosen = known.best(noise)
        steps = looks(known, chosen, order)
        wins, losses = (steps > 0).cumsum(0), (steps < 0).cumsum(0)
        crossed = log_evidence(wins, losses) >= -np.log(ALPHA)
        rejected += crossed.any(0).tolist()
        rejected_naively += (log_evidence(5 * wins[-1], 5 * losses[-1]) >= -np.log(ALPHA)).tolist()
        for one in range(0 if number else 4):  # the sequence itself says the same of these
            found = Sequence(Rule("nudge", ALPHA))
            trials = ended_trials(known, chosen[:, one])
            for place in rng.permutation(len(trials)):
                row = order.row(trials[place])
                assert row
                found.add(*row)
            at = int(crossed[:, one].argmax()) if crossed[:, one].any() else len(steps) - 1
            assert (found.state.wins, found.state.losses) == (wins[at, one], losses[at, one])
            assert bool(found.decision) == bool(crossed[:, one].any())
    print(f"{shopper}: {np.mean(rejected):.4f}, counted five times {np.mean(rejected_naively):.4f}")
    assert np.mean(rejected) <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / studies) ** 0.5
    if alike:
        assert np.mean(rejected_naively) > 2 * ALPHA, (
            "were answers that are alike counted, that would mislead"
        )


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("nudge", [0.6, 1.5, 3.0])
def test_the_interval_at_the_stop_holds_the_effect_of_a_shopper(nudge: float) -> None:
    """The effect differs from set to set and text to text: the truth is its mean over the design."""
    studies = size(1_000, 10_000)
    made = design(RULE, options={"set_size": 2, "sets": 25})
    order = the_order(made)
    known = study(made, 1_200, Taste(log_price=-5, rating=1, log_reviews=0.2, position=0.4, nudge=nudge))
    steps = looks(known, known.drawn(np.random.default_rng(5), studies), order)
    truth = looks(known, known.chances[:, None], order).mean()
    wins, losses = (steps > 0).cumsum(0), (steps < 0).cumsum(0)
    crossed = log_evidence(wins, losses) >= -np.log(ALPHA)
    at = np.where(crossed.any(0), crossed.argmax(0), len(steps) - 1)
    own = wins[at, np.arange(studies)], losses[at, np.arange(studies)]
    held = (log_wealth(truth, *own, at + 1 - own[0] - own[1]) < -np.log(ALPHA)).mean()
    assert held >= 1 - ALPHA - 3 * (ALPHA * (1 - ALPHA) / studies) ** 0.5
    assert crossed.any(0).mean() > 0.9
    few, looked = 100, np.arange(len(steps))[:, None] + 1
    counts = wins[:, :few], losses[:, :few], looked - wins[:, :few] - losses[:, :few]
    missed = (log_wealth(truth, *counts) >= -np.log(ALPHA)).any(0).mean()
    assert missed <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / few) ** 0.5, "also where nobody stops"
    assert 3 * (np.median(at) + 1) < 1_200 / 2, "half of the trials are saved, and more"
    print(f"{nudge}: {100 * truth:.1f} points, held {held:.3f}, stopped {crossed.any(0).mean():.3f}")
    print(f"trials: median {3 * (np.median(at) + 1):.0f}, mean {3 * (at.mean() + 1):.0f} of 1,200")


def test_a_run_of_before_of_cards_or_of_a_stranger_has_no_rule() -> None:
    facts = json.loads(json.dumps(design(RULE).facts([AGENT]).to_dict()))
    assert strata_order(facts)
    assert strata_order(design().facts([AGENT]).to_dict()) is None
    endless = facts | {"experiment": facts["experiment"] | {"repeats": 10**12}}
    for broken in (
        {},
        {"experiment": None},
        facts | {"inputs": {}},
        facts | {"inputs": {"listed": 3}},
        endless,
    ):
        assert strata_order(broken) is None
    order = strata_order(facts)
    stranger = ended(next(design(RULE).trials([AGENT])), None)._replace(set="no-such-set")
    assert order and order.row(stranger) is None and sequence_table(order, [stranger]).empty
