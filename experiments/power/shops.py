"""Find how large an effect an experiment in a shop can show, by simulating that very experiment."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

import numpy as np
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from agents.simulated.tab_shopper import ShopperProfile, taste_for
from agents.simulated.utility import Taste
from analysis.choice.effects.effects import Estimands, main_estimands
from analysis.choice.effects.tradeoffs import Elasticity
from analysis.choice.exact.exact_many import MainTests
from analysis.estimators.clusters import choose_clusters, cluster_codes
from analysis.estimators.lpm_many import fit_many
from analysis.tables.choice_table import trial_ids
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from experiments.power.rehearsal import Rehearsal, Studies
from experiments.power.results import ELASTICITY, POINTS, ContrastPower, SimulatedResults, claims, differing
from interventions.errors import UserError

Feature = Literal["nudge", "order", "price", "rating"]
TERMS: Final[Mapping[Feature, str]] = {
    "nudge": "nudged",
    "order": "viewed_first",
    "price": "cheaper",
    "rating": "higher_rated",
}
THESE, NEW = "these sets", "new sets"
WEIGHTS: Final[Mapping[Feature, str]] = {
    "nudge": "nudge",
    "order": "position",
    "price": "log_price",
    "rating": "rating",
}
"""The weight in a taste that makes each effect."""
_MOST: Final = 30.0
"""The largest weight that is tried: no choice is left to chance."""
_CLOSE: Final = 0.05
"""How near to the wanted effects the shopper's own are, in percentage points."""
_ROUNDS: Final = 20
_CALIBRATED_ON: Final = 1_200
"""The most trials on which a shopper is calibrated."""
_DRAWS: Final = 32
"""The draws of sets and texts over which the mean effect is taken, each with its opposite."""
_INTERVALS: Final = 50
"""The studies whose exact intervals are computed: they are much alike, and take most of the time."""
_CELLS: Final = 1_000_000
"""The largest number of options x studies that are simulated at a time."""


def calibrated(
    design: ShopDesign, taste: Taste, effects: Mapping[Feature, float], differ: float = 0.0
) -> Taste:
    """Return a shopper with these effects, and else the given taste.

    Effects are percentage points; that of a drawn price is its elasticity. differ: see
    `SimulatedTrials.shifts`; the effects are means over such sets and texts. Raises UserError for an effect
    that no such shopper has in this experiment.
    """
    if not effects:
        return taste
    made = simulated_trials(design, taste, _CALIBRATED_ON)
    wanted = dict(effects)
    if "price" in wanted and "price" in design.drawn:
        taste = _with_elasticity(made, wanted.pop("price"))
    estimands = _estimands(made)
    weights = {feature: estimands.linear(TERMS[feature]) for feature in wanted}
    for feature, linear in weights.items():
        if linear is None:
            reason = estimands.reasons.get(TERMS[feature], "the experiment does not vary it")
            raise UserError(f"--effect {feature}: {reason}; leave it out, or choose another experiment")

    def effect(feature: Feature, taste: Taste) -> float:
        own = made.with_taste(taste)
        mean = own.chances
        if differ:
            shift = own.shifts(np.random.default_rng(0), _DRAWS, differ)
            mean = own.shifted(np.hstack([shift, -shift])).mean(axis=1)
        return float(100 * np.dot(weights[feature], mean))  # type: ignore[arg-type]

    for _ in range(_ROUNDS):
        for feature, points in wanted.items():
            taste = _with_effect(taste, feature, points, effect)
        if all(abs(effect(feature, taste) - points) < _CLOSE for feature, points in wanted.items()):
            return taste
    told = ", ".join(f"{feature}={effect(feature, taste):.1f}" for feature in wanted)
    raise UserError(f"--effect: no shopper has these effects at once in this experiment; the nearest: {told}")


def _with_elasticity(made: SimulatedTrials, wanted: float) -> Taste:
    """The taste whose choices have this price elasticity at the mean share of an option."""
    if not made.taste.noise:
        raise UserError(
            "--effect price: a shopper without noise has no elasticity; name another with --agent"
        )
    own = _elasticity(made, made.taste.model_copy(update={"log_price": 1.0}))
    return made.taste.model_copy(update={"log_price": wanted / own})


def _elasticity(made: SimulatedTrials, taste: Taste) -> float:
    """The price elasticity of a taste at the mean share of an option, by the weights of all goals."""
    each = [(taste_for(trial.goal, taste).log_price, len(trial.products)) for trial in made.trials]
    weights, options = np.array(each).T
    return float(weights.mean() * (1 - (1 / options).mean()) / taste.noise) if taste.noise else np.nan


def _with_effect(
    taste: Taste, feature: Feature, wanted: float, effect: Callable[[Feature, Taste], float]
) -> Taste:
    """The taste whose weight of this feature gives the wanted effect."""
    name, sign = WEIGHTS[feature], -1 if feature == "price" else 1

    def short(weight: float) -> float:
        return effect(feature, taste.model_copy(update={name: sign * weight})) - wanted

    low, high = short(-_MOST), short(_MOST)
    if not low < 0 < high:
        raise UserError(
            f"--effect {feature}={wanted:g}: in this experiment the effect lies between"
            f" {low + wanted:.1f} and {high + wanted:.1f} points; give one of these"
        )
    return taste.model_copy(update={name: sign * float(brentq(short, -_MOST, _MOST, xtol=1e-3))})


