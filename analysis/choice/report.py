"""Write the report of the choice analysis: which tables and figures answer which question."""

from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd

from analysis.choice import figures
from analysis.choice.effects import LESS_PLACEBO
from analysis.choice.stopping_report import said, stopping_section
from analysis.choice.study import ChoiceAnalysis
from analysis.choice.tradeoff_report import tradeoff_clauses, tradeoff_section
from analysis.choice.wording import WORDING
from analysis.reporting.answer import LEVEL, by_agent, clauses, p_text, sample_text, sentence
from analysis.reporting.human_values import CHEREP, HUMAN_EFFECTS
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.choice_table import ATTRIBUTES
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import LABELS, counted, heading

EFFECT = "Effect on the probability of being chosen (percentage points)"
DIFFERENCES = (
    "Cheaper and higher rated are differences between products, which may differ in other ways too: these two"
    " effects are not causal."
)
DRAWN = (
    "Attributes were drawn: the rows of their names in the exact tests, and the trade-offs, are causal."
    " Cheaper and higher rated also hold what products differ in themselves, such as their own prices."
)
ONE, TWO = 1, 2
"""Decimals of percentage points, and of numbers whose second decimal counts."""


def report(found: ChoiceAnalysis) -> Report:
    """The report: the effects first; what the table does not hold gives no section."""
    made = [_effects(found), _exact(found), _attrition(found), _treatment(found)]
    if found.sequence is not None:
        made.insert(0, stopping_section(found.sequence, found.sequence_path))
    makers: list[tuple[pd.DataFrame, Callable[[ChoiceAnalysis], Section]]] = [
        (found.tradeoffs, lambda own: tradeoff_section(own.tradeoffs)),
        (found.nudge_texts, _nudges),
        (found.profiles, _profiles),
        (found.heterogeneity, _common),
        (found.positions, _larger_sets),
        (found.slopes, _sensitivity),
        (found.logit, _logit),
        (found.steps, _steps),
    ]
    made += [make(found) for frame, make in makers if len(frame)]
    if found.factors is not None and len(found.factors):
        made.append(factors_section(found.factors))
    stopped = None if found.sequence is None else _stopped(found, found.sequence)
    return Report(
        sections=(*made, _methods()),
        answer=(
            *(stopped or by_agent(found.effects, partial(_answer, found.tradeoffs))),
            *_equivalent(found.exact),
        ),
        checked=_checked(found),
        problems=tuple(_problems(found)),
    )


def _stopped(found: ChoiceAnalysis, sequence: pd.DataFrame) -> tuple[str, ...]:
    """What the sequence says comes first; then the effects that the rule was not about."""
    rows, told = sequence.set_index("group", drop=False), list[str]()
    for agent, effects in found.effects.groupby("group", sort=True):
        others, clause = effects, list[str]()
        if agent in rows.index:
            own = rows.loc[[agent]].to_dict("records")[0]
            others, clause = effects[effects["term"] != own["term"]], [said(own)]
        told.append(sentence(str(agent), [*clause, *_answer(found.tradeoffs, str(agent), others)]))
    return tuple(told)


def _equivalent(exact: pd.DataFrame) -> Iterator[str]:
    """Which effects of each agent are known to be smaller than the margin, where there is one."""
    if "p_equivalent" not in exact:
        return
    for agent, rows in exact[exact["part"] == ""].groupby("group", sort=True):
        said = [
            f"{WORDING.names[row['term']]} moves the choice by less than {row['margin']:g} points"
            f" ({row['conf_low']:.1f} to {row['conf_high']:.1f}, p {p_text(row['p_equivalent'])})"
            for row in rows[rows["p_equivalent"] < LEVEL].to_dict("records")
        ]
        if said:
            yield sentence(str(agent), [*said, "by the exact test, about these choice sets and texts only"])


def _answer(worth: pd.DataFrame, agent: str, rows: pd.DataFrame) -> list[str]:
    """Where the design is too small for an interval about new sets, the exact one about these is said."""
    rows = rows.set_index("term").reindex([term for term in WORDING.names if term in set(rows["term"])])
    exact = rows["conf_low"].isna() & rows["exact_low"].notna() & rows["estimate"].notna()
    others = {
        "conf_low": rows["exact_low"],
        "conf_high": rows["exact_high"],
        "p_adjusted": benjamini_hochberg(rows["p_exact"]),
    }
    for column, values in others.items():
        rows[column] = rows[column].mask(exact, values)
    said = clauses(rows.reset_index(), WORDING, sample_text(rows, "trial"))
    if exact.any():
        which = ", ".join(WORDING.names[term] for term in rows.index[exact])
        said.append(f"{which}: by the exact test, about these choice sets and texts only")
    return said + tradeoff_clauses(worth[worth["group"] == agent])


