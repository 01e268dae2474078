"""Find the answer that a text declares: a letter or the name of an option, or a number.

Only forms that declare are read ("Answer: B", "I choose option B", "\\boxed{B}", a line with the answer
alone). What prose says of options, or a letter that is an article, is no answer.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from interventions.cards.reply import words

HEADING, CHOSEN, STATED, FORMAL = range(4)
"""How final a declaration is: no more than a heading; "I choose"; "answer", or a line of its own; "final"."""

_AS_TYPED: Final = {
    **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
    **{0x3000: " ", ord("’"): "'"},
    **dict.fromkeys(map(ord, "“”„«»「」『』"), '"'),
}
_LATEX: Final = re.compile(r"\\(?:text|textbf|textit|textrm|mathbf|mathrm|mathit|emph)\s*\{([^{}]*)\}")
_BOXED: Final = re.compile(r"\\(?:boxed|fbox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_TAGGED: Final = re.compile(r"<((?:final_)?(?:answer|choice))>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_FORMAT: Final = re.compile(
    r"~~[^~]+~~|```\w*|</?(?-i:b|i|u|p|em|strong|span|br|div|code|h\d|li|ul)\b[^<>]*>|\\[()\[\]]|\\(?=\$)"
    r"|[*`]+|(?<!\w)_+|_+(?!\w)|^(?:[>#•]+ |[-+] (?![\d$]))+|^\$$",
    re.MULTILINE | re.IGNORECASE,
)
_OBJECT: Final = re.compile(r"\{[^{}]*\}")
_FORMALLY: Final = re.compile(r"(?:boxed|json|(?:the |my )?(?:final )?answer): ?", re.IGNORECASE)


class _Declaration(NamedTuple):
    """A declaration; `value` is empty where it declares none of the answers.

    `turned`: whether the text says between the one before and this one that it concludes, or was wrong.
    """

    value: str
    rule: str
    rank: int
    turned: bool = False


class Form(NamedTuple):
    """How an answer is written, as patterns with one group. `alone`: where nothing else stands there."""

    slot: str
    alone: str
    nouns: str = ""
    """What else may be called so: "my maximum: 45"."""
    scoped: str = "(?!)"
    """What may not follow: it says for whom the answer is."""
    leads: bool = False
    """Whether a first sentence that is the answer alone may be followed by others."""


def plain(text: str) -> str:
    """Return a text without Markdown, LaTeX, HTML and signs, and with a line for each formal answer in it."""
    text = text.translate(_AS_TYPED).replace("...", "…")
    text = "".join(c for c in text if unicodedata.category(c) not in ("Cf", "So"))
    text = _with_objects(text)
    for _ in range(2):
        text = _LATEX.sub(r"\1", text)
    text = _TAGGED.sub(r"\nfinal answer: \2\n", _BOXED.sub(r"\nboxed: \1\n", text))
    text = re.sub(r"\[([^\[\]]{1,200})\]\([^()]{0,500}\)", r"\1", text)
    text = _FORMAT.sub("", _lines(text))
    # After reasoning the final answer has a line of its own, also where it was written behind it.
    finally_said = rf"(?<=[.!?…;。]) ?((?:(?:the|my) )?final {words('answers')} ?:)"
    text = re.sub(finally_said, r"\n\1", text, flags=re.IGNORECASE)
    heading = rf"^((?:(?:the|my|your) )?(?:final )?(?:{words('answers')})) ?:?\n(?=.)"
    return re.sub(heading, r"\1: ", _lines(text), flags=re.MULTILINE | re.IGNORECASE)


def _lines(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


def _with_objects(text: str) -> str:
    """Put in the place of each JSON object that answers a line with its answer."""
    whole = text.strip()
    for found in [whole] if whole.startswith("{") else _OBJECT.findall(text):
        try:
            answers = list(dict.fromkeys(_answers(json.loads(found))))
        except (ValueError, RecursionError):
            continue
        if answers:
            text = text.replace(found, "\n" + "\n".join(f"json: {each}" for each in answers) + "\n")
    return text


def _answers(value: Any) -> Iterator[str]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        if isinstance(inner, dict):
            yield from _answers(inner)
        elif re.fullmatch(words("json_key"), re.sub("[^a-z]", "", key.lower())):
            yield " ".join(str(inner).split())


@cache
def _patterns(form: Form) -> tuple[tuple[int, re.Pattern[str]], ...]:
    nouns, verbs, best = f"(?:{words('answers')}{form.nouns})", words("verbs"), f"{words('praise')}*"
    equals = rf"(?: \([^()]*\))?(?: for me)? ?{words('equals')}+ ?"
    slot = f"{words('filler')}*{form.slot}(?={words('tail')})"
    to = f"{equals}(?:that )?(?:to {verbs} )?{slot}"
    who = rf"(?:{words('subject')} |(?=\w+ing\b|(?:selected|chosen|choose|pick):))"
    kinds = (
        (FORMAL, f"(?P<how>boxed|json): ?{form.alone}$"),
        (FORMAL, f"(?:(?:the|my) )?final(?: {nouns})?{to}"),
        (STATED, f"(?:{words('mine')} ?)?{best}(?:{nouns}|(?<=st )option|(?<=ed )option){to}"),
        (CHOSEN, f"(?:{words('choose')} ?|{who}{verbs}:? ){slot}"),
        (
            CHOSEN,
            f"{form.slot},? (?:is|would be) (?:(?:my|the) {best}{nouns}$|the (?:one|option|hotel) i .*)",
        ),
        (CHOSEN, f"{form.slot} ?[,:–—-]? ?(?={words('reason')})"),
    )
    return tuple((rank, re.compile(pattern, re.IGNORECASE)) for rank, pattern in kinds)


def declarations(text: str, form: Form) -> Iterator[_Declaration]:
    """Yield what a plain text declares, in order."""
    lines = text.splitlines()
    found = ((n, re.fullmatch(form.alone, line.rstrip(".!:"))) for n, line in enumerate(lines))
    alone, last = {n: each[1] for n, each in found if each}, len(lines) - 1
    # Several answers that have lines of their own are headings, and not the one that stands there again.
    headings = {value for n, value in alone.items() if n != last or lines[n].endswith(":")}
    turned = False
    for number, line in enumerate(lines):
        if number in alone:
            repeated = number == last and alone[number] in headings
            heading = number not in (0, last) or line.endswith(":") or (len(headings) > 1 and not repeated)
            yield _Declaration(alone[number], "letter", HEADING if heading else STATED, turned)
            continue
        clauses = [
            sentence[part.end() :]
            for sentence in re.split(r"(?<=[.!;?]) |(?<=。)", line)
            for part in re.finditer(r"^|, (?=but\b|so\b)", sentence)
        ]
        for place, clause in enumerate(clauses):
            turned = turned or re.search(words("turn"), clause, re.I) is not None
            declared = _in_clause(clause, form)
            if not declared and form.leads and number == place == 0 and len(clauses) > 1:
                declared = _leading(clause, text, form)
            if declared:
                yield declared._replace(turned=turned)
                turned = False


def _leading(clause: str, text: str, form: Form) -> _Declaration | None:
    """The answer that is the first sentence alone; none where it begins a list."""
    first, after = re.fullmatch(rf"{form.alone}[.)!]", clause), text[len(clause) + 1 :]
    listed = not after[:1].isupper() or re.search(r"(?:^|\s)\(?[A-Z][.):]\s", after)
    return _Declaration(first[1], "letter", CHOSEN) if first and not listed else None


def _in_clause(clause: str, form: Form) -> _Declaration | None:
    clause = clause.rstrip(".!;。 ")
    said = re.sub(f"^{words('cues')}*", "", clause, flags=re.I)
    if said != clause and (alone := re.fullmatch(form.alone, said)):
        return _Declaration(alone[1], "declared", STATED)
    for rank, pattern in _patterns(form):
        if not (found := pattern.match(said)):
            continue
        how, rest = found.groupdict().get("how"), said[found.end() :]
        value = found[2 if how else 1]
        left_open = re.match(form.scoped, rest) or re.search(words("open"), rest, re.I)
        valid = not (left_open or _has_other(rest, value, form))
        return _Declaration(value if valid else "", (how or "declared").lower(), rank)
    if formally := _FORMALLY.match(said):
        rank = FORMAL if re.match("(?:boxed|json|.*final)", formally[0], re.I) else STATED
        return _in_clause(said[formally.end() :], form) or _Declaration("", "declared", rank)
    return None


def _has_other(rest: str, value: str, form: Form) -> bool:
    """Whether another answer follows in the same sentence, and not as what the first is compared with."""
    others = (each for each in re.finditer(form.slot, rest, re.I) if each[1] not in (value, "A", "I"))
    other = next(others, None)
    return other is not None and not re.search(words("contrast"), rest[: other.start()], re.I)


def settled(found: list[_Declaration]) -> _Declaration | None:
    """Return the declaration that holds: the last, where those before agree or are less final.

    None: there is none, or they contradict each other and nothing says which is the final one.
    """
    if not found or not found[-1].value or found[-1].rank == HEADING:
        return None
    last = found[-1]
    differ = [each for each in found[:-1] if each.value != last.value]
    return None if any(last.rank <= each.rank and not last.turned for each in differ) else last
