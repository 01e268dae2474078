"""Which product was chosen, as the request, the cart, the shop's message and the page tell, in this order."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from environments.episode import TabObservation
from environments.observation.stops import Stop
from experiments.designs.shop.trial import ShopTrial
from experiments.treatment.shown_figures import titles
from experiments.treatment.treatment_check import squeeze
from interventions.yaml.choice import PRODUCT, Message
from proxy.session import CartAddition, Session

Name = tuple[str, str]
"""A product's name as a reader sees it, and the product's key."""


class ChosenProduct(NamedTuple):
    """The product that was put into the cart: its key, or in words what was seen of it."""

    product: str
    seen: str = ""


def chosen(trial: ShopTrial, session: Session, look: TabObservation | None = None) -> ChosenProduct:
    """Return the product that was put into the cart.

    look: the last look, where the agent is Souk's own.
    """
    by: dict[str, list[CartAddition]] = {}
    for added in session.added:
        by.setdefault(added.by, []).append(added)
    asked, shown, reached = (by.get(name, ()) for name in ("request", "cart", "address"))
    if product := next((each.product for each in (*asked, *shown) if each.product), ""):
        return ChosenProduct(product)
    names = _names(trial, session)
    messages = _said(session, look, by.get("message", ()))
    if said := next(filter(None, (named(text, rule, names) for rule, text in messages)), None):
        return said
    at = [each.at for each in asked] if asked else [session.product_at(look.url)] if look else []
    if product := next(filter(None, (*(each.product for each in reached), *at)), ""):
        return ChosenProduct(product)
    if wanted := next((each.named for each in (*asked, *reached) if each.named), ""):
        return ChosenProduct("", f"the id {wanted!r}, and no page tells whose it is")
    return ChosenProduct("", "something, and nothing tells what")


def left_in_cart(session: Session) -> list[CartAddition]:
    """Return what tells that a product is in the cart, since a page has shown it empty."""
    emptied = [number for number, each in enumerate(session.added) if each.by == "emptied"]
    return session.added[emptied[-1] + 1 :] if emptied else session.added


def in_cart(trial: ShopTrial, session: Session, look: TabObservation) -> ChosenProduct:
    """Return the product that a trial has put into the cart, and gone on; of several, what they are."""
    put = [each.product for each in left_in_cart(session) if each.product]
    return one_of(put) if put else chosen(trial, session, look)


def one_of(products: Iterable[str]) -> ChosenProduct:
    """Return the one product that was ordered or put into the cart; of several, or none, what they are."""
    every = list(dict.fromkeys(products))
    return ChosenProduct(every[0] if len(every) == 1 else "", f"{len(every)} products ({', '.join(every)})")


def _said(
    session: Session, look: TabObservation | None, read: Iterable[CartAddition]
) -> Iterator[tuple[Message, str]]:
    """What the shop says of its cart, and the rule that knows it."""
    rules = session.site.choice.message
    if look and look.stop and look.stop.outcome == "choice":
        for rule in rules:
            if Stop(rule.css, rule.words, "choice") == look.stop:
                yield rule, squeeze(look.said or look.observation.html)
    for added in read:
        yield from ((rule, added.named) for rule in rules if rule.words.casefold() in added.named.casefold())


def _names(trial: ShopTrial, session: Session) -> list[Name]:
    """The names of the products, longest first. A shop's script may read the name from the page."""
    shop = [(squeeze(product.name), product.key) for product in trial.products]
    if trial.whole:
        shop += [(squeeze(title), key) for key, title in titles(session).items()]
    ours = [
        (squeeze(str(edit.values()["name"])), product.key)
        for product in trial.products
        for treatment in session.plan.by_product.get(product.key, ())
        for edit in treatment.edits
        if "name" in edit.values()
    ]
    return sorted(shop + ours, key=lambda name: len(name[0]), reverse=True)


def named(text: str, rule: Message, names: Sequence[Name]) -> ChosenProduct | None:
    """Return the product that a message names; None where it names none, as "You added this item" does.

    names: those of the choice set, longest first. Another name is returned as what was seen.
    """
    if PRODUCT not in rule.says:  # that it holds a name may mean another product, whose name is longer
        return None
    before, after = (squeeze(part).strip() for part in rule.says.split(PRODUCT))
    # Where there are several messages, the last one is the newest.
    told = re.split(rf"{re.escape(before)}(?!\w)", text, flags=re.I)[1:] if before else [text]
    if not told:
        return None
    rest = told[-1].strip()
    start = "" if before else r".*(?<!\w)"
    end = rf"\s*{re.escape(after)}" if after else r"[\s.!]*\Z"
    for name, key in names:
        if re.match(rf"{start}{re.escape(name)}{end}", rest, re.I):
            return ChosenProduct(key)
    name = re.split(re.escape(after), rest, maxsplit=1, flags=re.I)[0] if after else rest
    name = name.partition("<")[0].strip(" .!")
    if key := next((key for known, key in names if known.casefold() == name.casefold()), ""):
        return ChosenProduct(key)
    return (
        None
        if _NOBODY.fullmatch(name)
        else ChosenProduct("", f"{name[:200]!r}, which is not in the choice set")
    )


_NOBODY = re.compile(r"|it|(?:this|the|an?|1|one)?\s*(?:item|product)s?", re.I)
"""What a message says that names no product."""
