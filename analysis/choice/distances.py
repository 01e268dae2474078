"""Measure how far the market shares of two agents lie apart, on the pages that both were shown."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy.spatial.distance import jensenshannon

from analysis.choice.effects.frames import QUESTION, with_questions
from analysis.choice.effects.market import in_markets
from analysis.estimators.comparing import asked, named
from analysis.reporting.answer import LEVEL, p_text
from analysis.reporting.plots import forest
from analysis.reporting.sections import NamedFigure, NamedTable, Section
from analysis.tables.choice_table import TRIAL_ID, check_table
from analysis.tables.families import adjusted_within
from analysis.tables.frame import LABELS, Floats, counted, result_frame

TEXT: Final = (
    "How far the market shares of two agents lie apart, on the pages that both were shown: 0 where shares are"
    " alike, 100 where no product is chosen by both. Total variation is half the sum of the differences of"
    " shares: so many percent of the choices would have to go to another product. Chance alone moves shares"
    " apart: by_chance is the mean distance where the answers of the two agents to each page are exchanged at"
    " random, and the estimate is the distance less that. The p value is that of these exchanges, about these"
    " choice sets and pages."
)
RESAMPLES: Final = 1_999
NOTHING_SHARED: Final = "no page in common"
TERMS: Final = ("total_variation", "jensen_shannon")


def market_distances(table: pd.DataFrame) -> pd.DataFrame:
    """Compare the market shares of each two agents, set by set and over all sets.

    table: any tidy table of choices. Only sets of three options or more count; empty where there are none.
    A row is a distance between the shares of `group` and `less`, from 0 (alike) to 100 (no product in
    common): the total variation, half the sum of |p - q|, or the Jensen-Shannon distance with base 2 (Lin
    1991, IEEE Transactions on Information Theory 37). part, level: `set` and its name, or empty for the mean
    over sets.

    Both agents' answers to the same page count, from each as many as from the other. Chance alone moves
    shares apart: `by_chance` is the mean distance where the two agents' answers to each page, all its repeats
    at once, are exchanged at random (1,999 times, seed 0), and `estimate` the distance less that. p_value:
    the share of exchanges with a distance as large. It holds for agents that answer a page always alike,
    and is about these sets and pages. `p_adjusted` holds the false discovery rate over all pairs of agents
    of a term, of all sets and of single sets apart (Benjamini and Hochberg 1995).
    """
    choices = _choices(in_markets(named(check_table(table))))
    of = {str(agent): own.drop(columns="agent") for agent, own in choices.groupby("agent")}
    runs = {agent: set(own["run"].astype(str)) for agent, own in of.items()}
    rows = [
        {"group": one, "less": other, **row}
        for one, other in asked(runs)
        for row in _apart(of[one], of[other], np.random.default_rng(0))
    ]
    frame = result_frame(rows, "less", "part", "level", "distance", "by_chance")
    return adjusted_within(frame, "term", "part")


def _choices(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each choice: agent, run, set, option, the page, and how often it was answered before."""
    if table.groupby("agent")["modality"].nunique().eq(1).all():
        table = table.assign(modality="")  # as other comparisons do
    pages = with_questions(table).set_index(TRIAL_ID)[QUESTION]
    chosen = table.loc[table["chosen"] == 1, ["agent", "run", "set", "option", TRIAL_ID]]
    chosen = chosen.assign(page=chosen.pop(TRIAL_ID).map(pages))
    chosen["option"] = pd.factorize(chosen["option"])[0]
    return chosen.assign(round=chosen.groupby(["agent", "page"]).cumcount())


