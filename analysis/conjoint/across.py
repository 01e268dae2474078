"""Compare agents with each other; where there are too few, tables are empty and give the reason."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.conjoint.cards import ShownOptions
from analysis.conjoint.fits import Fits, headline_moves
from analysis.conjoint.frames import ALL_AGENTS, Row, rank_correlation, tidy_frame, tidy_row
from analysis.conjoint.full_models import FullModels
from analysis.conjoint.money import moved_money
from analysis.conjoint.tables import agents_of, by_set_adjusted, headlines
from analysis.estimators.clogit import BY_SET, INTERCEPT
from analysis.estimators.leave_out import moved_terms
from analysis.estimators.moved import Moved
from analysis.estimators.ranking import rank_agents
from analysis.tables.sizes import model_sizes

PERMUTATIONS = 2000
PRICE_SENSITIVITY = "price_sensitivity"


def personality(every: pd.DataFrame, fits: Fits) -> pd.DataFrame:
    """Return the map of agents: `price_sensitivity` against `review_score`.

    price_sensitivity is the log-price coefficient with its sign turned. Both come from the log-price model
    that represents the agent; two rows per agent, with the errors that `coefficients` prints of it, and its
    columns of leaving out choice sets.
    """
    rows: list[Row] = []
    for spec, printed in headlines(every, fits, "log").items():
        agent, frame = spec.agent, printed.set_index("term")
        for term, source, sign in ((PRICE_SENSITIVITY, "log_price", -1), ("review_score", "review_score", 1)):
            if source not in frame.index:
                rows.append(tidy_row(term, agent, fits[spec].n_sets, note=f"no {source} in this table"))
                continue
            found = frame.loc[source].to_dict()
            found |= {name: sign * found[name] for name in ("estimate", "statistic")}
            for low, high in (("conf_low", "conf_high"), BY_SET[1:]):
                found[low], found[high] = sorted((sign * found[low], sign * found[high]))
            rows.append(found | {"term": term})
    return by_set_adjusted(tidy_frame(rows, *BY_SET))


def moved_weights(fits: Fits, cards: ShownOptions) -> Iterator[Moved]:
    """Yield the price sensitivity and each part-worth of `quality`, and how they move without each set."""
    for agent in agents_of(fits):
        for term, each in moved_terms(*headline_moves(fits, cards, agent), agent).items():
            if term == "log_price":
                yield replace(each, term=PRICE_SENSITIVITY, estimate=-each.estimate, moves=-each.moves)
            elif term != INTERCEPT:
                yield each


def rankings(fits: Fits, cards: ShownOptions, full: list[FullModels]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ranks of agents by price sensitivity and by what each attribute is worth in money.

    The second table has the pairs told apart; see `rank_agents`.
    """
    own = [each for each in moved_weights(fits, cards) if each.term == PRICE_SENSITIVITY]
    return rank_agents([*own, *moved_money(full, cards.controls)])


def one_task(cards: ShownOptions) -> pd.DataFrame:
    """Return what each agent took of one choice set: the one about which the agents differ most.

    It is of those that most agents answered. `estimate` is the share of an agent's choices that an option has
    (0 to 1). Columns as of every estimator; `term` is the option; and set, price, the controls and chain of
    the option. Empty with one agent.
    """
    made = cards.rows[cards.rows["chosen"].notna()]
    cell = ["set", "agent", "option"]
    found = made.groupby(cell, sort=True).agg(estimate=("chosen", "mean"), n=("chosen", "size")).reset_index()
    agents = found.groupby("set")["agent"].transform("nunique")
    found = found[(agents == agents.max()) & (agents > 1)]
    about = ["price", *cards.controls, "chain"]
    if found.empty:
        return tidy_frame([], "set", *about)
    apart = found.groupby(["set", "option"])["estimate"].var().groupby("set").mean()
    own = found[found["set"] == apart.idxmax()].rename(columns={"option": "term", "agent": "group"})
    facts = made.drop_duplicates(["set", "option"]).rename(columns={"option": "term"})
    rows = own.merge(facts[["set", "term", *about]], on=["set", "term"]).sort_values(["term", "group"])
    rows = rows.assign(n_missing=0, note="a share of one choice set; no error")
    return tidy_frame(rows.to_dict("records"), "set", *about)


