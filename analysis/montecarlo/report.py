"""The report on willingness to pay: which tables and figures answer which question, in plain words."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from analysis.montecarlo import figures
from analysis.montecarlo.hypotheses import ALL_AGENTS, ALL_ITEMS
from analysis.montecarlo.study import NOT_PROBLEMS, MonteCarloAnalysis
from analysis.reporting.answer import Wording, by_agent, clauses, number_text, sample_text, uneven
from analysis.reporting.human_values import ARIELY, HUMAN_CORRELATION
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section, named_tables
from analysis.tables.frame import counted
from analysis.tables.readings import CAPTION

TWO = 2
"""Decimals of an amount."""

ANCHORS = Wording(
    names={
        "condition[high]": "the high anchor",
        "condition[low]": "the low anchor",
        "condition": "the anchors",
    },
    first="{name} moves this by {estimate} (95 %: {interval})",
    others="{name} by {estimate} ({interval})",
    decimals=TWO,
)
LIST_PRICE = Wording(
    names={"deviation": "the distance from the list price"},
    first="its answers differ from the list price by {estimate} (95 %: {interval})",
    others="",
    decimals=TWO,
)


def report(found: MonteCarloAnalysis) -> Report:
    """Make the report: what is paid and how anchors move it, then the hypotheses and the responses needed."""
    agents = found.coefficients[found.coefficients["group"] != ALL_AGENTS]
    return Report(
        sections=_sections(found),
        answer=by_agent(agents, partial(_answer, found)),
        checked=found.notes[0],
        problems=tuple(_problems(found)),
    )


def _answer(found: MonteCarloAnalysis, agent: str, rows: pd.DataFrame) -> Iterator[str]:
    """The mean answer without an anchor, what each anchor adds, and the distance from the list price."""
    blocked = rows["blocked_low"].notna()
    rows = _by_block(rows, blocked)
    first = rows["term"] == "Intercept"
    for row in rows[first].to_dict("records"):
        mean, low, high = (number_text(row[name], TWO) for name in ("estimate", "conf_low", "conf_high"))
        how = f"95 %{', by block' * bool(blocked[first].any())}"
        interval = f" ({how}: {low} to {high})" if low else ""
        paid = f"{mean} {found.currency}".strip()
        yield f"pays {paid} on average without an anchor{interval}"
    moved = rows[~first]
    yield from clauses(moved, ANCHORS, sample_text(moved, "answer"))
    if names := [ANCHORS.names.get(term, str(term)) for term in moved.loc[blocked, "term"]]:
        yield f"{', '.join(names)}: by block, so within products"
    own = found.list_price[found.list_price["group"] == agent]
    overall = own[own["item"] == ALL_ITEMS] if (own["item"] == ALL_ITEMS).any() else own
    yield from clauses(overall, LIST_PRICE, sample_text(overall, "answer"))


def _by_block(rows: pd.DataFrame, blocked: "pd.Series[bool]") -> pd.DataFrame:
    """The differences within products where these have an interval: products do not blur them."""
    names = {
        "estimate": "blocked",
        "conf_low": "blocked_low",
        "conf_high": "blocked_high",
        "p_value": "p_blocked",
        "p_adjusted": "p_blocked_adjusted",
    }
    return rows.assign(**{name: rows[name].mask(blocked, rows[own]) for name, own in names.items()})


def _problems(found: MonteCarloAnalysis) -> Iterator[str]:
    for reason, count in found.missing.groupby("reason", sort=True)["count"].sum().items():
        yield f"{counted(int(count), 'response')} missing: {reason}."
    yield from uneven(found.attrition_by_factor, "responses")
    yield from (note for note in found.notes[1:] if note not in NOT_PROBLEMS)


def _sections(found: MonteCarloAnalysis) -> tuple[Section, ...]:
    """The measures first, then the hypotheses, then the number of responses."""
    cells = found.prompts
    money = f" ({found.currency})" if found.currency else ""
    dated = [partial(figures.generations, found.mapd, found.generations, money)] if found.generations else []
    return (
        Section(
            "Willingness to pay",
            "What would each agent pay, and how far does a number that was shown before move it? The answers"
            " of all products together: the intercept is the mean without an anchor, the other rows are"
            " differences from it (H3), with p adjusted over the differences of an agent. What products"
            " differ in blurs these; the columns by block (blocked) have the difference within products,"
            " averaged over them, and the answer above says these. The figure has the"
            " mean of each product, with its 95 % t interval over responses.",
            (
                NamedTable(
                    "coefficients",
                    f"Mean answer without an anchor (Intercept), and how far each anchor moves it{money}",
                    found.coefficients,
                    TWO,
                ),
                *named_tables(prompts=(f"Willingness to pay by agent, product and condition{money}", cells)),
            ),
            (
                NamedFigure(
                    "wtp",
                    "Willingness to pay by condition; the dashed line is the list price",
                    partial(figures.wtp, cells, money),
                ),
            ),
        ),
        Section(
            "Responses",
            "Each question was asked in a conversation of its own. A response that is missing or not one"
            " number is left out of every statistic and counted here, with its reason. Nothing is "
            "replaced or clipped. " + " ".join(found.notes),
            named_tables(
                missing=("Missing responses by reason", found.missing),
                readings=(CAPTION, found.readings),
                attrition_by_factor=(
                    "Do responses go missing evenly? Largest difference between levels (points)",
                    found.attrition_by_factor,
                ),
            ),
        ),
        Section(
            "Spread",
            "Coefficient of variation: standard deviation over mean, in the control condition.",
            named_tables(variation=("Coefficient of variation", found.variation)),
            (
                NamedFigure(
                    "variation",
                    "Coefficient of variation",
                    partial(figures.coefficient_of_variation, found.variation),
                ),
            ),
        ),
        Section(
            "Valid prices",
            "CSVR is the share of responses within the market range, averaged over prompts (a product in"
            " a condition). The figure has the stratified interval, in which what prompts differ in is no"
            " chance. The table also has the published ones: Wilson's of the pooled counts, and Wald's over"
            " the number of prompts, which takes a prompt for one answer and is far too wide.",
            named_tables(csvr=("Share of valid responses", found.csvr)),
            (
                NamedFigure(
                    "csvr",
                    "Share of valid responses with stratified 95 % intervals",
                    partial(figures.csvr, found.csvr),
                ),
            ),
        ),
        Section(
            "Deviation from the list price",
            "The absolute price deviation, averaged within each prompt and then over prompts; the "
            "interval is t over prompts. H1 tests the signed deviation against 0, two-sided; its "
            "condition is named in the table. Its adjusted p values are over an agent's products.",
            named_tables(
                mapd=("Mean absolute price deviation", found.mapd),
                list_price=("H1: response minus list price", found.list_price),
            ),
            (
                NamedFigure(
                    "mapd",
                    "Absolute price deviation by agent",
                    partial(figures.mapd, found.mapd, cells, money),
                ),
            ),
        ),
        Section(
            "Models and conditions",
            "Type III analyses of variance: of the absolute deviation on the agent (H2), of willingness "
            "to pay on the condition (H3), and on both with their interaction (H4). With treatment "
            "coding a main effect beside an interaction is the effect at the other factor's reference "
            "level; sum coding gives the usual main effects. Pooled over products, the tests of H3 and H4 "
            "have hardly any power; the columns by block (blocked) test the same means within products.",
            named_tables(
                anova=("H2 to H4: type III tests", found.anova),
            ),
        ),
        Section(
            "Comparisons of agents",
            "Absolute price deviation, the second agent minus the first. Tests over prompts take a "
            "prompt's mean as one datum; tests over responses take each answer as one, and so find far "
            "smaller differences. Cohen's d is over the root of the mean of the two variances.",
            named_tables(
                comparisons=("H5: differences between agents", found.comparisons),
                generation_tests=("H5: generation x condition x size, type III", found.generation_tests),
                generation_coefficients=("H5: coefficients", found.generation_coefficients),
                generation_cells=("H5: the cells that exist", found.generation_cells),
            ),
            tuple(NamedFigure("generations", "Absolute deviation by generation", chart) for chart in dated),
        ),
        Section(
            "Correlation with the anchor",
            "Pearson's r of response and anchor over the low and high conditions. An agent's value is "
            "the mean over its products, the overall one the mean over agents.",
            named_tables(
                correlations=("Correlation of willingness to pay with the anchor", found.correlations)
            ),
            (
                NamedFigure(
                    "correlations",
                    f"Correlation with the anchor. Human value: {HUMAN_CORRELATION} ({ARIELY}).",
                    partial(figures.correlations, found.correlations),
                ),
            ),
        ),
        Section(
            "How many responses",
            "The smallest number of responses per cell (agent x condition, all products) with which a "
            "one-way analysis of variance finds an effect of the given size f, and the power of the "
            "smallest cell.",
            named_tables(power=("Responses needed per cell", found.power)),
            (
                NamedFigure(
                    "power", "Power by number of responses per cell", partial(figures.power, found.power)
                ),
            ),
        ),
    )
