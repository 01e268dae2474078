"""Find how large a part-worth a conjoint experiment can show, by simulating its very cards."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from agents.simulated.readers.card_text import read_options, to_alternatives
from agents.simulated.tab_shopper import ShopperProfile
from agents.simulated.utility import ATTRIBUTES, DisplayedOption, Taste, attributes, choice_probabilities
from analysis.conjoint.cards import decile_edges, encode
from analysis.conjoint.fits import clogit_of_sets, logit_of_pairs, regressors
from analysis.estimators.clogit import BY_SET
from analysis.tables.choice_table import TRIAL_ID, check_table
from analysis.tables.frame import Floats
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.experiment_file import BASE
from experiments.designs.cards.trial import CardTrial
from experiments.power.rehearsal import Rehearsal, Studies
from experiments.power.results import ELASTICITY, POINTS, ContrastPower, SimulatedResults, claims, differing
from interventions.errors import UserError

AGENT: Final = "simulated"
TERMS: Final = {
    "price": ("log_price", "log_price"),
    "star": ("stars", "stars"),
    "score": ("review_score", "rating"),
    "cancellation": ("cancel", "cancellation"),
    "breakfast": ("breakfast", "breakfast"),
    "bed": ("bed_rank", "bed"),
}
"""The term of the model and the weight of the taste behind each feature."""
ABOUT: Final = "new sets"
PART_WORTH: Final = "part-worth"
_LARGEST: Final = 99.0


class ConjointRehearsal(Rehearsal[CardDesign]):
    """A conjoint with a calibrated chooser.

    An effect is in percentage points: between two options that are alike but for one unit of the feature, how
    much more often the better one is chosen. So a part-worth b is 100 tanh(b / 2) points. That of the price
    is its elasticity at the mean share of an option.
    """

    @staticmethod
    def features(design: CardDesign) -> Mapping[str, str]:
        """Return the contrasts and their units."""
        return {name: ELASTICITY if name == "price" else POINTS for name in TERMS}

    def __init__(
        self, design: CardDesign, profile: ShopperProfile, effects: Mapping[str, float], differ: float
    ) -> None:
        super().__init__(design, profile, effects, differ)
        taste = profile.taste
        if effects and not taste.noise:
            raise UserError("--effect: a shopper without noise has no part-worths; name another with --agent")
        first = next(design.trials([AGENT]))
        self._share = 1 / len(first.options)
        for name, wanted in effects.items():
            if name != "price" and abs(wanted) > _LARGEST:
                raise UserError(f"--effect {name}={wanted:g}: give less than {_LARGEST:.0f} points")
            worth = wanted / (1 - self._share) if name == "price" else 2 * np.arctanh(wanted / 100)
            taste = taste.model_copy(update={TERMS[name][1]: float(worth * taste.noise)})
        self.taste = taste

    @property
    def told(self) -> dict[str, Any]:
        """The chooser's taste, but for its defaults."""
        return self.taste.model_dump(exclude_defaults=True)

    @property
    def assumptions(self) -> list[str]:
        """How far choice sets differ, and which of them count."""
        (size, *others) = sorted({len(trial.options) for trial in self._design.trials([AGENT])})
        only = [f"the model that represents an agent is of sets of {size}, of all trials"] if others else []
        return [differing(self._differ, "choice sets"), *only]

    def of(self, studies: Studies) -> list[ContrastPower]:
        """Simulate the studies with the log-price model of an agent, errors as in the analysis."""
        made = _Made(self._design, self.taste, studies.trials)
        rng = studies.generator()
        found: dict[str, SimulatedResults] = {}
        halves: dict[str, list[float]] = {}
        with threadpool_limits(limits=1, user_api="blas"):
            for _ in studies:
                for name, (b, half, p_value) in made.estimates(made.drawn(rng, self._differ)).items():
                    own = found.setdefault(name, SimulatedResults())
                    own.add(*(np.array([value]) for value in (b, p_value, half)))
                    halves.setdefault(name, []).append(self._in_unit(name, b, half)[1])
        contrasts, claimed = [], claims(found, studies.alpha)
        for name, results in found.items():
            weight = getattr(self.taste, TERMS[name][1])
            worth = weight / self.taste.noise if self.taste.noise else np.nan
            spread = self._differ / np.sqrt(made.sets)
            off = results.off_by(worth, spread)
            covered = spread if made.clustered else 0.0
            target = results.target(
                ABOUT, studies.alpha, worth, spread, covered=covered, unit=PART_WORTH, claim=claimed[name]
            )
            if target.half_width is not None:
                least = target.detectable and self._in_unit(name, target.detectable, 0.0)[0]
                width = float(np.nanmean(halves[name]))
                target = replace(target, half_width=width, detectable=least)
            truth, unit = self._in_unit(name, worth, 0.0)[0], self.features(self._design)[name]
            error = None if off is None else self._in_unit(name, worth, off)[1]
            contrasts.append(ContrastPower(name, made.trials, truth, (target,), unit, error))
        return contrasts

    def _in_unit(self, name: str, b: float, half: float) -> tuple[float, float]:
        """A part-worth and half the width of its interval, in the unit of the feature."""
        if name == "price":
            by = 1 - self._share
            return by * b, by * half
        low, high = np.tanh((b - half) / 2), np.tanh((b + half) / 2)
        return float(100 * np.tanh(b / 2)), float(50 * (high - low))


