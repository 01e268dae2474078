"""Run the whole analysis of a battery of biases."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.biases import figures
from analysis.biases.batteries import (
    ABSOLUTE,
    CHOICES,
    CONTROL,
    TREATMENT,
    bias_index,
    experiments,
    regressions,
)
from analysis.biases.importances import FEATURES, feature_importances
from analysis.estimators.repeats import agents_without_variation, alike_notes
from analysis.reporting.sections import NamedFigure, Section, named_tables
from analysis.reporting.to_json import to_json
from analysis.tables.choice_table import refuse
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import counted, result_frame
from analysis.tables.responses_table import CHOICE, check_responses, check_words, missing_reasons
from analysis.tables.sizes import model_sizes
from analysis.tables.table_file import Places


@dataclass(frozen=True)
class BiasAnalysis:
    """The frames of an analysis, each documented by the function that makes it."""

    missing: pd.DataFrame
    experiments: pd.DataFrame
    index: pd.DataFrame
    regressions: pd.DataFrame
    importances: pd.DataFrame
    notes: tuple[str, ...]

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        return to_json(vars(self))

    def sections(self) -> list[Section]:
        """Return the report: the index, then the experiments behind it, then what explains them."""
        return [
            Section(
                "Responses",
                "Each question was asked in a context of its own. A response that is missing or not valid is"
                " left out and counted here, with its reason. " + " ".join(self.notes),
                named_tables(missing=("Missing responses by reason", self.missing)),
            ),
            Section(
                "Biases by agent",
                "Cohen's d of each experiment, averaged over scenarios and temperatures and then capped to 0"
                " to 1. The figure shows the mean before the cap; 0.2 is small, 0.5 medium, 0.8 large. "
                "Experiments that are incomplete, or in which the groups are completely separated so that d "
                "is undefined, are left out and counted in the table.",
                named_tables(index=("Bias detected by bias and agent", self.index)),
                (
                    NamedFigure(
                        "heatmap", "Mean bias detected by bias and agent", figures.heatmap(self.index)
                    ),
                ),
            ),
            Section(
                "Scenarios and temperatures",
                "d = (treatment mean - control mean) / pooled standard deviation. Positive values are in the"
                " biased direction; for gambler's fallacy that is the higher estimate after a streak. "
                "Intervals are 95 %, by the delta method without assuming normality; p values are two-sided "
                "and not corrected for the number of tests. The figure averages over agents.",
                named_tables(experiments=("Cohen's d by experiment", self.experiments)),
                (
                    NamedFigure(
                        "scenarios", "Mean d by scenario and temperature", figures.scenarios(self.experiments)
                    ),
                ),
            ),
            Section(
                "Homogeneity",
                "How much of the variance of d between the experiments of a pair is sampling error. From "
                "0.75 on they may be spoken of as one effect. The ratios are in the table of biases by "
                "agent.",
                figures=(
                    NamedFigure(
                        "homogeneity", "Homogeneity by bias and agent", figures.homogeneity(self.index)
                    ),
                ),
            ),
            Section(
                "Regressions",
                "Least squares of the bias detected, and of its value capped to 0 to 1, on bias, agent, "
                "scenario and temperature. A coefficient is the difference from the reference, all else "
                "equal.",
                named_tables(regressions=("Regressions over experiments", self.regressions)),
            ),
            Section(
                "What makes a model biased",
                "Gradient-boosted trees predict the capped bias of agents they have not seen. A feature's "
                "importance is how much worse they do when it is shuffled.",
                named_tables(importances=("Permutation importances on held-out agents", self.importances)),
                (
                    NamedFigure(
                        "importances", "Permutation importances", figures.importances(self.importances)
                    ),
                ),
            ),
        ]


def analyze_biases(
    table: pd.DataFrame,
    *,
    population: bool = False,
    legacy_zero: bool = False,
    absolute_biases: Collection[str] = ABSOLUTE,
    valid: int = 100,
    sizes: Mapping[str, float] | None = None,
    seed: int = 0,
) -> BiasAnalysis:
    """Analyse a response table of bias questions; the options are those of `experiments`.

    sizes: billions of parameters by agent, where its label does not tell. seed: of the importances.

    Raises AnalysisError for a table that `check_responses` refuses, another condition than control and
    treatment, an answer to a choice that is neither 1 nor 0, or `valid` below 1.
    """
    if valid < 1:
        raise AnalysisError(f"valid: {valid} is not a count from 1; correct it")
    checked = check_responses(table)
    check_words(checked, "condition", (CONTROL, TREATMENT))
    _check_choices(checked)
    effects = experiments(
        checked,
        population=population,
        legacy_zero=legacy_zero,
        absolute_biases=absolute_biases,
        valid=valid,
    )
    families = dict(zip(checked["agent"], checked["family"], strict=True))
    return BiasAnalysis(
        missing=missing_reasons(checked),
        experiments=effects,
        index=bias_index(effects),
        regressions=regressions(effects),
        importances=_importances(effects, families, model_sizes(families, sizes), seed),
        notes=_notes(checked, effects, population, legacy_zero, absolute_biases, valid),
    )


def _check_choices(table: pd.DataFrame) -> None:
    """Raises AnalysisError for an answer to a choice that is neither 1 nor 0."""
    choice = (table["kind"] == CHOICE) | ((table["kind"] == "") & table["item"].isin(CHOICES))
    wrong = choice & table["response"].notna() & ~table["response"].isin([0, 1])
    problem = (
        "response to a choice is neither 1 (the biased answer) nor 0; correct it, or write number as kind"
    )
    refuse(table, wrong, Places(table), "response", problem)


def _importances(
    effects: pd.DataFrame, families: Mapping[str, str], sizes: Mapping[str, float], seed: int
) -> pd.DataFrame:
    """Without its library this one table is empty; the rest of the analysis stands."""
    try:
        return feature_importances(effects, families, sizes, seed=seed)
    except AnalysisError as error:
        return result_frame(
            [{"term": name, "group": "all experiments", "note": str(error)} for name in FEATURES]
        )


def _notes(
    table: pd.DataFrame,
    effects: pd.DataFrame,
    population: bool,
    legacy_zero: bool,
    absolute_biases: Collection[str],
    valid: int,
) -> tuple[str, ...]:
    missing = int(table["response"].isna().sum())
    incomplete = int((~effects["complete"].astype(bool)).sum())
    separated = int(effects["separated"].fillna(False).sum())
    treated = "counted as 0" if legacy_zero else "undefined and left out of the means"
    divisor = "n (population)" if population else "n - 1 (sample)"
    absolute = ", ".join(sorted(absolute_biases)) or "no bias"
    return (
        f"{missing:,} of {counted(len(table), 'response')} are missing.",
        f"{incomplete} of {counted(len(effects), 'experiment')} are incomplete "
        f"(fewer than {valid} valid responses to a question).",
        f"{counted(separated, 'experiment')} completely separated, {treated}.",
        *alike_notes(agents_without_variation(table)),
        f"Standard deviations have divisor {divisor}. A difference either way counts for: {absolute}.",
    )