def _checked(found: ChoiceAnalysis) -> str:
    """How the trials ended, and whether the edits reached their pages."""
    chosen = int(found.attrition.loc[found.attrition["outcome"] == "choice", "count"].sum())
    ended = f"{chosen:,} of {counted(int(found.attrition['count'].sum()), 'trial')} ended in a choice"
    if found.treatment is None:
        return f"{ended}; no receipts came with this table, so its edits cannot be checked."
    if found.treatment.empty:
        return f"{ended}; no page was edited."
    receipts = int(found.treatment["receipts"].sum())
    if (found.treatment["note"] == "").all():
        return f"{ended}; every planned edit reached its pages ({counted(receipts, 'receipt')})."
    return f"{ended}; {counted(receipts, 'receipt')} of edits."


def _problems(found: ChoiceAnalysis) -> Iterator[str]:
    """Trials without a choice, uneven attrition, and edits that were not seen."""
    others = found.attrition[found.attrition["outcome"] != "choice"].groupby("outcome")["count"].sum()
    if others.sum():
        counts = ", ".join(f"{n:,} {outcome}" for outcome, n in others.items() if n)
        yield f"{counted(int(others.sum()), 'trial')} without a choice, left out of the effects: {counts}."
    uneven = found.equal_attrition[found.equal_attrition["p_value"] < LEVEL]
    for row in uneven.to_dict("records"):
        yield (
            f"{row['group']}: choices go missing unevenly, by up to {row['estimate']:.1f} points between"
            f" conditions (p {p_text(row['p_value'])}): the effects may be biased;"
            " the table bounds says how far."
        )
    by_factor = found.attrition_by_factor
    for row in by_factor[by_factor["p_adjusted"] < LEVEL].to_dict("records"):
        yield (
            f"{row['group']}: choices go missing unevenly over {heading(row['factor'])}, by up to"
            f" {row['estimate']:.1f} points (adjusted p {p_text(row['p_adjusted'])})."
        )
    if found.treatment is not None:
        for row in found.treatment[found.treatment["note"] != ""].to_dict("records"):
            what = f"{row['intervention']}, {row['edit']} on {row['page_type']} pages"
            yield f"{what}: {row['note']} ({row['receipts']:,} receipts in {row['trials']:,} trials)."
        unseen = int(found.treatment.get("not_checked", pd.Series(dtype=int)).sum())
        if unseen:
            yield f"{unseen:,} times nobody looked in the browser whether an edit stood on the page."


def _attrition(found: ChoiceAnalysis) -> Section:
    counts = found.attrition.pivot_table(
        index=["agent", "condition", "trials"], columns="outcome", values="count", sort=False, observed=True
    )
    outcomes = sorted(counts.columns, key=lambda name: (name != "choice", name))
    tables = [
        NamedTable("outcomes", "How the trials ended", counts[outcomes].astype(int).reset_index()),
        NamedTable(
            "attrition", "Share of each outcome, with Wilson's interval", found.attrition, detail=True
        ),
        NamedTable(
            "equal_attrition",
            "Do choices go missing evenly? Largest difference between conditions, percentage points",
            found.equal_attrition.drop(columns="term"),
            ONE,
        ),
    ]
    if len(found.attrition_by_factor):
        tables.append(
            NamedTable(
                "attrition_by_factor",
                "Do they over the design's other factors? Largest difference, percentage points",
                _lead(found.attrition_by_factor.drop(columns="term"), "factor"),
                ONE,
            )
        )
    drawn = [
        NamedFigure(
            "attrition",
            "How the trials ended, by agent and condition.",
            partial(figures.attrition_figure, found.attrition),
        )
    ]
    text = (
        "How the trials ended. Trials without a choice are left out of the effects; if they go missing more"
        " often under one condition than another, the effects may be biased."
    )
    if len(found.bounds):
        text += (
            "\n\nThe worst case: each trial without a choice is given the one that makes an effect smallest,"
            " or largest (Manski 1990). An effect whose bounds keep clear of 0 has the right sign whatever"
            " those trials would have shown. The bounds say nothing of sampling error."
        )
        tables.append(
            NamedTable(
                "bounds",
                "Worst-case bounds of each effect, percentage points",
                _lead(found.bounds),
                ONE,
            )
        )
        drawn.append(
            NamedFigure(
                "bounds",
                "Effects with 95 % intervals, over the range that trials without a choice leave open.",
                partial(figures.bounds_figure, found.effects, found.bounds),
            )
        )
    return Section("Attrition", text, tuple(tables), tuple(drawn))