class _Made:
    """The first trials of a conjoint, and the chance of each option to be chosen."""

    def __init__(self, design: CardDesign, taste: Taste, limit: int) -> None:
        first = list(islice(design.trials([AGENT]), limit))
        own = [trial for trial in first if trial.condition in ("", BASE)]
        shown = [to_alternatives(read_options(trial.cards[0].prompt)) for trial in own]
        for trial, alternatives in zip(own, shown, strict=True):
            if len(alternatives) != len(trial.options):
                raise UserError(
                    f"{design.name}: simulated agents cannot read its cards; run a real agent on a part, and"
                    " read the standard errors of souk analyze"
                )
        rows = [row for trial in own for row in _rows(trial)]
        table = check_table(pd.DataFrame(rows))
        cards = encode(pd.DataFrame(rows))
        chances = np.concatenate([choice_probabilities(taste, each) for each in shown])
        parts = np.concatenate([_parts(taste, each) for each in shown])
        # The encoded rows are in an order of their own.
        places = pd.Series(np.arange(len(rows)), pd.MultiIndex.from_frame(table[[TRIAL_ID, "option"]]))
        order = places.loc[pd.MultiIndex.from_frame(cards.rows[[TRIAL_ID, "option"]])].to_numpy()
        rows_of_block = (cards.rows["block"] == cards.blocks[0]).to_numpy()
        self._rows = cards.rows[rows_of_block].reset_index(drop=True)
        taken = order[rows_of_block]
        self._chances, self._parts, self._noise = chances[taken], parts[taken], taste.noise
        ids = self._rows[TRIAL_ID].to_numpy()
        self._starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
        self._sizes = np.diff(np.r_[self._starts, len(ids)])
        self._set = pd.factorize(self._rows["set"])[0]
        prompt_of = np.repeat([each.cards[0].prompt for each in own], [len(each) for each in shown])
        prompts = prompt_of[taken][self._starts]
        self._prompt, self._determinism = pd.factorize(prompts)[0], taste.determinism
        self._pairs = cards.blocks[0] == "binary"
        self.clustered = cards.repeated
        """Whether the errors are clustered by choice set."""
        self._cov: Any = "clustered" if cards.repeated else "classical"
        edges = decile_edges(cards.prices(cards.blocks[0]))
        terms = regressors(self._rows, cards.controls, "log", edges)
        self._terms = terms[[name for name in terms if terms[name].nunique() > 1]]
        self.sets, self.trials = int(self._set.max()) + 1, len(first)

    def drawn(self, rng: np.random.Generator, differ: float) -> Floats:
        """Draw the choices of one study."""
        noise = rng.gumbel(size=len(self._chances))
        if self._determinism:
            same = rng.random(len(self._starts)) < self._determinism
            first = pd.Series(self._starts).groupby(self._prompt).transform("first").to_numpy()
            alike = np.repeat(first - self._starts, self._sizes) + np.arange(len(noise))
            noise = np.where(np.repeat(same, self._sizes), rng.gumbel(size=len(noise))[alike], noise)
        with np.errstate(divide="ignore"):
            utility = np.log(self._chances) + noise
        if differ and self._noise:
            weights = rng.standard_normal((self._set.max() + 1, self._parts.shape[1]))[self._set]
            utility += differ / self._noise * (self._parts * weights).sum(axis=1)
        best = np.repeat(np.maximum.reduceat(utility, self._starts), self._sizes)
        return np.asarray((utility == best).astype(float))

    def estimates(self, chosen: Floats) -> dict[str, tuple[float, float, float]]:
        """Return of each feature part-worth, half the 95 % interval and p value; NaN where undefined."""
        rows = self._rows.assign(chosen=chosen)
        fit = (logit_of_pairs if self._pairs else clogit_of_sets)(rows, self._terms, self._cov)
        frame = fit.frame("").join(fit.by_set()).set_index("term")
        tested = ("p_value", "conf_low", "conf_high") if fit.left_out is None else BY_SET
        found = {}
        for name, (term, _) in TERMS.items():
            if term in frame.index:
                columns = ["estimate", *tested]
                estimate, p_value, low, high = frame.loc[term, columns].to_numpy(float)
                found[name] = (float(estimate), float(high - low) / 2, float(p_value))
        return found


def _rows(trial: CardTrial) -> Iterator[dict[str, Any]]:
    """The tidy rows of a trial, with a choice that is a placeholder."""
    for position, option in enumerate(trial.options):
        yield {
            "run": "",
            "trial": trial.id,
            "agent": AGENT,
            "set": trial.set,
            "option": option.option,
            "position": position,
            "chosen": int(position == 0),
            "outcome": "choice",
            "category": option.category,
            "price": option.price,
            "rating": option.rating,
            "reviews": option.reviews,
            "repeat": trial.repeat,
            "ordering": trial.ordering,
            "attr_name": option.name,
            **{f"attr_{name}": value for name, value in option.attributes.items()},
        }


def _parts(taste: Taste, shown: list[DisplayedOption]) -> Floats:
    """What each weight adds to the utility of each option, less its mean."""
    parts = attributes(shown) * [getattr(taste, name) for name in ATTRIBUTES]
    return np.asarray(parts - parts.mean(axis=0))
