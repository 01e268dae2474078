"""Phrases that shops write on buttons, about reviews and about the stock, in several languages."""

import re

from selectolax.lexbor import LexborNode

from interventions.proposal.scan import text

ADD_TO_CART = re.compile(
    r"add (?:it )?to (?:my )?(?:cart|basket|bag|trolley)|buy now"
    r"|in den (?:waren|einkaufs)korb|ajouter au panier|a(?:ñ|n)adir (?:al carrito|a la cesta)"
    r"|agregar al carrito|aggiungi al carrello|adicionar ao carrinho"
    r"|in winkel(?:wagen|mand)|dodaj do koszyka|l(?:ä|a)gg i (?:varu)?korg|в корзину"
    r"|カート|加入购物车|장바구니",
    re.I,
)
STOCK = re.compile(
    r"\b(?:in|out of) stock|sold out|only \d+ left|\bavailable\b|unavailable|pre-?order"
    r"|auf lager|lieferbar|ausverkauft|en stock|rupture|agotado|disponib|op voorraad|esaurito|esgotado",
    re.I,
)
REVIEWS = re.compile(
    r"\b[\d.,]+\)?\s*(?:\w+\s)?(?:reviews?|ratings?|(?:rezension|bewertung|beoordeling)(?:en)?|avis|rese(?:ñ|n)as?"
    r"|opiniones|recensioni|avalia(?:ç|c)(?:õ|o)es|opini(?:i|e)|omd(?:ö|o)men|отзыв\w*)\b|\([\d.,]+\)$",
    re.I,
)


def is_cart_button(node: LexborNode) -> bool:
    """Return whether an element is the button that puts a product into the cart."""
    if node.tag == "input" and (node.attributes.get("type") or "") in ("submit", "button"):
        return bool(ADD_TO_CART.search(node.attributes.get("value") or ""))
    if node.tag in ("button", "a"):
        labels = (text(node), node.attributes.get("aria-label") or "", node.attributes.get("title") or "")
        return any(len(label) <= 60 and ADD_TO_CART.search(label) for label in labels)
    return False