def _treatment(found: ChoiceAnalysis) -> Section:
    if found.treatment is None:
        text = "No receipts came with this table: whether the edits reached the pages cannot be checked here."
        return Section("Treatment check", text)
    if found.treatment.empty:
        return Section("Treatment check", "The receipts are empty: no page was edited.")
    text = (
        "Each applied edit leaves a receipt. A page with the edit planned but no match would be a failed"
        " treatment."
    )
    table = NamedTable("treatment", "Treatment check: edits that reached a page", found.treatment, TWO)
    return Section("Treatment check", text, (table,))


def _effects(found: ChoiceAnalysis) -> Section:
    human = ", ".join(f"{LABELS[term].lower()} {value}" for term, value in HUMAN_EFFECTS.items())
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
                "Effects on the probability of being chosen (percentage points)",
                _lead(found.effects),
                ONE,
            ),
        ),
        (
            NamedFigure(
                "effects",
                "Effects by feature and agent, with 95 % intervals; a hollow mark has none."
                f" Human shoppers: {human} points ({CHEREP}).",
                partial(figures.effects_figure, found.effects),
            ),
        ),
    )


def _exact(found: ChoiceAnalysis) -> Section:
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


def _nudges(found: ChoiceAnalysis) -> Section:
    text = (
        "Which nudges work, and where? The figures show the exact tests, about these choice sets. The tables"
        " ask for more, for categories or choice sets like these: the effect of the nudge in the main model,"
        " fitted to the trials of each nudge text alone, and of each category alone. Errors by text are"
        " clustered by category (by choice set where a text was seen in fewer than twelve categories), errors"
        " by category by choice set. With fewer than twelve of them an effect has no interval and no p value"
        " there, because neither would be right."
        "\n\nThe counts say how the choices went. In a stratum the nudge is on each option of a set in turn,"
        " and all else is the same. A pair's stratum is for the nudge if the option that carried it was"
        " chosen both times, against it if neither time, and else says nothing. Where a nudge does nothing,"
        " both are as likely: 3 for and 0 against, or the reverse, are seen in a quarter of such cases."
    )
    tables, drawn = [], []
    for name, title, frame in (
        ("nudge_text", "Effect of the nudge by text", found.nudge_texts),
        ("category", "Effect of the nudge by category", found.categories),
    ):
        key = "nudge_texts" if name == "nudge_text" else "categories"
        tables.append(
            NamedTable(key, f"{title} (percentage points)", _lead(frame.drop(columns="term"), name), ONE)
        )
        exact = found.exact[found.exact["part"] == name]
        if len(exact):
            draw = partial(figures.forest, exact, _named("level"), EFFECT)
            drawn.append(NamedFigure(key, f"{title} and agent, with Tango's 95 % interval.", draw))
    return Section("Nudge texts and categories", text, tuple(tables), tuple(drawn))


def _profiles(found: ChoiceAnalysis) -> Section:
    text = (
        "Does the agent do what its user wants? The main model under each profile: its effects, and how far"
        " each profile moves them from those without one. The counts say in how many choice sets the raw"
        " effect, or difference, was above 0, below 0, and there at all."
    )
    differences = found.profile_differences
    return Section(
        "Profiles",
        text,
        (
            NamedTable(
                "profile_differences",
                "Effect under the profile less that without one (percentage points)",
                _lead(differences, "profile"),
                ONE,
            ),
            NamedTable(
                "profiles",
                "Effects under each profile (percentage points)",
                _lead(found.profiles, "profile"),
                ONE,
                detail=True,
            ),
        ),
        (
            NamedFigure(
                "profile_differences",
                "How far each profile moves each effect, with 95 % intervals; a hollow mark has none.",
                partial(
                    figures.forest,
                    differences,
                    _named("profile"),
                    "Difference of effects (percentage points)",
                ),
            ),
        ),
    )


