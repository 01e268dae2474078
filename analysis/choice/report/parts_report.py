"""Report the effects in the parts of a design: texts, categories, profiles, sizes of sets."""

from functools import partial

import pandas as pd

from analysis.choice.report import figures
from analysis.choice.report.rows import EFFECT, NEW_SETS, ONE, named_by, with_lead
from analysis.choice.study import ChoiceAnalysis
from analysis.reporting.sections import NamedFigure, NamedTable, Section
from analysis.tables.frame import LABELS


def nudges_section(found: ChoiceAnalysis) -> Section:
    """Return the section on nudge texts and categories."""
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
            NamedTable(
                key,
                f"{title} (percentage points){NEW_SETS}",
                with_lead(frame.drop(columns="term"), name),
                ONE,
            )
        )
        exact = found.exact[found.exact["part"] == name]
        if len(exact):
            draw = partial(figures.forest, exact, named_by("level"), EFFECT)
            drawn.append(NamedFigure(key, f"{title} and agent, with Tango's 95 % interval.", draw))
    return Section("Nudge texts and categories", text, tuple(tables), tuple(drawn))


def profiles_section(found: ChoiceAnalysis) -> Section:
    """Return the section on what the profiles change."""
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
                f"Effect under the profile less that without one (percentage points){NEW_SETS}",
                with_lead(differences, "profile"),
                ONE,
            ),
            NamedTable(
                "profiles",
                f"Effects under each profile (percentage points){NEW_SETS}",
                with_lead(found.profiles, "profile"),
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
                    named_by("profile"),
                    "Difference of effects (percentage points)",
                ),
            ),
        ),
    )


def modalities_section(found: ChoiceAnalysis) -> Section:
    """Return the section on what changes with the way in which pages are shown."""
    text = (
        "Does the agent choose alike whether it reads a page or looks at it? The main model in each modality:"
        " its effects, and how far each modality moves them from those of HTML. The counts say in how many"
        " choice sets the raw effect, or difference, was above 0, below 0, and there at all."
    )
    effects, differences = found.modalities, found.modality_differences
    if effects is None or differences is None:  # pages were shown in one way
        return Section("Modalities", text, ())
    title = f"Effect in the modality less that in HTML (percentage points){NEW_SETS}"
    caption = "How far each modality moves each effect, with 95 % intervals; a hollow mark has none."
    draw = partial(
        figures.forest, differences, named_by("modality"), "Difference of effects (percentage points)"
    )
    return Section(
        "Modalities",
        text,
        (
            NamedTable("modality_differences", title, with_lead(differences, "modality"), ONE),
            NamedTable(
                "modalities",
                f"Effects in each modality (percentage points){NEW_SETS}",
                with_lead(effects, "modality"),
                ONE,
            ),
        ),
        (NamedFigure("modality_differences", caption, draw),),
    )


def common_section(found: ChoiceAnalysis) -> Section:
    """Return the section on what texts, categories, profiles and agents have in common."""
    return Section(
        "In common",
        "What do nudge texts, categories, profiles and agents have in common, how far do they differ (sd),"
        " and where would the effect of a new one lie? Random effects by REML. A shrunken effect draws one's"
        " own estimate towards the mean, the further the less certain it is; ranks go by it, so that the"
        " first is not merely the luckiest.",
        (
            NamedTable("heterogeneity", "Random effects (percentage points)", found.heterogeneity, ONE),
            NamedTable(
                "shrunken",
                "Each effect, its own and shrunken (percentage points)",
                found.shrunken,
                ONE,
                detail=True,
            ),
        ),
    )


def larger_sets_section(found: ChoiceAnalysis) -> Section:
    """Return the section on sets of three and more options."""
    text = (
        "Sets of three and more: cheaper is the cheapest of its set, higher rated the highest rated, and a"
        " nudge meant to push away counts as one of all others. Where an option stands should not matter:"
        " chance is what a chooser without a preference for places would give each."
    )
    places = found.positions.astype({"options": str, "position": str})
    tables = [
        NamedTable("positions", "Chosen by position in these sets (percent, Wilson's interval)", places, ONE)
    ]
    drawn = [
        NamedFigure(
            "positions",
            "How often the option in each position was chosen, with 95 % intervals.",
            partial(figures.forest, found.positions, _place, "Chosen (%)", zero=False),
        )
    ]
    if len(found.set_sizes):
        sizes = with_lead(found.set_sizes, "options")
        tables.append(
            NamedTable("set_sizes", f"Effects by size of the set (percentage points){NEW_SETS}", sizes, ONE)
        )
        drawn.append(
            NamedFigure(
                "set_sizes",
                "Effects by feature and size of the set, with 95 % intervals.",
                partial(figures.forest, found.set_sizes, _sized, EFFECT),
            )
        )
    return Section("Larger sets", text, tuple(tables), tuple(drawn))


def _sized(row: pd.Series) -> str:
    return f"{LABELS[row['term']]}, {row['options']} options"


def _place(row: pd.Series) -> str:
    return f"Position {row['position']} of {row['options']}"
