"""Are the other tables of choices in a shop honest? Each study is analysed as a run would be.

The tables of `tests.lab.bench.validity.choice` are linear in the choices, and so they are made of all studies
at once. These are not: trade-offs of drawn attributes, random effects, and shares, also of trials that end
without a choice.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pandas as pd

from analysis.choice.effects.effects import main_effects
from analysis.choice.effects.frames import with_questions
from analysis.choice.effects.groups import position_shares
from analysis.choice.effects.pooled import PARTS, heterogeneity
from analysis.choice.effects.sensitivity import sensitivity
from analysis.choice.effects.tradeoffs import tradeoffs
from analysis.choice.ended.attrition import compare_by_factor, compare_outcomes, count_outcomes
from analysis.choice.ended.factors import deciding_factors
from analysis.choice.exact.exact import exact_tests
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats, Ints
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from tests.lab.bench.validity.choice import Shopper, answers, true_tradeoffs
from tests.lab.bench.validity.counting import ROUNDING
from tests.lab.bench.validity.exact import parts_of, trials_of
from tests.lab.bench.validity.studies import Columns, Frames, Key, Truth
from tests.simulated_choices import with_choices

LOST: Final = 0.1
"""The share of trials that end without a choice, in the tables of outcomes."""
NAMED: Final = 0.3
"""The share of trials in which the price is named as what decided."""
FACTOR: Final = "price"

CLUSTERED: Final = {"low": "clustered_low", "high": "clustered_high"}
ROW: Final = ("term", "part", "level")
_OUTCOME: Final = ("agent", "condition", "outcome")

DRAWN: Final = (
    Columns("exact", "exact", ROW, adjusted="p_adjusted"),
    Columns("tradeoffs", "tradeoffs", ("term", "measure"), adjusted="p_adjusted"),
)
OTHERS: Final = (
    Columns("heterogeneity", "heterogeneity", ("term", "part"), adjusted="p_adjusted"),
    Columns("heterogeneity, a new one", "new", ROW, p="", low="predict_low", high="predict_high"),
    Columns("shrunken", "shrunken", ROW, "shrunken", "", "shrunken_low", "shrunken_high"),
    Columns("positions", "positions", ("options", "position"), p="", **CLUSTERED),
    Columns("positions, Wilson", "positions", ("options", "position"), p=""),
    Columns("curves, linear and quartic", "lines", ("advantage", "model", "value"), p=""),
    Columns("curves, observed", "observed", ("advantage", "value"), p="", **CLUSTERED),
    Columns("curves, observed, Wilson", "observed", ("advantage", "value"), p=""),
    Columns("outcomes", "outcomes", _OUTCOME, "share", "", **CLUSTERED),
    Columns("outcomes, Wilson", "outcomes", _OUTCOME, "share", ""),
    Columns("equal_attrition", "equal_attrition", null=0.0),
    Columns("attrition_by_factor", "attrition_by_factor", ("factor",), adjusted="p_adjusted"),
    Columns("factors", "factors", ("factor",), p="", **CLUSTERED),
    Columns("factors, Wilson", "factors", ("factor",), p=""),
)


@dataclass(frozen=True)
class ShopStudies:
    """Studies of one design, shopper and size."""

    design: ShopDesign
    shopper: Shopper
    limit: int

    @cached_property
    def made(self) -> SimulatedTrials:
        return simulated_trials(self.design, self.shopper.taste, self.limit)

    @property
    def tables(self) -> tuple[Columns, ...]:
        """Which tables are counted."""
        return DRAWN if self.design.drawn else OTHERS

    def study(self, rng: np.random.Generator) -> Frames:
        """Return the tables of one study."""
        chosen = answers(self.made, rng, 1, self.shopper)[:, 0]
        table = with_choices(self.made, chosen)
        exact = exact_tests(table)
        if self.design.drawn:
            return {"exact": exact, "tradeoffs": tradeoffs(table)}
        return self._of_choices(table, exact) | self._of_endings(table, rng)

    def _of_choices(self, table: pd.DataFrame, exact: pd.DataFrame) -> dict[str, pd.DataFrame]:
        common, shrunken = heterogeneity(main_effects(table), exact)
        keys = ["term", "part"]
        new = shrunken[[*keys, "level", "estimate"]].merge(
            common[[*keys, "predict_low", "predict_high"]], on=keys
        )
        curves = sensitivity(table)[1]
        if len(curves):
            curves["value"] = curves["value"].round(6)
        observed = curves["model"].eq("observed")
        return {
            "heterogeneity": common,
            "new": new,
            "shrunken": shrunken,
            "positions": position_shares(table),
            "lines": curves[~observed],
            "observed": curves[observed],
        }

    def _of_endings(self, table: pd.DataFrame, rng: np.random.Generator) -> dict[str, pd.DataFrame]:
        even = self._even(rng)
        lost = even < LOST
        ended = table.assign(
            outcome=np.where(lost, "no_choice", "choice")[self._trial],
            chosen=table["chosen"].mask(lost[self._trial]),
        )
        named = self._even(rng) < NAMED
        trials = table.drop_duplicates(TRIAL_ID)
        said = pd.DataFrame(
            {
                "trial": trials["trial"].to_numpy(),
                "agent": trials["agent"].to_numpy(),
                "factor": np.where(named, FACTOR, "other"),
                "judge": "judge",
                "reason": "",
            }
        )
        return {
            "outcomes": count_outcomes(ended),
            "equal_attrition": compare_outcomes(ended),
            "attrition_by_factor": compare_by_factor(ended),
            "factors": deciding_factors(said, with_questions(table).set_index(["agent", "trial"])),
        }

    @cached_property
    def _trial(self) -> Ints:
        return self.made.table[TRIAL_ID].to_numpy()

    def _even(self, rng: np.random.Generator) -> Floats:
        """A number from 0 to 1 for each trial; alike where the shopper answers alike."""
        if not self.shopper.alike:
            return rng.random(len(self.made.trials))
        known: dict[tuple[object, ...], int] = {}
        code = []
        for trial in self.made.trials:
            words = trial.nudge.id if trial.nudge and trial.carrier else ""
            shown = (trial.goal, trial.carrier, words, *trial.products)
            question = (trial.set,) if self.shopper.alike == "set" else shown
            code.append(known.setdefault(question, len(known)))
        found: Floats = rng.random(len(known))[code]
        if self.made.determinism:
            alike = rng.random(len(code)) < self.made.determinism
            found = np.where(alike, found, rng.random(len(code)))
        return found

    def truth(self) -> Truth:
        """Return what the tables' rows are about, as far as it is known."""
        return self._of_drawn() if self.design.drawn else self._of_shares()

    def _of_drawn(self) -> dict[str, dict[Key, float]]:
        taste = self.shopper.taste
        worths = {
            "price": taste.log_price,
            "rating": taste.rating,
            "reviews": taste.log_reviews * float(np.log(2)),
            "nudged": taste.nudge,
            "viewed_first": taste.position,
        }
        options = float((1 / self.made.table.groupby(TRIAL_ID)["option"].size()).mean())
        known = true_tradeoffs(worths, options, float(self.made.table["price"].median()))
        nothing = {(term, "", ""): 0.0 for term, worth in worths.items() if not worth}
        return {"tradeoffs": dict(known), "exact": nothing}

    def _of_shares(self) -> dict[str, dict[Key, float]]:
        table = self.made.table.assign(chosen=self.made.chances)
        curves = sensitivity(table)[1] if self.shopper.alike != "set" else pd.DataFrame()
        found: dict[str, dict[Key, float]] = {}
        if len(curves):
            curves["value"] = curves["value"].round(6)
            observed = curves["model"] == "observed"
            lines = curves[~observed].set_index(["advantage", "model", "value"])
            found["curves, linear and quartic"] = lines["estimate"].to_dict()
            points = curves[observed].set_index(["advantage", "value"])
            found["curves, observed"] = found["curves, observed, Wilson"] = points["estimate"].to_dict()
        found |= self._of_levels()
        found["positions"] = _positions(table)
        found["positions, Wilson"] = found["positions"]
        lost = {
            (agent, condition, outcome): share
            for agent, condition in table[["agent", "condition"]].drop_duplicates().itertuples(index=False)
            for outcome, share in (("no_choice", LOST), ("choice", 1 - LOST))
        }
        if self.shopper.alike != "set":  # else a set is lost or not, and the shares are about these sets
            found |= {"outcomes": lost, "outcomes, Wilson": lost}
            named = {(FACTOR,): 100 * NAMED, ("other",): 100 * (1 - NAMED)}
            found |= {"factors": named, "factors, Wilson": named}
        found |= {
            "equal_attrition": {("simulated", "equal_attrition"): 0.0},
        }
        factors = ["ordering", "profile", "nudge_text", "family", "category"]
        found["attrition_by_factor"] = {(name,): 0.0 for name in factors}
        if not self.shopper.alike:
            found["attrition_by_factor"]["set",] = 0.0
        return found

    def _of_levels(self) -> dict[str, dict[Key, float]]:
        """The effects of texts, categories, families and profiles in these choice sets, and their means.

        A shopper that answers a set always alike has tastes of its own for these sets, and so no other truth
        than its answers.
        """
        if self.shopper.alike == "set":
            return {}
        table = self.made.table
        parts = parts_of(table, trials_of(table))
        levels = {
            key: 100 * float(part.values(self.made.chances[:, None]).mean())
            for key, part in parts.items()
            if key[1] in PARTS
        }
        levels = {key: 0.0 if abs(value) < ROUNDING else value for key, value in levels.items()}
        means: dict[Key, list[float]] = defaultdict(list)
        for (term, part, _), value in levels.items():
            means[term, part].append(value)
        common = {key: float(np.mean(values)) for key, values in means.items()}
        return {"heterogeneity": common, "heterogeneity, a new one": levels, "shrunken": levels}


def _positions(table: pd.DataFrame) -> dict[Key, float]:
    """The expected share of each place."""
    sized = table.assign(options=table.groupby(TRIAL_ID)["option"].transform("size"))
    shares = sized.groupby(["options", sized["position"] + 1])["chosen"].mean()
    return {(int(options), int(place)): 100 * float(share) for (options, place), share in shares.items()}