def power_of(design: ShopDesign, taste: Taste, studies: Studies, differ: float) -> list[ContrastPower]:
    """Simulate studies of a shopper; return each contrast that the experiment has.

    differ: how far sets and texts differ, see `SimulatedTrials.shifts`; each study has sets and texts of its
    own.
    """
    made = simulated_trials(design, taste, studies.trials)
    estimands, exact = _estimands(made), MainTests(made.table)
    clusters, _ = choose_clusters(_codes(made))
    elasticity = Elasticity(made.table) if "price" in design.drawn else None
    linear = {feature: own for feature, term in TERMS.items() if (own := estimands.linear(term)) is not None}
    if elasticity:
        linear.pop("price", None)
    rng = studies.generator()
    found: dict[tuple[str, str], SimulatedResults] = {}
    effects: dict[Feature, list[float]] = {feature: [] for feature in linear}
    with threadpool_limits(limits=1, user_api="blas"):
        for done, count in _portions(studies.count, len(made.table)):
            shift = made.shifts(rng, count, differ)
            chosen = made.drawn_with(rng, shift)
            shares = made.shifted(shift)
            for feature, own in linear.items():
                effects[feature] += (100 * own @ shares).tolist()
            if estimands.model is not None and estimands.weights:
                for term, each in fit_many(estimands.model, estimands.weights, chosen, clusters).items():
                    new = found.setdefault((term, NEW), SimulatedResults())
                    new.add(100 * each.estimate, each.p_value, 100 * each.half_width)
            for term, results in exact.of_many(chosen, _INTERVALS - done).items():
                these = found.setdefault((term, THESE), SimulatedResults())
                these.add(None, results.p_value, (results.high - results.low) / 2)
            if elasticity:
                own_price = found.setdefault(("price", NEW), SimulatedResults())
                own_price.add(*np.array([elasticity.of(column) for column in chosen.T]).T)
            studies.tell(done + count)
    families: dict[tuple[bool, str], dict[tuple[str, str], SimulatedResults]] = {}
    for key, own_results in found.items():  # an elasticity has a table of its own
        families.setdefault((key[0] == "price", key[1]), {})[key] = own_results
    claimed = {
        key: claim for family in families.values() for key, claim in claims(family, studies.alpha).items()
    }
    contrasts = []
    for feature in TERMS:
        if feature == "price" and elasticity:
            truth, term, unit = _elasticity(made, taste), "price", ELASTICITY
        elif feature in linear:
            truth, term, unit = float(np.mean(effects[feature])), TERMS[feature], POINTS
        else:
            continue
        spread = _spread(made, feature, differ)
        wider = found.get((term, NEW))
        if wider and feature in effects:
            wider.own = effects[feature]
        covered = {NEW: _spread(made, feature, differ, by_text="nudge text" in clusters)}
        targets = tuple(
            found[term, about].target(
                *(about, studies.alpha, truth, spread),
                covered=covered.get(about, 0.0),
                unit=unit,
                estimated=wider,
                claim=claimed[term, about],
            )
            for about in (THESE, NEW)
            if (term, about) in found
        )
        error = wider.off_by(truth, spread) if wider else None
        contrasts.append(ContrastPower(feature, len(made.trials), truth, targets, unit, error))
    return contrasts


def _portions(studies: int, rows: int) -> Iterator[tuple[int, int]]:
    """How many studies are done before, and how many are simulated at once."""
    at_once = max(1, min(50, _CELLS // rows))
    for done in range(0, studies, at_once):
        yield done, min(at_once, studies - done)


def _spread(made: SimulatedTrials, feature: Feature, differ: float, *, by_text: bool = True) -> float:
    """How far the mean effect of a study's own sets and texts is from that of all, as a share of it.

    by_text: whether it counts that texts differ.
    """
    texts = {trial.nudge.id for trial in made.trials if trial.nudge and trial.carrier}
    of_texts = 1 / len(texts) if feature == "nudge" and texts and by_text else 0.0
    return float(differ * np.sqrt(1 / len({trial.set for trial in made.trials}) + of_texts))


def _estimands(made: SimulatedTrials) -> Estimands:
    return main_estimands(made.table, _codes(made))


def _codes(made: SimulatedTrials) -> dict[str, Any]:
    return cluster_codes(made.table, trial_ids(made.table).to_numpy())


class ShopRehearsal(Rehearsal[ShopDesign]):
    """An experiment in a shop with a calibrated shopper."""

    @staticmethod
    def features(design: ShopDesign) -> Mapping[str, str]:
        """Return the contrasts and their units. Raises UserError where lists are cut to the choice set."""
        experiment = design.experiment
        if experiment.task != "compare-tabs" and not experiment.shows_whole_lists:
            why = "no trials with lists that are cut are simulated; souk run --dry-run"
            why += " tells how small an effect it finds if trials are independent"
            if experiment.decoys:
                why = (
                    "a simulated shopper weighs each product by itself, so that no third one moves its choice"
                )
                why += " between two others; the intervals of a first run tell how many trials it takes"
            elif experiment.in_square:
                why = "the estimates hold the row and the column of each product, which only a browser knows;"
                why += " the intervals of a first run tell how many trials it takes"
            raise UserError(f"{design.name}: {why}")
        return {name: ELASTICITY if name == "price" and name in design.drawn else POINTS for name in TERMS}

    def __init__(
        self, design: ShopDesign, profile: ShopperProfile, effects: Mapping[Feature, float], differ: float
    ) -> None:
        super().__init__(design, profile, effects, differ)
        self.taste = calibrated(design, profile.taste, effects, differ)

    @property
    def told(self) -> dict[str, Any]:
        """The shopper's taste, but for its defaults."""
        return self.taste.model_dump(exclude_defaults=True)

    @property
    def assumptions(self) -> list[str]:
        """How far sets and texts differ."""
        return [differing(self._differ, "texts and choice sets")]

    def of(self, studies: Studies) -> list[ContrastPower]:
        """See `power_of`."""
        return power_of(self._design, self.taste, studies, self._differ)
