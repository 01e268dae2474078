"""Vary the prompt of a choice card: JSON records, fields in another order, a persona, reasons first."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from experiments.designs.cards.experiment_file import BASE, Variant
from interventions.cards.card import Card, LetterAnswer

REASONS: Final = (
    "\n\nFirst reason step by step about the options. Then end with a line that says your choice, in this"
    " form:\nFinal answer: {letters}"
)
"""What follows the question where reasons are asked for."""
RATIONALE: Final = (
    "\n\nWhatever was said about the form of your reply: write one JSON object with two keys, and nothing"
    ' else. "answer" holds {answer} alone; "reason" says in one or two sentences why.'
)
"""What ends a question where a reason is asked for beside the answer."""
RATIONALE_TOKENS: Final = 512
"""The longest answer with the reason beside it."""
TOKENS: Final = 2_048
"""The longest answer with reasons."""


class Cell(NamedTuple):
    """A variant at one temperature; `name` is the condition of its trials."""

    name: str
    variant: Variant
    temperature: float | None


def cells_of(variants: Mapping[str, Variant], temperature: float | None) -> Iterator[Cell]:
    """Yield the card as it is, at the experiment's temperature, and then each variant.

    The card as it is has the name `base`, and without variants none. A variant at several temperatures is a
    cell at each of them: `warm-0.7`, `warm-1`.
    """
    yield Cell(BASE if variants else "", Variant(), temperature)
    for name, variant in variants.items():
        own = variant.temperature
        if isinstance(own, tuple):
            yield from (Cell(f"{name}-{each:g}", variant, each) for each in own)
        else:
            yield Cell(name, variant, temperature if own is None else own)


def varied(card: Card, variant: Variant) -> Card:
    """Return the card as the variant shows it; its first fact, the name, stays in its place."""
    changes: dict[str, object] = {"form": variant.form}
    if variant.persona:
        changes["intro"] = "\n\n".join(filter(None, [variant.persona, card.intro]))
    if variant.fields:
        order = {label: place for place, label in enumerate(variant.fields)}
        changes["alternatives"] = tuple(
            each.model_copy(
                update={
                    "facts": (
                        each.facts[0],
                        *sorted(each.facts[1:], key=lambda fact: order.get(fact[0], len(order))),
                    )
                }
            )
            for each in card.alternatives
        )
    if variant.reasoning and isinstance(card.answer, LetterAnswer):
        *others, last = card.answer.labels
        changes["reply"] = REASONS.format(letters=f"{', '.join(others)} or {last}")
        changes["max_tokens"] = max(card.max_tokens, TOKENS)
    return card.model_copy(update=changes)


def with_rationale(card: Card) -> Card:
    """Return the card that asks for one JSON object: the answer, and the reason beside it."""
    changes = {
        "reply": card.reply + RATIONALE.format(answer=f"the {card.answer.kind}"),
        "max_tokens": max(card.max_tokens, RATIONALE_TOKENS),
        "rationale": True,
    }
    return card if card.rationale else card.model_copy(update=changes)