def set_size(every: pd.DataFrame, cards: ShownOptions) -> pd.DataFrame:
    """Return the log-price coefficient by set size, and its rank correlation over agents.

    every: the frame of `coefficients`. The coefficients are those of conditional logits.
    """
    own = every.query("model == 'clogit' and price_form == 'log' and term == 'log_price'")
    parts = {block: own[own["block"] == block] for block in cards.blocks}
    columns = {block: part.set_index("group")["estimate"] for block, part in parts.items()}
    rows: list[Row] = [row for part in parts.values() for row in part.to_dict("records")]
    if len(cards.blocks) < 2:
        reason = "sets of one size only"
        rows.append(tidy_row("rank_correlation", ALL_AGENTS, every["group"].nunique(), note=reason))
    for block in cards.blocks[1:]:
        found = rank_correlation("rank_correlation", columns[cards.blocks[0]], columns[block])
        rows.append(found | {"block": f"{cards.blocks[0]} and {block}"})
    return by_set_adjusted(tidy_frame(rows, "block", *BY_SET))


def model_size(sensitivity: pd.DataFrame, sizes: Mapping[str, float] | None) -> pd.DataFrame:
    """Return price sensitivity and size of each agent, and their rank correlation.

    sensitivity: the frame of `personality`. sizes: billions of parameters by agent; others are read from the
    label, as by `model_sizes`, whose errors it raises. Extra column `size`.
    """
    own = sensitivity[sensitivity["term"] == "price_sensitivity"]
    size = pd.Series(model_sizes(own["group"], sizes), index=own["group"], dtype=float)
    rows: list[Row] = own.assign(size=own["group"].map(size)).to_dict("records")
    for row in rows:
        if np.isnan(row["size"]):
            row["note"] = "; ".join(filter(None, (row["note"], "size unknown")))
    estimates = own.set_index("group")["estimate"]
    rows.append(rank_correlation("rank_correlation", estimates, size))
    return tidy_frame(rows, "size")


def provider_of(agent: str) -> str:
    """Return the part of a label before the colon, as in `openai:gpt-5.4`; empty without one."""
    provider, colon, _ = agent.partition(":")
    return provider if colon else ""


def brand_permutation(
    brands: pd.DataFrame, providers: Mapping[str, str] | None, *, seed: int = 0
) -> pd.DataFrame:
    """Test whether agents of one provider like the same chains, by 2,000 shuffles of the providers.

    Statistic: the mean Pearson correlation of the chain coefficients over pairs of agents of one provider,
    less that over the other pairs. p: share of shuffles, the observed one included, that reach it; one-sided.
    """
    term = "within_less_between_provider"
    if brands.empty:
        return tidy_frame([tidy_row(term, ALL_AGENTS, 0, note="no chain coefficients")])
    values = brands.pivot_table(index="group", columns="term", values="estimate", dropna=False)
    provider = pd.Series({agent: (providers or {}).get(agent, provider_of(agent)) for agent in values.index})
    usable = values.notna().all(axis=1) & (provider != "") & (values.std(axis=1) > 0)
    values, provider = values[usable], provider[usable]
    n, lost = int(usable.sum()), int((~usable).sum())
    unnamed = "; name providers in the labels (provider:model)" if lost else ""
    counts = provider.value_counts()
    if values.shape[1] < 3:
        return tidy_frame([tidy_row(term, ALL_AGENTS, n, lost, note="fewer than three chains to compare")])
    if len(counts) < 2 or counts.max() < 2:
        reason = "needs two providers or more, one of them with two agents or more" + unnamed
        return tidy_frame([tidy_row(term, ALL_AGENTS, n, lost, note=reason)])
    correlation = np.corrcoef(values.to_numpy(float))
    upper = np.triu_indices(n, 1)
    pairs = correlation[upper]
    code = pd.factorize(provider)[0]
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.tile(code, (PERMUTATIONS, 1)), axis=1)
    differences = np.array([_within_less_between(pairs, labels, upper) for labels in (code, *shuffled)])
    p = (1 + int((differences[1:] >= differences[0] - 1e-12).sum())) / (1 + PERMUTATIONS)
    note = f"permutation test, one-sided, {PERMUTATIONS:,} shuffles, seed {seed}; no standard error"
    return tidy_frame(
        [tidy_row(term, ALL_AGENTS, n, lost, estimate=float(differences[0]), p_value=p, note=note)]
    )


def _within_less_between(
    pairs: "np.ndarray[tuple[int], np.dtype[np.float64]]",
    labels: "np.ndarray[tuple[int], np.dtype[np.intp]]",
    upper: tuple["np.ndarray[tuple[int], np.dtype[np.intp]]", ...],
) -> float:
    same = labels[upper[0]] == labels[upper[1]]
    return float(pairs[same].mean() - pairs[~same].mean())
