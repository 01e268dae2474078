"""Weigh randomised attributes against each other: part-worths, the price elasticity, what each is worth."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.choice.effects.drawn import STEP, randomised
from analysis.choice.effects.effects import agents, count_trials, regressors, varies
from analysis.choice.effects.frames import SQUARE, empty_frame
from analysis.estimators.clogit import CLogit, fit_clogit
from analysis.estimators.clogit_few_data import penalised
from analysis.estimators.leave_out import with_errors
from analysis.estimators.lpm import LEAST_CLUSTERS
from analysis.estimators.t_tests import student
from analysis.estimators.wtp import fieller, no_price, ratio_error
from analysis.tables.choice_table import BADGE, drawn_column, trial_ids
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import FRAME_COLUMNS, Floats, Ints, result_frame

MEASURES: Final = ("part_worth", "elasticity", "percent", "money", "interaction")
PRICE: Final = "price"
CELLS: Final = "row x column"
RATING_STEP: Final = 10.0
"""The points of rating that a part-worth is for."""
ENDLESS: Final = "no interval: without one of the choice sets there is no finite estimate"
_OWN_PRICE: Final = "attr_list_price"


def tradeoffs(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate what randomised attributes, the nudge and the order are worth, by agent.

    table: checked. A conditional logit (McFadden 1974) of the trials in which attributes were drawn. Terms:
    `price` (the logarithm of the price), `rating` (for 10 points), `reviews` (for twice as many: of ln(1 +
    reviews), times ln 2), `badge_NAME`, `nudged`, `viewed_first`; in the Latin square of a list each row but
    the last, and each column but the last, in place of `viewed_first`. What was not drawn is held but not
    reported: an attribute of the product, and its own price where prices were drawn as changes of it.

    The column `measure` says what a row is:

    part_worth: the coefficient b.
    elasticity: by how many percent the chance of being chosen changes if the price is 1 % higher, at the mean
    share of an option: b_price (1 - mean of 1 / options) (Train 2009, Discrete Choice Methods with
    Simulation, chapter 3, for the logarithm of a price).
    percent: the change of the price that makes up for it, 100 (exp(-b / b_price) - 1); above 0: worth having.
    money: the same at the median price that was shown, in the unit of the price.
    interaction: of the term `row x column`; the statistic is the F of Hotelling (1931) that all products of
    a row and a column are 0, with those products and sets less products as degrees of freedom. A small p
    value says that a place is not the sum of its row and its column.

    Errors are those of the jackknife over choice sets (CV3), with t on one less than there are sets; with
    fewer than twelve sets there are none. Part-worths and elasticities of separated choices are `penalised`
    estimates, and their note says so. The intervals of `percent` and `money` are Fieller's (1954), which
    leave out 0 exactly where those of the part-worth do; their p values are the part-worth's. Undefined
    unless the interval of the price coefficient is below 0. The part-worths of all agents are the
    family of `p_adjusted`. Empty where nothing was drawn.
    """
    drawn = table[table["randomised"] != ""]
    frames = [
        _of_agent(agent, rows, used, randomised(rows))
        for agent, rows, used in (agents(drawn) if len(drawn) else ())
        if randomised(rows) and len(used)
    ]
    found = [frame for frame in frames if len(frame)]
    return _adjusted(pd.concat(found, ignore_index=True)) if found else empty_frame("measure")


def _adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the adjusted p values of the part-worths, also for what is made of these."""
    worths = frame[frame["measure"] == "part_worth"].set_index(["group", "term"])["p_value"]
    found = pd.Series(benjamini_hochberg(worths), worths.index)
    return frame.assign(p_adjusted=found.reindex(frame.set_index(["group", "term"]).index).to_numpy())


class Elasticity:
    """The price elasticity of `tradeoffs` for many sets of answers to the same trials of one agent.

    used: checked, all trials with a choice; their prices were drawn.
    """

    def __init__(self, used: pd.DataFrame) -> None:
        self._x, _ = _columns(used, randomised(used))
        self._trial, self._sets = trial_ids(used).to_numpy(), pd.factorize(used["set"])[0]
        self.share = float((1 / used.groupby(self._trial)["option"].size()).mean())
        """The mean share of an option."""

    def of(self, chosen: Floats) -> tuple[float, float, float]:
        """Return the elasticity, its p value and half the width of its 95 % interval; NaN where undefined.

        chosen: 0 or 1, a value for each row.
        """
        fit = fit_clogit(self._x, chosen, self._trial)
        b, error = jackknifed(fit, self._x, chosen, self._trial, self._sets).of(PRICE)
        by, told = 1 - self.share, student(b, error, len(np.unique(self._sets)) - 1)
        return by * b, float(told["p_value"]), by * float(told["conf_high"] - b)


def _of_agent(agent: str, rows: pd.DataFrame, used: pd.DataFrame, drawn: tuple[str, ...]) -> pd.DataFrame:
    x, told = _columns(used, drawn)
    trial = trial_ids(used).to_numpy()
    chosen, sets = used["chosen"].to_numpy(float), pd.factorize(used["set"])[0]
    fit = jackknifed(fit_clogit(x, chosen, trial), x, chosen, trial, sets)
    share = float((1 / used.groupby(trial)["option"].size()).mean())
    median = float(used["price"].median()) if PRICE in drawn else np.nan
    finite = penalised(fit, x, chosen, trial, sets)
    found = [row for term in told for row in _rows(fit, finite, term, told, share, median)]
    found += _interaction(x, chosen, trial, sets)
    frame = result_frame(found, "measure")
    n, missing = fit.n_sets, count_trials(rows) - fit.n_sets
    frame = frame.assign(group=agent, n=n, n_missing=missing)
    frame["measure"] = pd.Categorical(frame["measure"], MEASURES, ordered=True)
    ordered = frame.sort_values("measure", kind="stable").astype({"measure": str})
    return ordered[[*FRAME_COLUMNS, "measure"]]


def _columns(used: pd.DataFrame, drawn: tuple[str, ...]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The regressors that differ within a trial, and those of them that are reported."""
    own = regressors(used)
    places = _grid(used) or {"viewed_first": own["viewed_first"]}
    badges = {name: used[drawn_column(name)].astype(float) for name in drawn if name.startswith(BADGE)}
    columns = {"nudged": own["nudged"], **badges, **places}
    if "placebo" in own:
        columns["placebo"] = own["placebo"]
    for name in ("price", "rating", "reviews"):
        if name in used and used[name].notna().all():
            columns[name] = _scaled(name, used[name])
    if PRICE in drawn and STEP in used and _OWN_PRICE in used:
        columns["own price"] = _scaled(PRICE, pd.to_numeric(used[_OWN_PRICE], errors="coerce").astype(float))
    trial = trial_ids(used).to_numpy()
    kept = {name: values for name, values in columns.items() if varies(values, trial).any()}
    wanted = (*drawn, "nudged", *places)
    return pd.DataFrame(kept), tuple(name for name in wanted if name in kept)


