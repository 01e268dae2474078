"""Run the whole analysis of a battery of biases."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.biases.batteries import (
    ABSOLUTE,
    CHOICES,
    CONTROL,
    TREATMENT,
    bias_index,
    experiments,
    known_bias,
)
from analysis.biases.importances import FEATURES, feature_importances
from analysis.biases.regressions import anomalies, directions, margins, regressions, residuals
from analysis.estimators.evenness import by_factor
from analysis.estimators.repeats import ASKED, agents_without_variation, alike_notes
from analysis.reporting.to_json import to_json
from analysis.tables.choice_table import refuse
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import counted, result_frame
from analysis.tables.readings import readings
from analysis.tables.responses_table import CHOICE, check_responses, check_words, missing_reasons
from analysis.tables.sizes import model_sizes
from analysis.tables.table_file import RowPlaces

FACTORS = ("condition", "item", "scenario", "temperature")
"""What may make responses go missing."""


@dataclass(frozen=True)
class BiasAnalysis:
    """The frames of an analysis, each documented by the function that makes it."""

    missing: pd.DataFrame
    readings: pd.DataFrame
    attrition_by_factor: pd.DataFrame
    experiments: pd.DataFrame
    index: pd.DataFrame
    directions: pd.DataFrame
    regressions: pd.DataFrame
    margins: pd.DataFrame
    residuals: pd.DataFrame
    anomalies: pd.DataFrame
    importances: pd.DataFrame
    notes: tuple[str, ...]

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        return to_json(vars(self))


def analyze_biases(
    table: pd.DataFrame,
    *,
    population: bool = False,
    legacy_zero: bool = False,
    absolute_biases: Collection[str] = ABSOLUTE,
    valid: int = 100,
    sizes: Mapping[str, float] | None = None,
    models: pd.DataFrame | None = None,
    seed: int = 0,
) -> BiasAnalysis:
    """Analyse a response table of bias questions; the options are those of `experiments`.

    sizes: billions of parameters by agent, where its label does not tell. models: features by agent (see
    `analysis.reporting.by_model.read_models`). seed: of the importances.

    Raises AnalysisError for a table that `check_responses` refuses, another condition than control and
    treatment, an answer to a choice that is neither 1 nor 0, or `valid` below 1.
    """
    if valid < 1:
        raise AnalysisError(f"valid: {valid} is not a count from 1; correct it")
    checked = check_answers(table)
    effects = experiments(
        checked,
        population=population,
        legacy_zero=legacy_zero,
        absolute_biases=absolute_biases,
        valid=valid,
    )
    far = residuals(effects)
    families = dict(zip(checked["agent"], checked["family"], strict=True))
    return BiasAnalysis(
        missing=missing_reasons(checked),
        readings=readings(checked),
        attrition_by_factor=by_factor(checked, checked["response"].isna(), FACTORS, question=ASKED),
        experiments=effects,
        index=bias_index(effects, absolute_biases),
        directions=directions(effects),
        regressions=regressions(effects, models),
        margins=margins(effects),
        residuals=far,
        anomalies=anomalies(far),
        importances=_importances(effects, families, model_sizes(families, sizes), seed),
        notes=_notes(checked, effects, population, legacy_zero, absolute_biases, valid),
    )


def check_answers(table: pd.DataFrame) -> pd.DataFrame:
    """Return a checked copy, with the battery's names of biases. Raises AnalysisError."""
    checked = check_responses(table)
    # A name of its source may be one that the table has, too: a question must not be there twice then.
    checked = check_responses(checked.assign(item=checked["item"].map(known_bias)))
    check_words(checked, "condition", (CONTROL, TREATMENT))
    _check_choices(checked)
    return checked


def _check_choices(table: pd.DataFrame) -> None:
    """Raises AnalysisError for an answer to a choice that is neither 1 nor 0."""
    choice = (table["kind"] == CHOICE) | ((table["kind"] == "") & table["item"].isin(CHOICES))
    wrong = choice & table["response"].notna() & ~table["response"].isin([0, 1])
    problem = (
        "response to a choice is neither 1 (the biased answer) nor 0; correct it, or write number as kind"
    )
    refuse(table, wrong, RowPlaces(table), "response", problem)


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
