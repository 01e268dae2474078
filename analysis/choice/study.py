"""Run the whole choice analysis: attrition and treatment check first, then the effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from analysis.choice.contrasts import contrasts as contrasts_of
from analysis.choice.effects import groups, logit, nudges
from analysis.choice.effects.bounds import worst_case_bounds
from analysis.choice.effects.counts import with_counts
from analysis.choice.effects.differences import difference_effects
from analysis.choice.effects.effects import LESS_PLACEBO, LIMIT, main_effects
from analysis.choice.effects.frames import head_to_head, with_questions, without_head_to_head
from analysis.choice.effects.joint import joint_effects
from analysis.choice.effects.market import markets
from analysis.choice.effects.participants import has_people, participation, people_effects, teams
from analysis.choice.effects.pooled import heterogeneity, mean_effects, texts_over_agents
from analysis.choice.effects.rankings import rankings
from analysis.choice.effects.right_answers import right_answers
from analysis.choice.effects.sensitivity import sensitivity
from analysis.choice.effects.stages import stages
from analysis.choice.effects.tradeoffs import tradeoffs
from analysis.choice.effects.utilities import utilities
from analysis.choice.ended import steps
from analysis.choice.ended.attrition import compare_by_factor, compare_outcomes, count_outcomes
from analysis.choice.ended.factors import deciding_factors, judges_agree
from analysis.choice.ended.treatment import treatment_check
from analysis.choice.exact.context_effects import context_effects, context_shares
from analysis.choice.exact.exact import exact_tests
from analysis.choice.stopping import path_frame, sequence_frame, without_fixed
from analysis.reporting.to_json import to_json
from analysis.tables.choice_table import TRIAL_ID, check_table, row_weights
from analysis.tables.frame import NUMBERS, join_notes
from analysis.tables.readings import readings

ROUNDING = 1e-6
_LATER = (
    *("sequence", "sequence_path", "modalities", "modality_differences", "modality_use"),
    *("product_types", "ranking", "told_apart", "contrasts", "utilities", "mean_effects", "texts_pooled"),
    *("participation", "people_effects", "teams", "right_answers", "market", "shares"),
    *("context_effects", "context_shares", "stages"),
)
"""The frames that JSON leaves out where there are none."""


@dataclass(frozen=True)
class ChoiceAnalysis:
    """The frames of an analysis, each documented where it is made.

    A frame is empty where the table does not hold what it is about. `treatment`, `factors` and `agreement`
    are None where no receipts, or no deciding factors, came with the table; `sequence` and `sequence_path`
    where no rule could have stopped the run; `product_types` without products of two types; `modalities`,
    `modality_differences` and `modality_use` where pages were shown in one way; `ranking` and `told_apart`
    with one agent, and where a rule could have stopped the run; `contrasts` where none were asked for, and no
    two nudges stand head to head; `market` and `shares` without sets of three options or more; `stages` where
    nothing is known of what was viewed; `mean_effects` and `texts_pooled` with one agent and, as `utilities`,
    where a rule could have stopped the run.
    """

    attrition: pd.DataFrame
    readings: pd.DataFrame
    equal_attrition: pd.DataFrame
    attrition_by_factor: pd.DataFrame
    bounds: pd.DataFrame
    treatment: pd.DataFrame | None
    effects: pd.DataFrame
    exact: pd.DataFrame
    tradeoffs: pd.DataFrame
    nudge_texts: pd.DataFrame
    categories: pd.DataFrame
    texts_and_categories: pd.DataFrame
    texts_by_category: pd.DataFrame
    profiles: pd.DataFrame
    profile_differences: pd.DataFrame
    set_sizes: pd.DataFrame
    positions: pd.DataFrame
    slopes: pd.DataFrame
    curves: pd.DataFrame
    difference_effects: pd.DataFrame
    difference_curves: pd.DataFrame
    logit: pd.DataFrame
    logit_agreement: pd.DataFrame
    steps: pd.DataFrame
    step_counts: pd.DataFrame
    factors: pd.DataFrame | None
    agreement: pd.DataFrame | None
    heterogeneity: pd.DataFrame
    shrunken: pd.DataFrame
    notes: tuple[str, ...]
    sequence: pd.DataFrame | None = None
    sequence_path: pd.DataFrame | None = None
    modalities: pd.DataFrame | None = None
    modality_differences: pd.DataFrame | None = None
    modality_use: pd.DataFrame | None = None
    ranking: pd.DataFrame | None = None
    told_apart: pd.DataFrame | None = None
    contrasts: pd.DataFrame | None = None
    utilities: pd.DataFrame | None = None
    product_types: pd.DataFrame | None = None
    mean_effects: pd.DataFrame | None = None
    texts_pooled: pd.DataFrame | None = None
    participation: pd.DataFrame | None = None
    people_effects: pd.DataFrame | None = None
    teams: pd.DataFrame | None = None
    right_answers: pd.DataFrame | None = None
    market: pd.DataFrame | None = None
    shares: pd.DataFrame | None = None
    context_effects: pd.DataFrame | None = None
    context_shares: pd.DataFrame | None = None
    stages: pd.DataFrame | None = None
    failing: Mapping[str, str] = field(default_factory=dict)
    """What is to be said beside the effects of agents that answer too often wrongly, by agent."""
    people: bool = False
    """Whether people were asked about these products; no part of the estimates."""

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        kept = {name: each for name, each in vars(self).items() if each is not None or name not in _LATER}
        kept.pop("people"), kept.pop("failing")
        return to_json(kept)


def analyze_choice(
    table: pd.DataFrame,
    receipts: pd.DataFrame | None = None,
    factors: pd.DataFrame | None = None,
    sequence: pd.DataFrame | None = None,
    *,
    margin: float | None = None,
    contrasts: Sequence[str] = (),
    people: bool = False,
    declared: Mapping[str, Any] | None = None,
    failing: Mapping[str, str] | None = None,
) -> ChoiceAnalysis:
    """Analyse a tidy table, with its receipts (see `treatment_check`) where the run kept them.

    factors: what decided the choices, to a judge (see `deciding_factors`), where the run was judged.
    sequence: the trials in the order of the design (see `analysis.choice.stopping.sequences`), where a rule
    could stop the run: then p values and intervals for a fixed number of trials are left out. margin: in
    percentage points, for the equivalence tests of the exact effects (see `exact_tests`). contrasts: `A:B`
    each, see `analysis.choice.contrasts`; none: all pairs of nudges that stand head to head. people: whether
    people were asked about these products, so that their effects are drawn beside. declared: the rules of a
    study with people, see `participation`. failing: agents that cannot tell which product is better, as
    `analysis.choice.effects.right_answers.failing` says it of another run: a note beside their effects.

    Raises AnalysisError for a table, receipts or factors that `check_table`, `treatment_check` or
    `deciding_factors` refuse.
    """
    # The products are of tall, narrow matrices: more threads wait for each other longer than they work.
    with threadpool_limits(limits=1, user_api="blas"):
        table = check_table(table)
        asked = contrasts_of(table, contrasts)
        told = asked if contrasts or len(asked) else None
        found = replace(_analyze(table, receipts, factors, margin), people=people, contrasts=told)
        if failing:
            found = replace(found, failing=failing, effects=_warned(found.effects, failing))
        if has_people(table):
            rules, own = declared or {}, without_head_to_head(table)
            effects = possible(people_effects(own, rules))
            found = replace(found, participation=participation(table, rules), people_effects=effects)
            if "proposed" in table and table["proposed"].notna().any():
                found = replace(found, teams=teams(table))
        return found if sequence is None else _stopped(found, sequence)


def _stopped(found: ChoiceAnalysis, table: pd.DataFrame) -> ChoiceAnalysis:
    """The analysis of a run that its rule could stop."""
    sequence = sequence_frame(table)
    frames: dict[str, Any] = {
        name: without_fixed(frame, sequence)
        for name, frame in vars(found).items()
        if isinstance(frame, pd.DataFrame)
    }
    # Random effects rest on estimates for a fixed number of trials.
    frames |= {name: frames[name][:0] for name in ("heterogeneity", "shrunken")}
    frames |= dict.fromkeys(("ranking", "told_apart", "utilities", "mean_effects", "texts_pooled"))
    return replace(found, **frames | {"sequence": sequence, "sequence_path": path_frame(table)})


def _analyze(
    table: pd.DataFrame,
    receipts: pd.DataFrame | None,
    factors: pd.DataFrame | None,
    margin: float | None,
) -> ChoiceAnalysis:
    whole, table = table, without_head_to_head(table)
    exact = exact_tests(table, margin)
    effects = _with_exact(with_counts(possible(main_effects(table)), table), exact)
    by_text, by_category = map(possible, nudges.nudge_effects(table))
    profiles, profile_differences = groups.profile_effects(table)
    modalities, modality_differences = groups.modality_effects(table)
    slopes, curves = sensitivity(table)
    apart, apart_curves = difference_effects(table)
    both = logit.logit_effects(table, effects)
    types = groups.product_type_effects(table)
    ranking, told_apart = rankings(table)
    market, shares = markets(table)
    several = table["agent"].nunique() > 1
    common, shrunken = heterogeneity(effects, exact)
    return ChoiceAnalysis(
        attrition=count_outcomes(whole),
        readings=readings(whole.drop_duplicates(TRIAL_ID)),
        equal_attrition=compare_outcomes(whole),
        attrition_by_factor=compare_by_factor(whole),
        bounds=worst_case_bounds(table),
        treatment=None if receipts is None else treatment_check(receipts),
        effects=effects,
        exact=exact,
        tradeoffs=tradeoffs(table),
        nudge_texts=by_text,
        categories=by_category,
        texts_and_categories=possible(joint_effects(table)),
        texts_by_category=nudges.texts_by_category(table),
        profiles=possible(profiles),
        profile_differences=possible(profile_differences, 2 * LIMIT),
        set_sizes=possible(groups.set_size_effects(table)),
        positions=groups.position_shares(table),
        slopes=possible(slopes, why="the differences are smaller than the unit of this slope"),
        curves=curves,
        difference_effects=possible(apart, why="the differences are smaller than the unit of this term"),
        difference_curves=apart_curves,
        logit=both,
        logit_agreement=logit.agreement(both),
        steps=steps.step_summary(whole),
        step_counts=steps.step_counts(whole),
        factors=None
        if factors is None
        else deciding_factors(
            factors, with_questions(whole).drop_duplicates(["agent", "trial"]).set_index(["agent", "trial"])
        ),
        agreement=None if factors is None else judges_agree(factors),
        heterogeneity=common,
        shrunken=shrunken,
        notes=_notes(whole),
        modalities=possible(modalities) if len(modalities) else None,
        modality_differences=possible(modality_differences, 2 * LIMIT) if len(modalities) else None,
        modality_use=use if len(use := steps.modality_use(whole)) else None,
        ranking=_in_range(ranking) if len(ranking) else None,
        told_apart=told_apart if len(told_apart) else None,
        utilities=utilities(table),
        product_types=possible(types) if len(types) else None,
        mean_effects=mean_effects(effects) if several else None,
        texts_pooled=texts_over_agents(exact) if several else None,
        right_answers=answered if len(answered := right_answers(whole)) else None,
        market=market if len(market) else None,
        shares=shares if len(shares) else None,
        context_effects=moved if len(moved := context_effects(whole)) else None,
        context_shares=parts if len(parts := context_shares(whole)) else None,
        stages=possible(by_stage) if len(by_stage := stages(table)) else None,
    )


def _warned(effects: pd.DataFrame, failing: Mapping[str, str]) -> pd.DataFrame:
    """The effects with a note where their agent fails."""
    warnings = effects["group"].map(failing).fillna("")
    notes = [join_notes(note, warning) for note, warning in zip(effects["note"], warnings, strict=True)]
    return effects.assign(note=notes)


def _with_exact(effects: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Return the effects with the exact interval and p value beside them, where the design gives these."""
    names = {"p_value": "p_exact", "conf_low": "exact_low", "conf_high": "exact_high"}
    own = exact[exact["part"] == ""].rename(columns=names)[["term", "group", *names.values()]]
    return effects.merge(own, on=["term", "group"], how="left")


