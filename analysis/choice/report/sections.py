"""Make the sections of the report: which tables and figures answer which question.

Their words are in `report.yaml`; what the table does not hold gives no section.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.choice.contrasts import HEAD_TO_HEAD
from analysis.choice.effects.differences import FEATURES
from analysis.choice.effects.effects import LESS_PLACEBO
from analysis.choice.report import figures
from analysis.choice.report.wording import WORDING, worth_name
from analysis.choice.study import ChoiceAnalysis
from analysis.reporting.human_values import CHEREP, HUMAN_EFFECTS
from analysis.reporting.plots import estimates, forest
from analysis.reporting.sections import Section, with_rows, written_sections
from analysis.tables.choice_table import ATTRIBUTES
from analysis.tables.frame import LABELS, NUMBERS, without_code

WORDS: Final = Path(__file__).with_name("report.yaml")
EFFECT: Final = "Effect on the probability of being chosen (percentage points)"
UTILITY: Final = "Part-worth (log-odds)"
DIFFERENCE: Final = "Difference of effects (percentage points)"
LEAD: Final = {
    **dict.fromkeys(("effects", "bounds", "slopes", "difference_effects"), "term"),
    **dict.fromkeys(("profiles", "profile_differences"), "profile"),
    **dict.fromkeys(("modalities", "modality_differences", "modality_use"), "modality"),
    "attrition_by_factor": "factor",
    "tradeoffs": "measure",
    "nudge_texts": "nudge_text",
    "categories": "category",
    "texts_by_category": "nudge_text",
    "set_sizes": "options",
    "shares": "set",
    "product_types": "product_type",
    **dict.fromkeys(("contrasts", "texts_and_categories"), "level"),
    "people_effects": "analysis",
    "stages": "stage",
}
"""The column that tells the rows of a table apart, and so stands first, after the agent."""
LEFT_OUT: Final = {
    **dict.fromkeys(("equal_attrition", "attrition_by_factor"), ("term",)),
    **dict.fromkeys(("nudge_texts", "categories", "texts_and_categories"), ("term",)),
    "texts_by_category": (*NUMBERS[1:], "term"),
    "market": ("statistic", "p_value", "p_adjusted"),
    "exact": ("std_error", "statistic", "n_missing"),
    "context_effects": ("std_error", "statistic", "n_missing"),
    "sequence": ("std_error", "statistic", "p_adjusted", "n_missing", "alpha", "margin"),
}
"""The columns of a table that are not shown."""


def sections(found: ChoiceAnalysis) -> list[Section]:
    """Return the sections, with the effects first, or before them the rule that could stop the run."""
    even_empty = {name: getattr(found, name) for name in ("exact", "curves", "sequence")}
    tables = with_rows(vars(found)) | even_empty | {"outcomes": _outcomes(found.attrition)}
    shown = {name: None if frame is None else _arranged(name, frame) for name, frame in tables.items()}
    return written_sections(WORDS, shown, _figures(found), **_words(found))


def _arranged(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The table as it is printed."""
    frame = frame.drop(columns=list(LEFT_OUT.get(name, ())))
    if name == "positions":
        return frame.astype({"options": str, "position": str})
    if name not in LEAD:
        return frame
    first = [column for column in dict.fromkeys(("group", LEAD[name], "term")) if column in frame]
    return frame[[*first, *(column for column in frame if column not in first)]]


def _outcomes(attrition: pd.DataFrame) -> pd.DataFrame:
    """How many trials of each condition ended how: an outcome a column."""
    cell = ["agent", "condition", "trials"]
    counts = attrition.pivot_table(index=cell, columns="outcome", values="count", sort=False, observed=True)
    outcomes = sorted(counts.columns, key=lambda name: (name != "choice", name))
    return counts[outcomes].astype(int).reset_index()


