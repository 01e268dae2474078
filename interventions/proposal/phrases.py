"""Phrases that shops write on buttons and links, about reviews and about the stock, in many languages."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from selectolax.lexbor import LexborNode

from interventions.data_file import items, read_data
from interventions.proposal.scan import text

STOCK = re.compile(
    r"\b(?:in|out of) stock|sold out|only \d+ left|\bavailable\b|unavailable|pre-?order"
    r"|auf lager|lieferbar|ausverkauft|en stock|rupture|agotado|disponib|op voorraad|esaurito|esgotado"
    r"|na stanie|dostępn|i lager|på lager|varastossa|skladem|készleten|în stoc|stokta|в наличии|є в наявності"
    r"|在庫|有货|有貨|재고|متوفر|במלאי",
    re.I,
)
REVIEWS = re.compile(
    r"\b[\d.,]+\)?\s*(?:\w+\s)?(?:reviews?|ratings?|(?:rezension|bewertung|beoordeling)(?:en)?|avis|rese(?:ñ|n)as?"
    r"|opiniones|recensioni|avalia(?:ç|c)(?:õ|o)es|opini(?:i|e)|omd(?:ö|o)men|отзыв\w*|відгук\w*"
    r"|anmeldelser|arvostelua|arviota|hodnocení|értékelés|recenzii|yorum|değerlendirme|κριτικές"
    r"|meinung(?:en)?|ביקורות|חוות דעת)\b"
    r"|\d\s*(?:件の(?:レビュー|評価)|条评价|則評價|개의? ?리뷰)|(?:レビュー|리뷰|评价)\s*[(（]?\d"
    r"|\d\s*(?:تقييم|مراجعة)|\d\s*(?:รีวิว|ความคิดเห็น|đánh giá|ulasan|نظر)|\([\d.,]+\)$",
    re.I,
)


_AWAY = ("refuse", "close", "accept")


def says_add(label: str) -> bool:
    """Return whether a label says that it puts a product into the cart."""
    return len(label) <= 60 and bool(_any("add").search(plain(label)))


def _says_buy(label: str) -> bool:
    """Return whether a label is one of the short words for buying, perhaps with a price or an icon."""
    return len(label) <= 40 and plain(label) in _phrases("buy")


def says_cart(label: str) -> bool:
    """Return whether a short label names the cart."""
    # Names of the cart are inflected.
    return len(label) <= 40 and bool(_any("cart", end="").search(plain(label)))


def says_checkout(label: str) -> bool:
    """Return whether a label, or an address, leads to the checkout, orders or pays."""
    return bool(_any("checkout").search(plain(label)) or says_order(label))


def says_order(label: str) -> bool:
    """Return whether a label says, or may say, that something is ordered or paid."""
    return bool(_any("order").search(plain(label)))


def opens_checkout(label: str) -> bool:
    """Return whether a label leads to the checkout, and says nothing of buying, ordering or paying."""
    ordering = says_order(label) or _says_buy(label) or says_add(label)
    return len(label) <= 60 and bool(_any("checkout").search(plain(label))) and not ordering


def fills_cart(label: str) -> bool:
    """Return whether a button with this label puts a product into the cart."""
    return not says_checkout(label) and (says_add(label) or _says_buy(label))


def is_cart_button(node: LexborNode) -> bool:
    """Return whether an element is the button that puts a product into the cart."""
    attributes = node.attributes
    if node.tag == "input" and (attributes.get("type") or "") in ("submit", "button"):
        labels = [attributes.get("value") or ""]
    elif node.tag in ("button", "a") or attributes.get("role") == "button":
        labels = [text(node), attributes.get("aria-label") or "", attributes.get("title") or ""]
    else:
        return False
    if any(says_checkout(label) for label in labels):
        return False
    # A link that says no more than "Buy" leads to the product, if not to the cart.
    short = node.tag != "a" or re.search(
        r"cart|basket|buy|add|^#|^$|^javascript", attributes.get("href") or ""
    )
    return any(says_add(label) or (short and _says_buy(label)) for label in labels)


def taking_away(labels: Sequence[str]) -> list[int]:
    """Return which of a layer's buttons may take it away, by their labels: those that refuse come first.

    Those with nothing but a sign come last.
    """
    ranks = [_rank(label) for label in labels]
    return sorted((n for n, rank in enumerate(ranks) if rank is not None), key=lambda n: ranks[n] or 0)


def _rank(label: str) -> int | None:
    """Which of `_AWAY` a label says; None: none of them, or it may buy or order something."""
    said = plain(label)
    if len(label) > 60 or says_checkout(label) or fills_cart(label):
        return None
    found = (rank for rank, kind in enumerate(_AWAY) if _any(kind).search(said))
    return next(found, None if said else len(_AWAY))


@lru_cache(maxsize=4096)
def plain(label: str) -> str:
    """Return the words of a label, in lower case, without figures, signs and icons."""
    letters = (
        char if unicodedata.category(char)[0] in "LM" or char == "'" else " " for char in label.casefold()
    )
    return " ".join("".join(letters).replace("’", "'").split())


@lru_cache(maxsize=16)
def _any(kind: str, end: str = r"\b") -> re.Pattern[str]:
    """A pattern for any of the phrases of a kind; in scripts with spaces they are whole words."""
    phrases = sorted(_phrases(kind), key=len, reverse=True)
    start = [r"\b" if each < "\u2e80" else "" for each in phrases]
    ends = [end if each < "\u0900" else "" for each in phrases]
    return re.compile("|".join(map("".join, zip(start, map(re.escape, phrases), ends, strict=True))))


@lru_cache(maxsize=8)
def _phrases(kind: str) -> frozenset[str]:
    """What shops write of a kind, such as `buy`, in all languages."""
    languages = read_data(__file__, "phrases.yaml").values()
    return frozenset(plain(each) for told in languages for each in items(told.get(kind, "")) if each)
