"""Report the effects on choice: of the linear model, of the exact tests, and how they are estimated."""

from functools import partial

import pandas as pd

from analysis.choice.effects.effects import LESS_PLACEBO
from analysis.choice.report import figures
from analysis.choice.report.rows import NEW_TEXTS, ONE, with_lead
from analysis.choice.study import ChoiceAnalysis
from analysis.reporting.human_values import CHEREP, HUMAN_EFFECTS
from analysis.reporting.sections import NamedFigure, NamedTable, Section
from analysis.tables.choice_table import ATTRIBUTES
from analysis.tables.frame import LABELS

DIFFERENCES = (
    "Cheaper and higher rated are differences between products, which may differ in other ways too: these two"
    " effects are not causal."
)
DRAWN = (
    "Attributes were drawn: the rows of their names in the exact tests, and the trade-offs, are causal."
    " Cheaper and higher rated also hold what products differ in themselves, such as their own prices."
)


def effects_section(found: ChoiceAnalysis) -> Section:
    """Return the section on the effects on choice."""
    values = ", ".join(f"{LABELS[term].lower()} {value}" for term, value in HUMAN_EFFECTS.items())
    human = f" Human shoppers: {values} points ({CHEREP})." if found.people else ""
    text = (
        "What moves each agent? An effect of +10 means: of two options in the same set that are alike in the"
        " other three features, the one with the feature is chosen 10 percentage points more often than the"
        " one without it."
    )
    if (found.effects["term"] == LESS_PLACEBO).any():
        text += (
            " A placebo is the same edit with a text that says nothing. What the nudge does beyond it is the"
            " effect of its words."
        )
    return Section(
        "Effects on choice",
        " ".join([text, DRAWN if len(found.tradeoffs) else DIFFERENCES, *found.notes]),
        (
            NamedTable(
                "effects",
                f"Effects on the probability of being chosen (percentage points){NEW_TEXTS}",
                with_lead(found.effects),
                ONE,
            ),
        ),
        (
            NamedFigure(
                "effects",
                "Effects by feature and agent, with 95 % intervals; a hollow mark has none." + human,
                partial(figures.effects_figure, found.effects, found.people),
            ),
        ),
    )


def exact_section(found: ChoiceAnalysis) -> Section:
    """Return the section on the exact tests."""
    text = (
        "What is certain about these choice sets and texts, however few there are? The design exchanges the"
        " nudge, the order and the profile itself: in a stratum of trials all else is the same. If the factor"
        " does nothing, its levels could have been exchanged within each stratum, so the chance of every"
        " result is known. In pairs this is McNemar's exact test of the strata for and against the effect;"
        " an estimate is the mean over strata, with Tango's score interval. The numbers say nothing of new"
        " sets or texts: for these see the effects above, whose errors are clustered."
    )
    if "p_equivalent" in found.exact:
        margin = found.exact["margin"].iloc[0]
        text += (
            f" With a small p_equivalent an effect is known to be smaller than {margin:g} points, in both"
            " directions (two one-sided score tests); it is not adjusted for the number of rows."
        )
    if found.exact["term"].isin(ATTRIBUTES).any():
        text += (
            " Prices, ratings or numbers of reviews were drawn: the rows of these names compare the option"
            " with the highest level (of the price: the largest change of its own) with the others. Their"
            " strata are the draws, and their test holds whatever the agent does."
        )
    frame = found.exact.drop(columns=["std_error", "statistic", "n_missing"])
    caption = "Exact tests of the design: effects in these choice sets and texts (percentage points)"
    return Section("Exact tests of the design", text, (NamedTable("exact", caption, frame, ONE),))


def logit_section(found: ChoiceAnalysis) -> Section:
    """Return the section that compares the linear model with a logit."""
    agreement = found.logit_agreement.iloc[0]
    text = (
        "Would another model say the same? A conditional (multinomial) logit with the four features, its"
        " coefficients turned into the same effects: the probability of an option with the feature less that"
        " of one without it, averaged over the sets."
    )
    if pd.notna(agreement["correlation"]):
        text += f" The two sets of effects correlate with r = {agreement['correlation']:z.3f}."
    drawn = []
    if found.logit["logit"].notna().any():
        caption = (
            "Effects from the logit against those from the linear model; on the dotted line they are equal."
        )
        drawn.append(NamedFigure("logit", caption, partial(figures.logit_figure, found.logit)))
    return Section(
        "Robustness: logit",
        text,
        (
            NamedTable("logit_agreement", "Agreement of the two sets of effects", found.logit_agreement, 3),
            NamedTable("logit", "Effects of both models (percentage points)", found.logit, ONE, detail=True),
        ),
        tuple(drawn),
    )


def methods_section() -> Section:
    """Return the section on how the effects are estimated."""
    return Section(
        "Methods",
        "Each row of the data is an option shown in a trial; the outcome is 1 for the chosen option and 0"
        " for the others. For each agent a linear probability model is fitted by least squares: chosen ~"
        " viewed_first × higher_rated × cheaper × nudged | trial, with all interactions and one fixed effect"
        " per trial, so that options are compared within their set only. Fitting the agents one by one gives"
        " the same estimates as one model fully interacted with the agent."
        "\n\nThe effect of a feature is its average marginal contrast: the predicted probability with the"
        " feature less that without it, averaged over the observed values of the other features. A nudge"
        " meant to push away is counted on the other options of its set. A feature that never differs within"
        " a trial, or that cannot be told from the others, has no estimate, and its note says why."
        " Interactions are left out, from the highest order down, where the data hold fewer than five"
        " comparisons per coefficient or cannot tell them apart; the note says so."
        "\n\nStandard errors follow by the delta method from a variance clustered two ways, by nudge text"
        " and by product category, with the small-sample factor (N−1)/(N−K) · G/(G−1), where G is the number"
        " of clusters (of the two, the smaller). With few clusters the two-way variance is often too small or"
        " even negative, so the largest of the two-way and the two one-way standard errors is used"
        " (MacKinnon, Nielsen and Webb 2024), as the note says. Intervals and p values (two-sided) use the t"
        " distribution, and end where a probability ends. Its degrees of freedom are Satterthwaite's (Bell"
        " and McCaffrey 2002): G−1 with equal clusters, fewer if a few of them decide the row; of two ways"
        " the smaller number. They speak for new nudge texts and new categories like these, not only for"
        " further trials on the same ones."
        "\n\nWith fewer than eight nudge texts or eight categories, errors are clustered one way, as the note"
        " says: by category, and with fewer than twelve categories by choice set; so are those of the"
        " placebo, by text, by category and by profile. They are then those of the jackknife over the"
        " clusters (CV3; MacKinnon, Nielsen and Webb 2023), because the usual formula is too small with few"
        " of them. With fewer than twelve clusters one way there is no interval: in simulations of an agent"
        " that always answers alike, those from eight to ten held the true effect too seldom. Only clusters"
        " that the row itself depends on count. An error by choice set with fewer than nine degrees of"
        " freedom gives no interval, because a few sets decide the row. In the slopes the jackknife over"
        " choice sets counts besides the others, where its error is larger. A row without an interval has"
        " counts: in how many choice sets, or strata, choices went for it, against it, and of how many."
        "\n\nAdjusted p values control the false discovery rate (Benjamini and Hochberg 1995) over all"
        " rows of a table, of all agents. A test has one adjusted p value: that of an exact test stands in"
        " the table exact, and a sentence repeats it.",
    )
