"""Fit a simulated shopper to an agent's choices, and measure on other choice sets how well it predicts.

The likelihood is that of `agents/simulated/utility.py`: a conditional logit on what the shopper weighs.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import optimize, stats

from agents.simulated.tab_shopper import ShopperProfile
from agents.simulated.utility import Taste
from analysis.estimators.clogit import fit_clogit
from analysis.estimators.clogit_few_data import fit_firth, shares
from analysis.estimators.identification import dependent_columns
from analysis.estimators.leave_out import moves, with_errors
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats
from experiments.fitting.shown_choices import BRAND, ShownChoices

CONSTANT: Final = ("position",)
"""What a shopper weighs that does not look at the options."""
FEW: Final = 15
"""Fewer choices than this for each weight are called few data."""
_DIGITS: Final = 6
"""The significant digits with which weights are told and written."""
_ZERO: Final = 1e-9
"""A weight that is 0 but for rounding."""
_SIGN: Final = float(stats.chi2.isf(0.10, 1))
"""Twice the log-likelihood that determinism has to add: the 5 % level at the edge of what it may be."""


@dataclass(frozen=True)
class Parameter:
    """An estimate by its name in the YAML file; std_error, conf_low, conf_high: None where there is none.

    reason: why it is not estimated (and so at its default), or has no standard error.
    """

    name: str
    estimate: float
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    fixed: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Quality:
    """How well chances predict choices.

    loglik: per choice, in natural logarithms. pseudo_r2: McFadden's (1974), 1 - loglik / that of chance.
    right: share of choices whose likeliest option was chosen; of several likeliest, each counts its part.
    brier: sum of squared differences between chances and choice, per choice (0: perfect).
    """

    loglik: float
    pseudo_r2: float
    right: float
    brier: float


@dataclass(frozen=True)
class ShopperFit:
    """A fitted shopper; `notes` are what a reader has to know.

    quality: of the choices of held-out sets, each predicted by a shopper that was fitted without its set: by
    the shopper (`shopper`), one that weighs `position` alone (`constant`), and `chance`. Empty where there
    are no other sets. folds: the number of parts in turn held out. within: the shopper's on its own choices.
    """

    parameters: tuple[Parameter, ...]
    profile: ShopperProfile
    choices: int
    sets: int
    without_choice: int
    folds: int
    quality: dict[str, Quality]
    within: Quality
    notes: tuple[str, ...]

    @property
    def fixed(self) -> dict[str, list[str]]:
        """The parameters that are not estimated, by the reason."""
        found: dict[str, list[str]] = {}
        for each in self.parameters:
            if each.fixed:
                found.setdefault(each.reason, []).append(each.name)
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return asdict(self) | {"profile": self.profile.model_dump(mode="json", exclude_defaults=True)}


def fit_shopper(shown: ShownChoices, holdout: float) -> ShopperFit:
    """Fit a shopper by maximum likelihood; errors are clustered by choice set.

    holdout: the share of the choice sets that each fold holds out. Raises AnalysisError where nothing was
    chosen, or nothing differs between options.
    """
    if not len(shown.starts):
        raise AnalysisError("no trial ended in a choice; there is nothing to fit")
    told = _varied(shown)
    if not told:
        raise AnalysisError("the options differ in nothing that a simulated shopper weighs; nothing to fit")
    weights, parameters, notes = _estimated(shown, told)
    chances = shares(shown.x[told].to_numpy() @ weights, shown.starts)
    determinism = _determinism(shown, chances)
    fixed = [_fixed(shown, name) for name in map(str, shown.x) if name not in told]
    if len(shown.starts) < FEW * len(told):
        notes.append(
            f"few data: {len(shown.starts):,} choices for {len(told)} weights; as many others may give others"
        )
    folds, quality = _held_out(shown, holdout)
    if not folds:
        notes.append("one choice set only: none can be held out, so how well it predicts others is unknown")
    elif quality["shopper"].loglik <= quality["chance"].loglik:
        notes.append("it predicts other choice sets no better than chance does: no stand-in as it is")
    elif quality["shopper"].loglik <= quality["constant"].loglik:
        notes.append("position alone predicts other choice sets as well as all weights together")
    if determinism.reason and not determinism.fixed:
        notes.append(f"determinism: {determinism.reason}")
    taste: dict[str, Any] = {"brand": {}}
    for each in parameters:
        inner = taste["brand"] if each.name.startswith(BRAND) else taste
        inner[each.name.removeprefix(BRAND)] = each.estimate
    return ShopperFit(
        (*parameters, determinism, *fixed),
        ShopperProfile(taste=Taste(**taste, determinism=determinism.estimate)),
        len(shown.starts),
        len(np.unique(shown.sets)),
        shown.without_choice,
        folds,
        quality,
        _quality(shown, chances),
        tuple(notes),
    )


def _differences(shown: ShownChoices) -> Floats:
    """Each option less the first one of its trial."""
    x = shown.x.to_numpy()
    return np.asarray(x - np.repeat(x[shown.starts], shown.sizes, axis=0), dtype=np.float64)


def _varied(shown: ShownChoices) -> list[str]:
    """The weights that these choices can tell of."""
    dependent = dependent_columns(_differences(shown))
    return [name for at, name in enumerate(map(str, shown.x)) if at not in dependent]


def _fixed(shown: ShownChoices, name: str) -> Parameter:
    """Why a weight is fixed at 0."""
    at = list(shown.x).index(name)
    others = np.flatnonzero(dependent_columns(_differences(shown))[at])
    if not len(others):
        return Parameter(name, 0.0, fixed=True, reason="the trials do not vary it")
    names = ", ".join(shown.x.columns[others])
    return Parameter(name, 0.0, fixed=True, reason=f"it cannot be told apart from {names}")


def _estimated(shown: ShownChoices, told: list[str]) -> tuple[Floats, list[Parameter], list[str]]:
    """The weights of these columns with their errors, and what to know of them."""
    x, trial = shown.x[told], np.repeat(np.arange(len(shown.starts)), shown.sizes)
    cluster = np.repeat(shown.sets, shown.sizes)
    fit = fit_clogit(x, shown.chosen, trial, cov="clustered", cluster=cluster)
    if np.isfinite(fit.estimate).all():
        weights, errors = _rounded(fit.estimate), fit.std_error
        if np.isfinite(errors).all():
            errors = with_errors(fit, moves(fit, x, shown.chosen, trial, cluster)).std_error
        half = stats.t.ppf(0.975, fit.df) * errors
        parameters = [
            _with_error(name, at, error, (at - width, at + width), reason)
            for name, at, error, width, reason in zip(
                told, weights, errors, half, fit.term_notes, strict=True
            )
        ]
        return weights, parameters, list(dict.fromkeys(filter(None, fit.term_notes)))
    weights = _rounded(fit_firth(x.to_numpy(), shown.chosen, shown.starts))
    why = "no standard error: the choices are separated"
    notes = [
        f"{fit.notes[0] if fit.notes else 'the likelihood has no maximum'}: no finite weights are the"
        " likeliest, so these are Firth's penalised estimates, without standard errors"
    ]
    return weights, [Parameter(n, float(w), reason=why) for n, w in zip(told, weights, strict=True)], notes


def _rounded(values: Floats) -> Floats:
    return np.array([float(f"{value:.{_DIGITS}g}") if abs(value) > _ZERO else 0.0 for value in values])


def _with_error(
    name: str, estimate: float, error: float, interval: tuple[float, float], reason: str
) -> Parameter:
    if np.isnan(error):
        return Parameter(name, float(estimate), reason=reason)
    low, high = map(float, interval)
    return Parameter(name, float(estimate), float(error), low, high, reason=reason)


def _predicting(shown: ShownChoices, wanted: Sequence[str]) -> tuple[list[str], Floats]:
    """The weights among those wanted that these choices tell of, however they are found."""
    told = [name for name in _varied(shown) if name in wanted]
    return told, _estimated(shown, told)[0] if told else np.empty(0)


def _held_out(shown: ShownChoices, holdout: float) -> tuple[int, dict[str, Quality]]:
    """Cross-validate by choice set: the number of folds, and the quality over all of them together.

    The sets are dealt to the folds by a fixed shuffle of their order.
    """
    sets = np.random.default_rng(0).permutation(np.unique(shown.sets))
    folds = min(len(sets), max(2, round(1 / holdout)))
    if folds < 2:
        return 0, {}
    models = {"shopper": list(map(str, shown.x)), "constant": list(CONSTANT)}
    chances = {name: np.empty(len(shown.x)) for name in models}
    for fold in range(folds):
        out = sets[fold::folds]
        rows = np.repeat(np.isin(shown.sets, out), shown.sizes)
        train, test = shown.of_sets(np.setdiff1d(sets, out)), shown.of_sets(out)
        for name, wanted in models.items():
            told, weights = _predicting(train, wanted)
            chances[name][rows] = shares(test.x[told].to_numpy() @ weights, test.starts)
    equal = 1 / np.repeat(shown.sizes, shown.sizes)
    return folds, {name: _quality(shown, each) for name, each in (chances | {"chance": equal}).items()}


def _quality(shown: ShownChoices, chances: Floats) -> Quality:
    starts, sizes = shown.starts, shown.sizes
    tiny = np.finfo(float).tiny
    loglik = float(np.log(np.maximum(chances[shown.chosen == 1], tiny)).mean())
    top = chances >= np.repeat(np.maximum.reduceat(chances, starts), sizes) - 1e-12
    right = np.add.reduceat(top * shown.chosen, starts) / np.add.reduceat(top.astype(float), starts)
    brier = np.add.reduceat((chances - shown.chosen) ** 2, starts)
    return Quality(
        loglik, 1 - loglik / -float(np.log(sizes).mean()), float(right.mean()), float(brier.mean())
    )


def _determinism(shown: ShownChoices, chances: Floats) -> Parameter:
    """The share of choices that the prompt alone draws, by maximum likelihood given the weights.

    With this share d, each answer to a prompt is, independently, the prompt's own answer, which is drawn
    once, or else drawn anew. So answers y_1 ... y_n have the likelihood
    sum_c p_c prod_i (d [y_i = c] + (1 - d) p_y_i).
    """
    name = "determinism"
    counts: dict[int, Floats] = {}
    chance: dict[int, Floats] = {}
    of_set: dict[int, int] = {}
    bounds = [*shown.starts, len(chances)]
    for at, (prompt, low, high) in enumerate(zip(shown.prompts, bounds, bounds[1:], strict=False)):
        counts[prompt] = counts.get(prompt, np.zeros(high - low)) + shown.chosen[low:high]
        chance[prompt], of_set[prompt] = np.maximum(chances[low:high], 1e-300), int(shown.sets[at])
    again = [prompt for prompt, answers in counts.items() if answers.sum() > 1]
    if not again:
        return Parameter(name, 0.0, fixed=True, reason="no prompt was asked twice")

    def logliks(share: float) -> Floats:
        """For each prompt, against the likelihood without determinism."""
        found = []
        for prompt in again:
            p, n = chance[prompt], counts[prompt]
            with np.errstate(divide="ignore"):
                other = np.where(n > 0, n * np.log1p(-share), 0.0)
                own = np.where(n > 0, n * np.log(share + (1 - share) * p) - n * np.log(p), 0.0)
                each = np.log(p) + other.sum() - other + own
            found.append(np.logaddexp.reduce(each))
        return np.array(found)

    highest = 1 - 1e-6
    best = optimize.minimize_scalar(lambda d: -logliks(d).sum(), bounds=(0, highest), method="bounded")
    share = float(best.x)
    if 2 * (logliks(share).sum() - logliks(0.0).sum()) < _SIGN:
        why = f"{len(again):,} prompts that were asked again show no more than chance"
        return Parameter(name, 0.0, fixed=True, reason=why)
    if all((counts[prompt] > 0).sum() == 1 for prompt in again):
        why = f"all {len(again):,} prompts that were asked again were answered alike"
        return Parameter(name, 1.0, reason=why)
    step = min(1e-3, (1 - share) / 4, share / 4)
    up, at_best, down = (logliks(share + by) for by in (step, 0.0, -step))
    scores = pd.Series((up - down) / (2 * step)).groupby([of_set[prompt] for prompt in again]).sum()
    curvature = -float((up - 2 * at_best + down).sum()) / step**2
    error = float(np.sqrt((scores**2).sum()) / curvature) if curvature > 0 else np.nan
    low, high = np.clip([share - 1.96 * error, share + 1.96 * error], 0, 1)
    return _with_error(name, float(f"{share:.{_DIGITS}g}"), error, (low, high), "")
