"""Estimate what each nudge text does, and what nudges do in each category, in one model of both."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.choice.effects.differences import estimate_row
from analysis.choice.effects.effects import PLACEBO, TERMS, regressors
from analysis.choice.effects.frames import empty_frame
from analysis.estimators.clusters import nudge_texts
from analysis.estimators.contrasts import COMPARISONS_PER_COEFFICIENT
from analysis.estimators.jackknife import TOLERANCE, squares
from analysis.estimators.lpm import LEAST_CLUSTERS, NO_INTERVAL, Contrast, Fit, Model
from analysis.tables.choice_table import TRIAL_ID, row_weights
from analysis.tables.families import adjusted
from analysis.tables.frame import Floats, Ints, join_notes, result_frame

PARTS: Final = ("nudge_text", "category")
NUDGED: Final = TERMS.index("nudged")
OTHERS: Final = "(other categories)"
ALIKE: Final = "the other features have one coefficient for all texts: too little data"
FEW_SETS: Final = f"{NO_INTERVAL}: fewer than {LEAST_CLUSTERS[1]} choice sets"
NOT_TOLD: Final = "cannot be told from the other texts and categories in these trials"
_LABELS: Final = ("agent", "set", "category", "nudge_text")
_COLUMNS: Final = (*_LABELS, *TERMS, PLACEBO, "nudge", "direction", "assignment", "chosen", TRIAL_ID)


def joint_effects(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate the nudge's effect by its text and by the set's category in one model of the nudged trials.

    table: checked. By agent (Cherep et al. 2026, without products of several features):

        chosen ~ (viewed_first + higher_rated + cheaper + nudged) x text + nudged x category | trial

    A text's effect is its mean over the categories as all texts were seen in them, a category's the mean over
    the texts: so texts are compared as if they had been seen in the same categories. Categories of one choice
    set are taken together, else no estimate would be left without their set. With fewer than five comparisons
    per coefficient the first three features have one coefficient for all texts, and a note says so. Errors
    leave out each choice set in turn (CV3); with fewer than twelve sets a level has none.

    The columns are those of every estimator; part (`nudge_text` or `category`) and level. Empty without two
    texts or two categories.
    """
    ids = table[TRIAL_ID].to_numpy()
    carried = np.bincount(ids, table["nudged"].eq(1))[ids] > 0
    rows = table.loc[carried, [name for name in _COLUMNS if name in table]]
    if rows["chosen"].isna().all():
        return empty_frame("part", "level")
    labels = rows.assign(nudge_text=nudge_texts(rows))[list(_LABELS)].astype("category")
    trial = pd.factorize(rows[TRIAL_ID])[0]
    seen = np.zeros((trial.max() + 1, len(_LABELS)), int)
    for column, name in enumerate(_LABELS):
        by = rows["nudged"].eq(1).to_numpy() if name == "nudge_text" else slice(None)
        seen[trial[by], column] = labels[name].cat.codes[by]
    answered = np.bincount(trial, rows["chosen"].isna()) == 0
    used, number = rows[answered[trial]], trial[answered[trial]]
    code = np.ravel_multi_index(tuple(seen.T), tuple(seen.max(axis=0) + 1))
    _, first, cell = np.unique(code, return_index=True, return_inverse=True)
    cells = pd.DataFrame(seen[first], columns=list(_LABELS))
    cells["n"], cells["n_missing"] = np.bincount(cell, answered), np.bincount(cell, ~answered)
    weights = row_weights(used)
    columns = np.column_stack([regressors(used)[list(TERMS)], used["chosen"].astype(float)])
    model = Model(columns, number, weights)
    share = (1.0 if weights is None else weights) / np.bincount(number)[number]
    cells["weight"] = np.bincount(cell[number], share, len(cells))
    # Of the trials of a set, text and category the model needs the products of its columns alone.
    products = np.zeros((len(cells), columns.shape[1], columns.shape[1]))
    own, at = np.unique(cell[model.trial], return_inverse=True)
    products[own] = squares(model.within, at)
    names = {name: labels[name].cat.categories for name in _LABELS}
    found = []
    for agent, part in cells.groupby("agent"):
        rows_of = _rows(part.reset_index(drop=True), products[part.index], names)
        found += [{"group": names["agent"][agent], "term": "nudged"} | row for row in rows_of]
    return adjusted(result_frame(found, "part", "level")) if found else empty_frame("part", "level")


