"""Run the whole Monte-Carlo analysis of willingness to pay."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.estimators.power import power_frame
from analysis.estimators.repeats import agents_without_variation, alike_notes, one_answer_each, with_note
from analysis.montecarlo import figures
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
from analysis.reporting.sections import NamedFigure, Section, named_tables
from analysis.reporting.to_json import to_json
from analysis.tables.frame import counted
from analysis.tables.responses_table import check_responses, missing_reasons
from analysis.tables.sizes import model_sizes


@dataclass(frozen=True)
class MonteCarloAnalysis:
    """The frames of an analysis, each documented by the function that makes it.

    The frames of generations are empty where no generations are given.
    """

    missing: pd.DataFrame
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
    correlations: pd.DataFrame
    power: pd.DataFrame
    generations: dict[str, str]
    notes: tuple[str, ...]

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        return to_json(vars(self))

    def sections(self) -> list[Section]:
        """Return the report: the measures, then the hypotheses, then the number of responses."""
        cells = self.prompts
        dated = [figures.generations(self.mapd, self.generations)] if self.generations else []
        return [
            Section(
                "Responses",
                "Each question was asked in a conversation of its own. A response that is missing or not one"
                " number is left out of every statistic and counted here, with its reason. Nothing is "
                "replaced or clipped. " + " ".join(self.notes),
                named_tables(missing=("Missing responses by reason", self.missing)),
            ),
            Section(
                "Willingness to pay",
                "Mean by product and condition, with its 95 % t interval over responses.",
                named_tables(prompts=("Willingness to pay by agent, product and condition", cells)),
                (
                    NamedFigure(
                        "wtp",
                        "Willingness to pay by condition; the dashed line is the list price",
                        figures.wtp(cells),
                    ),
                ),
            ),
            Section(
                "Spread",
                "Coefficient of variation: standard deviation over mean, in the control condition.",
                named_tables(variation=("Coefficient of variation", self.variation)),
                (
                    NamedFigure(
                        "variation",
                        "Coefficient of variation",
                        figures.coefficient_of_variation(self.variation),
                    ),
                ),
            ),
            Section(
                "Valid prices",
                "CSVR is the share of responses within the market range, averaged over prompts (a product in"
                " a condition). The figure has Wilson's interval of the pooled counts; the table also the "
                "Wald interval over the number of prompts, clipped to [0, 1].",
                named_tables(csvr=("Share of valid responses", self.csvr)),
                (
                    NamedFigure(
                        "csvr", "Share of valid responses with Wilson intervals", figures.csvr(self.csvr)
                    ),
                ),
            ),
            Section(
                "Deviation from the list price",
                "The absolute price deviation, averaged within each prompt and then over prompts; the "
                "interval is t over prompts. H1 tests the signed deviation against 0, two-sided; its "
                "condition is named in the table. No p value in this report is corrected for the number of "
                "tests.",
                named_tables(
                    mapd=("Mean absolute price deviation", self.mapd),
                    list_price=("H1: response minus list price", self.list_price),
                ),
                (NamedFigure("mapd", "Absolute price deviation by agent", figures.mapd(self.mapd, cells)),),
            ),
            Section(
                "Models and conditions",
                "Type III analyses of variance: of the absolute deviation on the agent (H2), of willingness "
                "to pay on the condition (H3), and on both with their interaction (H4). With treatment "
                "coding a main effect beside an interaction is the effect at the other factor's reference "
                "level; sum coding gives the usual main effects. The coefficients are differences from the "
                "control mean.",
                named_tables(
                    anova=("H2 to H4: type III tests", self.anova),
                    coefficients=("H3: differences from the control condition", self.coefficients),
                ),
            ),
            Section(
                "Comparisons of agents",
                "Absolute price deviation, the second agent minus the first. Tests over prompts take a "
                "prompt's mean as one datum; tests over responses take each answer as one, and so find far "
                "smaller differences. Cohen's d is over the root of the mean of the two variances.",
                named_tables(
                    comparisons=("H5: differences between agents", self.comparisons),
                    generation_tests=("H5: generation x condition x size, type III", self.generation_tests),
                    generation_coefficients=("H5: coefficients", self.generation_coefficients),
                    generation_cells=("H5: the cells that exist", self.generation_cells),
                ),
                tuple(
                    NamedFigure("generations", "Absolute deviation by generation", chart) for chart in dated
                ),
            ),
            Section(
                "Correlation with the anchor",
                "Pearson's r of response and anchor over the low and high conditions. An agent's value is "
                "the mean over its products, the overall one the mean over agents. The human value is that "
                "of Ariely, Loewenstein and Prelec (2003).",
                named_tables(
                    correlations=("Correlation of willingness to pay with the anchor", self.correlations)
                ),
                (
                    NamedFigure(
                        "correlations", "Correlation with the anchor", figures.correlations(self.correlations)
                    ),
                ),
            ),
            Section(
                "How many responses",
                "The smallest number of responses per cell (agent x condition, all products) with which a "
                "one-way analysis of variance finds an effect of the given size f, and the power of the "
                "smallest cell.",
                named_tables(power=("Responses needed per cell", self.power)),
                (NamedFigure("power", "Power by number of responses per cell", figures.power(self.power)),),
            ),
        ]


def analyze_montecarlo(
    table: pd.DataFrame,
    *,
    sizes: Mapping[str, float] | None = None,
    generations: Mapping[str, str] | None = None,
    condition: str = "control",
) -> MonteCarloAnalysis:
    """Analyse a response table of willingness to pay.

    sizes: billions of parameters by agent, where its label does not tell. generations: a version by agent,
    such as 3.1; without it there is no generation model. condition: that of H1, or "all".

    Raises AnalysisError for a table that `check_responses` refuses, a response below 0, or a condition that
    the table does not have.
    """
    checked = measures(check_responses(table))
    alike = agents_without_variation(checked)
    counting = one_answer_each(checked, alike)
    cells = prompts(counting)
    named = {agent: str(version) for agent, version in (generations or {}).items()}
    agents = sorted(checked["agent"].unique())
    tests, coefficients, existing = generation_model(counting, named, model_sizes(agents, sizes))
    if not named:
        tests, coefficients, existing = tests.iloc[:0], coefficients.iloc[:0], existing.iloc[:0]
    given = counting[counting["response"].notna()].groupby(["agent", "condition"]).size()
    combinations = checked.groupby(["agent", "condition"]).ngroups
    return MonteCarloAnalysis(
        missing=missing_reasons(checked),
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
        correlations=with_note(anchor_correlations(counting), alike),
        power=power_frame(max(combinations, 2), int(given.min()) if len(given) == combinations else 0),
        generations=named,
        notes=(*_notes(checked, named), *alike_notes(alike)),
    )


def _notes(table: pd.DataFrame, generations: Mapping[str, str]) -> tuple[str, ...]:
    missing = int(table["response"].isna().sum())
    notes = [f"{missing:,} of {counted(len(table), 'response')} are missing."]
    for column, what in (("reference", "list price"), ("low", "market range")):
        if absent := int(table[column].isna().sum()):
            notes.append(f"{counted(absent, 'question')} without a {what}: left out of what needs it.")
    if table["agent"].nunique() == 1:
        notes.append("With one agent, tests between agents are empty.")
    if not generations:
        notes.append("No generations were given, so there is no generation model.")
    return tuple(notes)
