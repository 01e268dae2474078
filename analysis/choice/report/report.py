"""Write the report of the choice analysis: its answer, and its sections."""

from collections.abc import Iterator
from functools import partial

import pandas as pd

from analysis.choice.effects.effects import THESE_TEXTS
from analysis.choice.report.attrition_report import checked, problems
from analysis.choice.report.sections import sections
from analysis.choice.report.wording import (
    WORDING,
    context_clauses,
    contrast_clause,
    rule_clause,
    told_contrasts,
    tradeoff_clauses,
)
from analysis.choice.study import ChoiceAnalysis
from analysis.reporting.answer import (
    LEVEL,
    by_agent,
    clauses,
    contrast_sentences,
    p_text,
    sample_text,
    sentence,
)
from analysis.reporting.sections import Report


def report(found: ChoiceAnalysis) -> Report:
    """Make the report: the effects first; what the table does not hold gives no section."""
    asked = found.contrasts
    stopped = None if found.sequence is None else _stopped(found, found.sequence)
    return Report(
        sections=tuple(sections(found)),
        answer=(
            *(() if asked is None else contrast_sentences(told_contrasts(asked), contrast_clause)),
            *(() if found.context_effects is None else _context(found.context_effects)),
            *(() if found.right_answers is None else _right_answers(found.right_answers)),
            *(stopped or by_agent(_families(found), partial(_answer, found.tradeoffs))),
            *_equivalent(found.exact),
        ),
        checked=checked(found),
        problems=(*problems(found), *(f"{agent}: {told}." for agent, told in found.failing.items())),
    )


def _context(effects: pd.DataFrame) -> tuple[str, ...]:
    """What a decoy and a middle place do to the choice of each agent."""
    return by_agent(effects, lambda _, rows: context_clauses(rows))


def _right_answers(found: pd.DataFrame) -> Iterator[str]:
    """How often each agent answers wrongly where there is a right answer, and to which question most."""
    for agent, rows in found[found["part"] == "question"].groupby("group", sort=True):
        wrong, trials = rows["wrong"].sum(), rows["trials"].sum()
        worst = rows.sort_values("share", kind="stable").to_dict("records")[-1]
        said = [f"{100 * wrong / trials:.0f} % of {trials:,} answers to questions with a right one are wrong"]
        if len(rows) > 1 and wrong:
            said.append(f"most to {worst['level']}: {worst['wrong']} of {worst['trials']}")
        yield sentence(str(agent), said)


def _stopped(found: ChoiceAnalysis, sequence: pd.DataFrame) -> tuple[str, ...]:
    """What the sequence says comes first; then the effects that the rule was not about."""
    rows, told = sequence.set_index("group", drop=False), list[str]()
    for agent, effects in _families(found).groupby("group", sort=True):
        others, clause = effects, list[str]()
        if agent in rows.index:
            own = rows.loc[[agent]].to_dict("records")[0]
            others, clause = effects[effects["term"] != own["term"]], [rule_clause(own)]
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


def _families(found: ChoiceAnalysis) -> pd.DataFrame:
    """The effects with the trials and adjusted p values of their exact tests, as in the table `exact`."""
    whole = found.exact[found.exact["part"] == ""].set_index(["group", "term"])
    rows = whole.reindex(pd.MultiIndex.from_frame(found.effects[["group", "term"]]))
    return found.effects.assign(
        p_exact_adjusted=rows["p_adjusted"].to_numpy(float), n_exact=rows["n"].to_numpy(float)
    )


def _answer(worth: pd.DataFrame, agent: str, rows: pd.DataFrame) -> list[str]:
    """Where the design is too small for an interval about new sets, the exact one about these is said."""
    rows = rows.set_index("term").reindex([term for term in WORDING.names if term in set(rows["term"])])
    exact = rows["conf_low"].isna() & rows["exact_low"].notna() & rows["estimate"].notna()
    others = {
        "conf_low": rows["exact_low"],
        "conf_high": rows["exact_high"],
        "p_adjusted": rows["p_exact_adjusted"],
        "n": rows["n_exact"],
    }
    for column, values in others.items():
        rows[column] = rows[column].mask(exact, values)
    said = clauses(rows.reset_index(), WORDING, sample_text(rows, "trial"))
    if exact.any():
        which = ", ".join(WORDING.names[term] for term in rows.index[exact])
        said.append(f"{which}: by the exact test (table exact), about these choice sets and texts only")
    of_texts = rows.index[~exact & rows["conf_low"].notna() & rows["note"].str.contains(THESE_TEXTS)]
    if len(of_texts):
        said.append(f"{', '.join(WORDING.names[term] for term in of_texts)}: {THESE_TEXTS}")
    return said + tradeoff_clauses(worth[worth["group"] == agent])