def _rows(cells: pd.DataFrame, products: Floats, names: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one agent. products: of the columns and the outcome in each cell (K + 1 x K + 1)."""
    level, categories = _taken_together(cells, names["category"])
    text, texts = pd.factorize(cells["nudge_text"], sort=True)
    if not cells["n"].any() or max(len(texts), len(categories)) < 2:
        return
    terms, others = len(TERMS), len(categories) - 1
    by_text = np.arange(len(texts) * terms).reshape(len(texts), terms)
    if alike := cells["n"].sum() < COMPARISONS_PER_COEFFICIENT * (by_text.size + others):
        by_text = np.tile(np.arange(terms), (len(texts), 1))
        by_text[:, NUDGED] = NUDGED + np.arange(len(texts))
    # The columns of the nudge with each text, and in each category but the first.
    last = by_text.max() + 1
    of_nudge = np.zeros((len(texts) + len(categories), last + others))
    of_nudge[np.arange(len(texts)), by_text[:, NUDGED]] = 1
    of_nudge[len(texts) + 1 + np.arange(others), last + np.arange(others)] = 1
    columns, outcome = _roots(products)
    whole = columns[:, :, [NUDGED]] * of_nudge[len(texts) + level][:, None]
    np.put_along_axis(whole, np.broadcast_to(by_text[text][:, None], columns.shape), columns, axis=2)
    # Beside a row of zeros each row has an effect of its own, as a trial has.
    rows = whole.reshape(outcome.size, -1)
    model = Model(np.r_[rows, np.zeros_like(rows)], np.tile(np.arange(outcome.size), 2))
    sets = np.tile(np.repeat(cells["set"].to_numpy(), terms), 2)
    fit = model.fit(np.r_[outcome.ravel(), np.zeros(outcome.size)], {"set": sets})
    weight = (cells["weight"] / cells["weight"].sum()).to_numpy()
    by_label, by_level = np.split(of_nudge, [len(texts)])
    by_label = by_label + np.bincount(level, weight) @ by_level
    by_level = by_level + np.bincount(text, weight) @ of_nudge[: len(texts)]
    sides = (text, names["nudge_text"][texts], by_label), (level, categories, by_level)
    for part, (code, labels, weights) in zip(PARTS, sides, strict=True):
        n = cells.groupby(code)[["n", "n_missing"]].sum().to_dict("index")
        of_sets = cells[cells["n"] > 0].groupby(code[cells["n"] > 0])["set"].nunique()
        for at, label in enumerate(labels if len(labels) > 1 else ()):
            row = estimate_row(_contrast(fit, weights[at], of_sets.get(at, 0)))
            note = join_notes(row["note"], ALIKE if alike else "")
            yield {
                **row,
                **{str(name): count for name, count in n[at].items()},
                "part": part,
                "level": str(label),
                "note": note,
            }


def _taken_together(cells: pd.DataFrame, names: Any) -> tuple[Ints, list[str]]:
    """The level of each cell and the names of the levels: categories of one choice set are the first."""
    category, kept = pd.factorize(cells["category"], sort=True)
    sets = cells["set"].where(cells["n"] > 0).groupby(category).nunique().to_numpy()
    few = sets < 2
    if few.sum() == 1:
        few[np.argsort(sets, kind="stable")[:2]] = True
    labels = [str(name) for name in names[kept[~few]]]
    if not few.any():
        return category, labels
    return np.where(few, 0, np.cumsum(~few))[category], [OTHERS, *labels]


def _roots(products: Floats) -> tuple[Floats, Floats]:
    """Rows with these products: columns (cells x K x K) and outcomes (cells x K)."""
    values, vectors = np.linalg.eigh(products[:, :-1, :-1])
    root = np.sqrt(np.where(values > TOLERANCE, values, 0.0))
    moments = np.einsum("gij,gi->gj", vectors, products[:, :-1, -1])
    outcome = np.divide(moments, root, out=np.zeros_like(root), where=root > 0)
    return root[:, :, None] * np.swapaxes(vectors, 1, 2), outcome


def _contrast(fit: Fit, weights: Floats, sets: int) -> Contrast:
    if sets < LEAST_CLUSTERS[1] and fit.model.identifies(weights):
        return Contrast(float(weights @ fit.coefficients), note=FEW_SETS)
    found = fit.contrast(weights)
    return Contrast(note=NOT_TOLD) if np.isnan(found.estimate) else found
