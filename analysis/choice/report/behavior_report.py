"""Report how agents decide: by which differences, in how many steps, for which stated reasons."""

from functools import partial

import pandas as pd

from analysis.choice.report import figures
from analysis.choice.report.rows import NEW_TEXTS, ONE, TWO, named_by, with_lead
from analysis.choice.study import ChoiceAnalysis
from analysis.reporting.sections import NamedFigure, NamedTable, Section


def sensitivity_section(found: ChoiceAnalysis) -> Section:
    """Return the section on how much the size of a difference matters."""
    text = (
        "How much does the size of a difference matter? The advantage of an option is how much cheaper (in"
        " percent of the mean price) or better rated (in points) it is than the others of its set. The slope"
        " says how many percentage points more often it is chosen for each 10 % or 10 points. Lines and"
        " curves are for an option that is like the others in all else, in sets of the usual size; dots are"
        " the raw shares, by tenths of the advantage. The curve is a polynomial of the fourth order in the"
        " size of the price advantage, and shows whether the line is straight."
    )
    drawn = []
    if len(found.curves):
        drawn.append(
            NamedFigure(
                "sensitivity",
                "Probability of being chosen by price and rating advantage, a line per agent.",
                partial(figures.sensitivity_figure, found.curves),
            )
        )
    if figures.known(found.curves):
        drawn.append(
            NamedFigure(
                "price_response",
                "Probability of being chosen by price advantage: fourth-order polynomial with its 95 % band,"
                " where the choice sets are not too few for one.",
                partial(figures.price_figure, found.curves),
            )
        )
    return Section(
        "Sensitivity to price and rating",
        text,
        (
            NamedTable(
                "slopes",
                f"Percentage points for 10 % of the price, or 10 points of rating{NEW_TEXTS}",
                with_lead(found.slopes),
                TWO,
            ),
            NamedTable(
                "curves",
                "The lines and curves (for new sets), and the dots (of these sets) of the figures (percent)",
                found.curves,
                ONE,
                detail=True,
            ),
        ),
        tuple(drawn),
    )


def steps_section(found: ChoiceAnalysis) -> Section:
    """Return the section on the number of steps."""
    return Section(
        "Steps",
        "How many steps did a trial take? All trials count, however they ended.",
        (
            NamedTable("steps", "Steps of a trial", found.steps, ONE),
            NamedTable("step_counts", "Trials by number of steps", found.step_counts, ONE, detail=True),
        ),
        (
            NamedFigure(
                "steps",
                "Share of trials by number of steps.",
                partial(figures.steps_figure, found.step_counts),
            ),
        ),
    )


def factors_section(factors: pd.DataFrame) -> Section:
    """Return the section on deciding factors. factors: the frame of `deciding_factors`."""
    return Section(
        "Deciding factors",
        "What do the agents say decided their choices? A judge, itself a language model, read the thoughts"
        " and memories of each trial and named the factors, each with a quotation; one that does not occur"
        " in the text is rejected. A trial may name several factors. What an agent says need not be what"
        " moves it: compare the effects above.",
        (NamedTable("factors", "Share of judged trials that name each factor (percent)", factors, ONE),),
        (
            NamedFigure(
                "factors",
                "Share of trials that name each factor, with 95 % intervals.",
                partial(
                    figures.forest,
                    factors,
                    named_by("factor"),
                    "Judged trials that name the factor (%)",
                    zero=False,
                ),
            ),
        ),
    )