def _common(found: ChoiceAnalysis) -> Section:
    return Section(
        "In common",
        "What do nudge texts, categories, profiles and agents have in common, how far do they differ (sd),"
        " and where would the effect of a new one lie? Random effects by REML. A shrunken effect draws one's"
        " own estimate towards the mean, the further the less certain it is; ranks go by it, so that the"
        " first is not merely the luckiest.",
        (
            NamedTable("heterogeneity", "Random effects (points).", found.heterogeneity, ONE),
            NamedTable(
                "shrunken", "Each effect, own and shrunken (points).", found.shrunken, ONE, detail=True
            ),
        ),
    )


def _larger_sets(found: ChoiceAnalysis) -> Section:
    text = (
        "Sets of three and more: cheaper is the cheapest of its set, higher rated the highest rated, and a"
        " nudge meant to push away counts as one of all others. Where an option stands should not matter:"
        " chance is what a chooser without a preference for places would give each."
    )
    places = found.positions.astype({"options": str, "position": str})
    tables = [NamedTable("positions", "Chosen by position (percent, Wilson's interval)", places, ONE)]
    drawn = [
        NamedFigure(
            "positions",
            "How often the option in each position was chosen, with 95 % intervals.",
            partial(figures.forest, found.positions, _place, "Chosen (%)", zero=False),
        )
    ]
    if len(found.set_sizes):
        sizes = _lead(found.set_sizes, "options")
        tables.append(NamedTable("set_sizes", "Effects by size of the set (percentage points)", sizes, ONE))
        drawn.append(
            NamedFigure(
                "set_sizes",
                "Effects by feature and size of the set, with 95 % intervals.",
                partial(figures.forest, found.set_sizes, _sized, EFFECT),
            )
        )
    return Section("Larger sets", text, tuple(tables), tuple(drawn))


def _sensitivity(found: ChoiceAnalysis) -> Section:
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
    if (found.curves["advantage"] == "price").any():
        drawn.append(
            NamedFigure(
                "price_response",
                "Probability of being chosen by price advantage: fourth-order polynomial with its 95 % band.",
                partial(figures.price_figure, found.curves),
            )
        )
    return Section(
        "Sensitivity to price and rating",
        text,
        (
            NamedTable(
                "slopes",
                "Percentage points for 10 % of the price, or 10 points of rating",
                _lead(found.slopes),
                TWO,
            ),
            NamedTable(
                "curves",
                "The lines, curves and dots of the figures (percent)",
                found.curves,
                ONE,
                detail=True,
            ),
        ),
        tuple(drawn),
    )


def _logit(found: ChoiceAnalysis) -> Section:
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


def _steps(found: ChoiceAnalysis) -> Section:
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
                    _named("factor"),
                    "Judged trials that name the factor (%)",
                    zero=False,
                ),
            ),
        ),
    )


def _methods() -> Section:
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
        " distribution with G−1 degrees of freedom, and end where a probability ends. They speak for new"
        " nudge texts and new categories like these, not only for further trials on the same ones."
        "\n\nWith fewer than eight nudge texts or eight categories, errors are clustered one way, as the note"
        " says: by category, and with fewer than twelve categories by choice set; so are those of the"
        " placebo, by text, by category and by profile. They are then those of the jackknife over the"
        " clusters (CV3; MacKinnon, Nielsen and Webb 2023), because the usual formula is too small with few"
        " of them. With fewer than twelve clusters one way there is no interval: in simulations of an agent"
        " that always answers alike, those from eight to ten held the true effect too seldom. Only clusters"
        " that the row itself depends on count."
        "\n\nAdjusted p values control the false discovery rate (Benjamini and Hochberg 1995) over the rows"
        " of one agent in a table, of one profile or set size where there are several.",
    )


def _lead(frame: pd.DataFrame, name: str = "term") -> pd.DataFrame:
    """The frame with what tells its rows apart first."""
    first = [column for column in dict.fromkeys(("group", name, "term")) if column in frame]
    return frame[[*first, *(column for column in frame if column not in first)]]


def _named(*names: str) -> Callable[[pd.Series], str]:
    return lambda row: " · ".join(LABELS.get(row[name], str(row[name])) or "(none)" for name in names)


def _sized(row: pd.Series) -> str:
    return f"{LABELS[row['term']]}, {row['options']} options"


def _place(row: pd.Series) -> str:
    return f"Position {row['position']} of {row['options']}"