def _figures(found: ChoiceAnalysis) -> dict[str, Callable[[], Any] | None]:
    """The figures by name; None for one that there is nothing to draw of."""
    percent = found.tradeoffs[(found.tradeoffs["measure"] == "percent") & found.tradeoffs["estimate"].notna()]
    by_text, by_category = (found.exact[found.exact["part"] == part] for part in ("nudge_text", "category"))
    banded = found.curves if figures.known(found.curves) else None
    curves = found.difference_curves
    apart = [(each, curves[curves["feature"] == each]) for each in FEATURES]
    return {
        "sequence": _if_any(found.sequence_path, figures.sequence_figure, found.sequence),
        "effects": partial(figures.effects_figure, found.effects, found.people),
        "attrition": partial(figures.attrition_figure, found.attrition),
        "bounds": _if_any(found.bounds, partial(figures.bounds_figure, found.effects)),
        "tradeoffs": _if_any(percent, forest, _worth, "Worth (percent of the price)"),
        "nudge_texts": _if_any(by_text, forest, named_by("level"), EFFECT),
        "categories": _if_any(by_category, forest, named_by("level"), EFFECT),
        "contrasts": _if_any(found.contrasts, forest, _against, DIFFERENCE),
        "profile_differences": _if_any(found.profile_differences, forest, named_by("profile"), DIFFERENCE),
        "modality_differences": _if_any(found.modality_differences, forest, named_by("modality"), DIFFERENCE),
        "positions": partial(forest, found.positions, _place, "Chosen (%)", zero=False),
        "market": _if_any(_concentrations(found.market), estimates, LABELS["hhi"]),
        "set_sizes": _if_any(found.set_sizes, forest, _sized, EFFECT),
        **{f"{each}_differences": _if_any(own, figures.difference_figure, each) for each, own in apart},
        "price_response": _if_any(banded, figures.price_figure),
        "logit": _if_any(found.logit["logit"].dropna(), lambda _: figures.logit_figure(found.logit)),
        "utilities": _if_any(found.utilities, forest, lambda row: LABELS[row["term"]], UTILITY),
        "texts_pooled": _if_any(found.texts_pooled, _texts_figure),
        "mean_effects": _if_any(found.mean_effects, _sizes_figure),
        "steps": partial(figures.steps_figure, found.step_counts),
        "factors": _if_any(
            found.factors, forest, named_by("factor"), "Judged trials in which it decided (%)", False
        ),
    }


def _texts_figure(rows: pd.DataFrame) -> Figure:
    ordered = rows.sort_values("estimate", ascending=False)
    named = ordered.assign(level=ordered["group"], group="all agents")
    return forest(named, named_by("level"), EFFECT)


def _sizes_figure(rows: pd.DataFrame) -> Figure:
    ordered = rows.sort_values("estimate", ascending=False).assign(conf_low=np.nan, conf_high=np.nan)
    ends = (0.0, 1.1 * float(rows["estimate"].max()) or 1.0)
    return estimates(ordered, "Mean size of effects (percentage points)", limits=ends)


def _concentrations(market: pd.DataFrame | None) -> pd.DataFrame | None:
    return None if market is None else market[market["term"] == "hhi"]


def _against(row: Any) -> str:
    of = "head to head" if row["part"] == HEAD_TO_HEAD else LABELS[row["term"]].lower()
    return without_code(f"{row['level']} less {row['less']}: {of}")


def _if_any(rows: Any, draw: Callable[..., Any], *more: Any) -> Callable[[], Any] | None:
    return None if rows is None or rows.empty else partial(draw, rows, *more)


def _words(found: ChoiceAnalysis) -> dict[str, Any]:
    """What the texts say of this analysis."""
    values = ", ".join(f"{LABELS[term].lower()} {value}" for term, value in HUMAN_EFFECTS.items())
    correlation = found.logit_agreement["correlation"].iloc[0]
    words = {
        "notes": " ".join(found.notes),
        "placebo": (found.effects["term"] == LESS_PLACEBO).any(),
        "drawn": len(found.tradeoffs) > 0,
        "people": values if found.people else "",
        "source": CHEREP,
        "equivalence": f"{found.exact['margin'].iloc[0]:g}" if "p_equivalent" in found.exact else "",
        "attributes": found.exact["term"].isin(ATTRIBUTES).any(),
        "bounds": len(found.bounds) > 0,
        "receipts": "absent" if found.treatment is None else "none" if found.treatment.empty else "some",
        "correlation": f"{correlation:z.3f}" if pd.notna(correlation) else "",
    }
    if found.sequence is None:
        return words
    margin = found.sequence["margin"].max()
    rule = found.sequence.iloc[0] if len(found.sequence) else {"alpha": 0.05, "term": "nudged"}
    return words | {
        "name": WORDING.names[str(rule["term"])],
        "alpha": f"{rule['alpha']:g}",
        "margin": f"{margin:g}" if margin > 0 else "",
    }


def named_by(*names: str) -> Callable[[pd.Series], str]:
    """Return what names a row: the labels of what is in these columns."""
    return lambda row: " · ".join(
        LABELS.get(row[name], without_code(str(row[name]))) or "(none)" for name in names
    )


def _worth(row: "pd.Series[str]") -> str:
    return worth_name(row["term"])


def _sized(row: pd.Series) -> str:
    return f"{LABELS[row['term']]}, {row['options']} options"


def _place(row: pd.Series) -> str:
    return f"Position {row['position']} of {row['options']}"
