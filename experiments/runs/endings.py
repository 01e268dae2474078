"""Say at the end of a run what its trials lack: choices, with the most likely cause, and figures."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from analysis.tables.outcomes import OUTCOMES, outcome_facts
from experiments.episodes.page_record import IN_VAIN
from experiments.records.page_figures import differences, unread_notes
from experiments.records.reading.queries import (
    cells,
    failed_requests,
    figures_of_options,
    first_ended,
    invalid_answers,
    trials_with_page_errors,
)
from experiments.records.store import Records


def ending_complaints(records: Records, run: str, counts: Mapping[str, int], total: int) -> Iterator[str]:
    """Yield a line for each kind of ending that keeps trials from the results; `counts`: by outcome.

    Trials that end as `agent_limit` are an agent's own, unless none has ended otherwise, or the button was
    pressed that adds to the cart and no choice was seen.
    """
    in_vain = [(each, *first_ended(records, run, each, IN_VAIN)) for each in ("agent_limit", "no_choice")]
    for outcome, vain, reason in in_vain:
        if vain:
            yield f"{vain:,} of {total:,} trials ended as {outcome}: {reason}; no choice can be seen there"
    only_lost = all(outcome_facts(each).advice is not None for each in counts)
    if not in_vain[0][1] and counts.get("agent_limit") and only_lost:
        yield _line(records, run, "agent_limit", counts["agent_limit"], total)
    for outcome, facts in OUTCOMES.items():
        if facts.failed and facts.advice is not None and (broken := counts.get(outcome, 0)):
            yield _line(records, run, outcome, broken, total)


def ending_notes(records: Records, run: str) -> Iterator[str]:
    """Yield a line for whatever may have spoilt trials that count, or has cost some.

    These are invalid answers, failed requests, a catalogue that differs from the pages, figures that are not
    known, and errors that pages report in some conditions only.
    """
    for agent, reasons in invalid_answers(records, run).items():
        said = ", ".join(f"{n:,} {reason}" for reason, n in sorted(reasons.items()))
        yield f"{agent}: {reasons.total():,} of its trials ended with an invalid answer: {said}"
    for agent, made, failed in failed_requests(records, run):
        said = ", ".join(f"{n:,} {what}" for what, n in failed.most_common())
        yield f"{agent}: {failed.total():,} of {made:,} requests to its provider failed: {said}"
    rows, unread = figures_of_options(records, run)
    yield from differences(rows)
    yield from unread_notes(unread)
    yield from _page_error_notes(records, run)


def _page_error_notes(records: Records, run: str) -> Iterator[str]:
    """Yield a line for each error of pages that most trials of a condition have, and none of another."""
    of_all = Counter[str]()
    for cell in cells(records, run):
        of_all[cell.condition] += cell.trials
    found = defaultdict[str, dict[str, int]](dict)
    for text, condition, number in trials_with_page_errors(records, run):
        found[text][condition] = number
    for text, by in found.items():
        without = sorted(of_all.keys() - by.keys())
        if without and any(2 * number >= of_all[each] for each, number in by.items()):
            those = ", ".join(
                f"{number:,} of {of_all[each]:,} trials of {each}" for each, number in by.items()
            )
            yield (
                f"in {those} and in none of {', '.join(without)} a page reports the error {text!r} in its "
                "console: the shop's own scripts can tell these conditions apart, and may draw them otherwise"
            )


def _line(records: Records, run: str, outcome: str, number: int, total: int) -> str:
    _, reason = first_ended(records, run, outcome)
    of_all, ended = Counter[str](), Counter[str]()
    for cell in cells(records, run):
        of_all[cell.condition] += cell.trials
        ended[cell.condition] += cell.trials * (cell.outcome == outcome)
    shares = {ended[each] / of_all[each] for each in of_all}
    uneven = ""
    if outcome == "treatment_failed" and len(shares) > 1:
        by = ", ".join(f"{each} {ended[each]:,} of {of_all[each]:,}" for each in sorted(of_all))
        uneven = f" ({by}: choices go missing by condition, so that effects may be biased)"
    advice = outcome_facts(outcome).advice or ""
    return f"{number:,} of {total:,} trials ended as {outcome}{uneven}: {reason}{advice}"