def _grid(used: pd.DataFrame) -> "dict[str, pd.Series[float]]":
    """Where each product stood in a list that was a Latin square: in a row, in a column; the last are 0.

    NaN in a trial whose places are not known: it is left out.
    """
    if not used["ordering"].eq(SQUARE).all() or not {"attr_row", "attr_column"} <= {*used}:
        return {}
    found: dict[str, pd.Series[float]] = {}
    for name in ("row", "column"):
        at = pd.to_numeric(used[f"attr_{name}"], errors="coerce")
        lines = sorted(at.dropna().unique())[:-1]
        found |= {f"{name}_{each:.0f}": at.eq(each).astype(float).where(at.notna()) for each in lines}
    return found


def _interaction(x: pd.DataFrame, chosen: Floats, trial: Ints, sets: Ints) -> list[dict[str, Any]]:
    """The row that tests whether rows and columns of a list add up; none where there are no two of each."""
    parts = [[name for name in x if str(name).startswith(f"{part}_")] for part in ("row", "column")]
    both = {f"{row} x {column}": x[row] * x[column] for row in parts[0] for column in parts[1]}
    if not both:
        return []
    row: dict[str, Any] = {"term": CELLS, "measure": "interaction"}
    more = x.assign(**both)
    fit = jackknifed(fit_clogit(more, chosen, trial), more, chosen, trial, sets)
    at = [fit.terms.index(name) for name in both]
    b, cov, free = fit.estimate[at], fit.cov[np.ix_(at, at)], len(np.unique(sets)) - len(at)
    if not np.isfinite(cov).all() or free < 1 or np.linalg.matrix_rank(cov) < len(at):
        return [row | {"note": next(filter(None, fit.term_notes), "") or ENDLESS}]
    statistic = float(b @ np.linalg.solve(cov, b)) * free / (len(at) * (free + len(at) - 1))
    return [row | {"statistic": statistic, "p_value": stats.f.sf(statistic, len(at), free)}]


def _scaled(name: str, values: "pd.Series[float]") -> "pd.Series[float]":
    if name == "rating":
        return values / RATING_STEP
    scaled = np.log(values.clip(lower=0.01)) if name == PRICE else np.log1p(values) / np.log(2)
    return pd.Series(scaled, values.index)


def jackknifed(fit: CLogit, x: pd.DataFrame, chosen: Floats, trial: Ints, clusters: Ints) -> CLogit:
    """Return the fit with the errors of fits without each cluster (CV3), see `with_errors`."""
    names = np.unique(clusters)
    apart = []
    for name in names if len(names) >= LEAST_CLUSTERS[1] else ():
        kept = clusters != name
        apart.append(fit_clogit(x[kept], chosen[kept], trial[kept]).estimate - fit.estimate)
    return with_errors(fit, pd.DataFrame(apart), ENDLESS)


def _rows(
    fit: CLogit,
    finite: Mapping[str, dict[str, Any]],
    term: str,
    told: tuple[str, ...],
    share: float,
    median: float,
) -> Iterator[dict[str, Any]]:
    """The rows of a term: its part-worth, and its elasticity or what it is worth."""
    b, error = fit.of(term)
    note = fit.term_notes[fit.terms.index(term)]
    tested = {"term": term, **student(b, error if error > 0 else np.nan, fit.df), "note": note}
    known = {**tested, "estimate": b} | finite.get(term, {})

    def scaled(measure: str, by: float) -> dict[str, Any]:
        low, high = sorted((by * known["conf_low"], by * known["conf_high"]))
        numbers = {
            "estimate": by * known["estimate"],
            "std_error": abs(by) * error,
            "conf_low": low,
            "conf_high": high,
        }
        return {**known, **numbers, "measure": measure}

    yield scaled("part_worth", 1.0)
    if term == PRICE:
        yield scaled("elasticity", 1 - share)
    elif PRICE in told:
        reason = no_price(fit, PRICE) or note
        ratio, low, high = fieller(fit, term, PRICE)
        for measure, by in (("percent", 100.0), ("money", median)):
            if reason:
                yield {"term": term, "note": reason, "measure": measure}
                continue
            spread = ratio_error(fit, term, PRICE)
            yield {
                **tested,
                "estimate": by * np.expm1(ratio),
                "std_error": by * np.exp(ratio) * spread,
                "conf_low": by * np.expm1(low),
                "conf_high": by * np.expm1(high),
                "measure": measure,
            }