def _apart(one: pd.DataFrame, other: pd.DataFrame, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """The rows of two agents."""
    both = one.merge(other, on=["set", "page", "round"], suffixes=("", "_other"))
    found = {str(name): exchanged(own, rng) for name, own in both.groupby("set")}
    if not found:
        yield from ({"term": term, "part": "", "level": "", "n": 0, "note": NOTHING_SHARED} for term in TERMS)
        return
    n = 2 * both["set"].value_counts()
    parts = [("", "", np.mean([*found.values()], axis=0), 2 * len(both))]
    parts += [("set", name, distances, n[name]) for name, distances in found.items()]
    for part, level, distances, answers in parts:
        for term, (distance, *nulls) in zip(TERMS, 100 * distances, strict=True):
            by_chance = float(np.mean(nulls))
            yield {
                "term": term,
                "part": part,
                "level": level,
                "n": answers,
                "distance": distance,
                "by_chance": by_chance,
                "estimate": distance - by_chance,
                "p_value": (1 + np.sum(np.array(nulls) >= distance - 1e-9)) / (1 + len(nulls)),
            }


def exchanged(answers: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """Return the distances of a set, as they are and after each of the exchanges (terms x exchanges + 1).

    answers: `option` and `option_other`, the whole numbers of what two agents chose, by `page`.
    """
    options, code = np.unique(answers[["option", "option_other"]], return_inverse=True)
    pages, page = np.unique(answers["page"], return_inverse=True)
    counts = np.zeros((2, len(pages), len(options)), np.float32)  # exact for whole numbers
    for side, chosen in zip(counts, code.reshape(-1, 2).T, strict=True):
        np.add.at(side, (page, chosen), 1)
    apart, total = counts[0] - counts[1], counts.sum(axis=(0, 1))
    apart = apart[apart.any(axis=1)]
    signs = 1 - 2 * rng.integers(2, size=(1 + RESAMPLES, len(apart)), dtype=np.int8)
    signs[0] = 1
    moved = signs.astype(np.float32) @ apart
    one, other = (np.float64(total + moved), np.float64(total - moved))
    return np.array([abs(moved).sum(axis=1) / total.sum(), jensenshannon(one, other, base=2, axis=1)])


def distance_sentences(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each two agents: how far their market shares lie apart.

    frame: of `market_distances`.
    """
    own = frame[frame["term"] == TERMS[0]]
    for (one, other), rows in own.groupby(["group", "less"], sort=False):
        whole, sets = rows.iloc[0], rows[rows["part"] == "set"]
        if np.isnan(whole["p_value"]):
            yield f"{one} against {other}: market shares: {whole['note']}."
            continue
        told = "differ" if whole["p_adjusted"] < LEVEL else "are not told apart"
        size = f"total variation {whole['distance']:.1f} points, {whole['by_chance']:.1f} by chance alone"
        apart = f"{(sets['p_adjusted'] < LEVEL).sum()} of {counted(len(sets), 'choice set')} differ"
        p = f"adjusted p {p_text(whole['p_adjusted'])}"
        yield f"{one} against {other}: market shares {told} ({size}; {p}; {apart} by themselves)."


def distance_section(frame: pd.DataFrame) -> Section:
    """Return the section of `market_distances`: the means over sets with a figure, and all sets."""
    shown = frame.drop(columns=["std_error", "statistic", "conf_low", "conf_high", "n_missing"])
    whole = frame[frame["part"] == ""]
    drawn = whole.assign(group=whole["group"] + " less " + whole["less"])
    tables = (
        NamedTable("distances", "Distances between market shares, means over choice sets", _of(shown, ""), 1),
        NamedTable("distances_by_set", "The same in each choice set", _of(shown, "set"), 1, detail=True),
    )
    caption = "How much further apart market shares are than by chance alone. There are no intervals."
    xlabel = "Distance beyond chance (0 to 100)"
    figure = NamedFigure("distances", caption, lambda: forest(drawn, lambda row: LABELS[row["term"]], xlabel))
    return Section("Market shares", TEXT, tables, (figure,))


def _of(frame: pd.DataFrame, part: str) -> pd.DataFrame:
    own = frame[frame["part"] == part].drop(columns="part").rename(columns={"level": "set"})
    return own if part else own.drop(columns="set")
