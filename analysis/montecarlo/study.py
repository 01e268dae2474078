"""Run the whole Monte-Carlo analysis of willingness to pay."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

from analysis.estimators.evenness import by_factor
from analysis.estimators.power import power_frame
from analysis.estimators.repeats import (
    ASKED,
    agents_without_variation,
    alike_notes,
    one_answer_each,
    with_note,
)
from analysis.montecarlo.contrasts import contrasts as contrasts_of
from analysis.montecarlo.hypotheses import (
    agent_comparisons,
    anovas,
    condition_coefficients,
    generation_model,
    list_price_tests,
)
from analysis.montecarlo.valuation import (
    anchor_correlations,
    measures,
    price_deviation,
    prompts,
    valid_share,
    variation,
)
from analysis.reporting.to_json import to_json
from analysis.tables.frame import counted
from analysis.tables.readings import readings
from analysis.tables.responses_table import check_responses, missing_reasons
from analysis.tables.sizes import model_sizes

NOT_PROBLEMS = (
    ONE_AGENT := "With one agent, tests between agents are empty.",
    NO_GENERATIONS := "No generations were given, so there is no generation model.",
)
"""Notes about what was not asked for."""

FAR: Final = 5.0
"""From so many times the median of a question on, an answer is told as far off; 0 is an answer."""


@dataclass(frozen=True)
class MonteCarloAnalysis:
    """The frames of an analysis, each documented by the function that makes it.

    The frames of generations are empty where none are given. `contrasts` is None where none was asked for.
    """

    missing: pd.DataFrame
    readings: pd.DataFrame
    attrition_by_factor: pd.DataFrame
    prompts: pd.DataFrame
    variation: pd.DataFrame
    csvr: pd.DataFrame
    mapd: pd.DataFrame
    list_price: pd.DataFrame
    anova: pd.DataFrame
    coefficients: pd.DataFrame
    comparisons: pd.DataFrame
    generation_tests: pd.DataFrame
    generation_coefficients: pd.DataFrame
    generation_cells: pd.DataFrame
    generation_slopes: pd.DataFrame
    correlations: pd.DataFrame
    power: pd.DataFrame
    generations: dict[str, str]
    notes: tuple[str, ...]
    contrasts: pd.DataFrame | None = None
    currency: str = ""
    """Of the answers, for their labels; empty where it is not known."""

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        left_out = {"currency", *(["contrasts"] if self.contrasts is None else [])}
        return to_json({name: each for name, each in vars(self).items() if name not in left_out})


def analyze_montecarlo(
    table: pd.DataFrame,
    *,
    sizes: Mapping[str, float] | None = None,
    generations: Mapping[str, str] | None = None,
    condition: str = "control",
    contrasts: Sequence[str] = (),
) -> MonteCarloAnalysis:
    """Analyse a response table of willingness to pay.

    sizes: billions of parameters by agent, where its label does not tell. generations: a version by agent,
    such as 3.1; without it there is no generation model. condition: that of H1, or "all".
    contrasts: `A:B` each, see `analysis.montecarlo.contrasts`.

    Raises AnalysisError for a table that `check_responses` refuses, a response below 0, or a condition that
    the table does not have.
    """
    checked = measures(check_responses(table))
    alike = agents_without_variation(checked)
    counting = one_answer_each(checked, alike)
    cells = prompts(counting)
    named = {agent: str(version) for agent, version in (generations or {}).items()}
    agents = sorted(checked["agent"].unique())
    made = generation_model(counting, named, model_sizes(agents, sizes))
    tests, coefficients, existing, slopes = made if named else (frame.iloc[:0] for frame in made)
    given = counting[counting["response"].notna()].groupby(["agent", "condition"]).size()
    combinations = checked.groupby(["agent", "condition"]).ngroups
    return MonteCarloAnalysis(
        missing=missing_reasons(checked),
        readings=readings(checked),
        attrition_by_factor=by_factor(
            checked, checked["response"].isna(), ("condition", "item"), question=ASKED
        ),
        prompts=with_note(cells, alike),
        variation=variation(checked),
        csvr=with_note(valid_share(cells), alike),
        mapd=price_deviation(cells),
        list_price=with_note(list_price_tests(counting, condition), alike),
        anova=with_note(anovas(counting), alike),
        coefficients=with_note(condition_coefficients(counting), alike),
        comparisons=agent_comparisons(counting, cells, named or None),
        generation_tests=tests,
        generation_coefficients=coefficients,
        generation_cells=existing,
        generation_slopes=slopes,
        correlations=with_note(anchor_correlations(counting), alike),
        power=power_frame(max(combinations, 2), int(given.min()) if len(given) == combinations else 0),
        generations=named,
        notes=(*_notes(checked, named), *alike_notes(alike)),
        contrasts=with_note(contrasts_of(counting, contrasts), alike) if contrasts else None,
        currency=" and ".join(sorted(set(checked["currency"]) - {""})),
    )


def _notes(table: pd.DataFrame, generations: Mapping[str, str]) -> tuple[str, ...]:
    missing = int(table["response"].isna().sum())
    notes = [f"{missing:,} of {counted(len(table), 'response')} are missing."]
    for column, what in (("reference", "list price"), ("low", "market range")):
        if absent := int(table[column].isna().sum()):
            notes.append(f"{counted(absent, 'question')} without a {what}: left out of what needs it.")
    notes += _far_off(table)
    if table["agent"].nunique() == 1:
        notes.append(ONE_AGENT)
    if not generations:
        notes.append(NO_GENERATIONS)
    return tuple(notes)


def _far_off(table: pd.DataFrame) -> Iterator[str]:
    """Tell of each agent how many answers are far from its others to the same question."""
    asked = table.groupby(["agent", "item", "condition"])["response"]
    middle, given = asked.transform("median"), asked.transform("count")
    far = (given >= 3) & (middle > 0) & ~table["response"].between(middle / FAR, middle * FAR)
    far &= table["response"] > 0
    for agent, count in table.loc[far, "agent"].value_counts(sort=False).sort_index().items():
        yield (
            f"{agent}: {counted(int(count), 'response')} more than {FAR:g} times above or below the median of"
            " the question; a slip or another unit moves means and their intervals, so look at them."
        )