def possible(frame: pd.DataFrame, limit: float = LIMIT, why: str = "too little data") -> pd.DataFrame:
    """Return the frame of effects on a probability without those larger than any can be.

    These are empty, and their note gives the reason: a linear model extrapolates beyond 0 and 1 where it has
    too little data for its interactions, and a slope where its unit is larger than the differences. limit:
    the largest possible size in percentage points; of a nudge less its placebo it is 200. why: the reason.
    """
    if frame.empty:
        return frame
    largest = np.where(frame["term"] == LESS_PLACEBO, 2 * LIMIT, limit)
    beyond = frame["estimate"].abs() > largest + ROUNDING
    notes = [
        f"the linear model gives {estimate:,.0f} points, more than a probability can change: {why}"
        for estimate in frame.loc[beyond, "estimate"]
    ]
    frame = frame.assign(estimate=frame["estimate"].clip(-largest, largest))  # what is beyond by rounding
    frame.loc[beyond, list(NUMBERS)] = np.nan
    frame.loc[beyond, "note"] = notes
    return frame


def _in_range(ranking: pd.DataFrame) -> pd.DataFrame:
    """The ranking without what is beyond 100 points by rounding."""
    return ranking.assign(estimate=ranking["estimate"].clip(-LIMIT, LIMIT))


def _notes(table: pd.DataFrame) -> tuple[str, ...]:
    notes = []
    trials = table.drop_duplicates(TRIAL_ID)
    missing = int((trials["outcome"] != "choice").sum())
    if missing:
        notes.append(
            f"{missing:,} of {len(trials):,} trials have no choice; they are left out of the effects."
        )
    for name, feature in (("price", "cheaper"), ("rating", "higher rated")):
        if name in table and table[name].isna().any():
            count = len(table.loc[table[name].isna(), TRIAL_ID].drop_duplicates())
            notes.append(f"No option is taken for {feature} in the trials that lack a {name} ({count:,}).")
    if both := table.loc[head_to_head(table), TRIAL_ID].nunique():
        notes.append(f"Two nudges stand head to head in {both:,} trials, which only the contrasts are about.")
    if table["direction"].eq(-1).any():
        notes.append("A nudge meant to push away counts as a nudge of the other options of its set.")
    if row_weights(table) is not None:
        notes.append(
            "Trials count by one over their chance of assignment (allocation: adaptive); the logit, shares by"
            " position and observed shares do not weigh trials, and are left out."
        )
    return tuple(notes)
