"""Shops made by a generator that knows what their pages show, in many languages and ways of writing HTML."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

NAMES = ("Harbour Lamp", "Cedar Lamp", "Studio Arc Lamp", "Copper Clip Lamp", "Pier Lantern")
RELATED = ("Linen Shade", "Brass Bulb", "Oak Stand")

LANGUAGES = {  # language -> the button, a price of 1299.00 and one of 18.50
    "en": ("Buy", "$1,299.00", "$18.50"),
    "en-GB": ("Add to basket", "£1,299.00", "£18.50"),
    "de": ("In den Warenkorb", "1.299,00 €", "18,50 €"),
    "de-CH": ("In den Warenkorb", "CHF 1’299.00", "CHF 18.50"),
    "fr": ("Ajouter au panier", "1\u202f299,00\u00a0€", "18,50\u00a0€"),
    "es": ("Añadir a la cesta", "1.299,00 €", "18,50 €"),
    "it": ("Acquista", "€ 1.299,00", "€ 18,50"),
    "pt-BR": ("Comprar", "R$ 1.299,00", "R$ 18,50"),
    "nl": ("In winkelwagen", "€ 1.299,00", "€ 18,50"),
    "pl": ("Kup teraz", "1 299,00 zł", "18,50 zł"),
    "sv": ("Köp", "1 299,00 kr", "18,50 kr"),
    "fi": ("Lisää ostoskoriin", "1 299,00 €", "18,50 €"),
    "cs": ("Koupit", "1 299,00 Kč", "18,50 Kč"),
    "tr": ("Sepete ekle", "1.299,00 ₺", "18,50 ₺"),
    "ru": ("Купить", "1 299,00 ₽", "18,50 ₽"),
    "ja": ("カートに入れる", "¥1,299", "¥18"),
    "zh": ("加入购物车", "¥1,299.00", "¥18.50"),
    "ko": ("장바구니 담기", "₩1,299", "₩18"),
    "ar": ("أضف إلى السلة", "١٬٢٩٩٫٠٠ ر.س", "١٨٫٥٠ ر.س"),
    "hi": ("कार्ट में जोड़ें", "₹1,299.00", "₹18.50"),
}
STYLES: dict[str, Callable[[str], str]] = {
    "told": lambda word: word,
    "css modules": lambda word: f"Shop_{word.replace('-', '')}__{_hashed(word, 5)}",
    "minified": lambda word: f"_{_hashed(word, 3)}",
    "letters": lambda word: _hashed(word, 2).strip("0123456789") or "q",
    "styled": lambda word: f"sc-{_hashed(word, 6)} {_hashed(word, 5)}",
    "none": lambda word: "",
}
LINKS = ("around", "heading", "picture and name", "the card itself")
LISTS = ("grid", "cells of a table")
ADDRESSES = (
    "/p/{slug}",
    "/item?id={number}",
    "/index.php?route=product/product&product_id={number}",
    "/{slug}.html",
)


@dataclass(frozen=True)
class MadeShop:
    """A shop of these manners; its pages, and what they show."""

    language: str = "en"
    style: str = "told"
    link: str = "around"
    address: str = "/p/{slug}"
    listed: str = "grid"
    related: bool = False
    former: bool = False
    products: tuple[str, ...] = field(default=NAMES)

    @property
    def button(self) -> str:
        return LANGUAGES[self.language][0]

    def path(self, name: str) -> str:
        return self.address.format(slug=name.lower().replace(" ", "-"), number=self.number(name))

    def price(self, name: str) -> str:
        return LANGUAGES[self.language][1 if (*NAMES, *RELATED).index(name) % 2 == 0 else 2]

    def product_page(self, name: str) -> str:
        """A product's page; with `related`, three other products below."""
        former = f"<s>{LANGUAGES[self.language][1]}</s>" if self.former else ""
        cards = "".join(self._card(each, "mini-card") for each in RELATED) if self.related else ""
        section = f"<section{self._class('related')}><h2>See too</h2>{cards}</section>" if cards else ""
        return self._page(
            name,
            f"""<main{self._class("product-detail")}><h1{self._class("product-title")}>{name}</h1>
<p{self._class("product-price")}>{self.price(name)}</p>{former}<p>A warm light for long evenings.</p>
{self.form(name)}
</main>{section}""",
        )

    def form(self, name: str) -> str:
        """What puts the product into the cart."""
        hidden = f'<input type="hidden" name="what" value="{self.number(name)}">'
        return f'<form action="/basket" method="post">{hidden}<button>{self.button}</button></form>'

    def number(self, name: str) -> int:
        """The shop's own number of a product."""
        return (*NAMES, *RELATED).index(name) + 40

    def listing_page(self) -> str:
        cards = [self._card(name, "product-card") for name in self.products]
        if self.listed == "grid":
            listed = f"<div{self._class('grid-of-lamps')}>{''.join(cards)}</div>"
        else:  # a row holds three products, and is no card
            cells = [f"<td>{card}</td>" for card in cards]
            listed = f"<table><tr>{''.join(cells[:3])}<tr>{''.join(cells[3:])}</table>"
        return self._page("Lamps", f"<main><h1>Lamps</h1>{listed}</main>")

    def _card(self, name: str, kind: str) -> str:
        link, price = escape(self.path(name)), f"<p{self._class('card-price')}>{self.price(name)}</p>"
        image = f'<img src="/{len(name)}.png" alt="">'
        title = f"<h3{self._class('card-title')}>{name}</h3>"
        if self.link == "the card itself":
            return f'<a href="{link}"{self._class(kind)}>{image}{title}{price}</a>'
        inside = {
            "around": f'<a href="{link}">{image}{title}{price}</a>',
            "heading": f'{image}<h3{self._class("card-title")}><a href="{link}">{name}</a></h3>{price}',
            "picture and name": f'<a href="{link}">{image}</a><a href="{link}">{title}</a>{price}',
        }[self.link]
        return f"<div{self._class(kind)}>{inside}</div>"

    def _class(self, word: str) -> str:
        name = STYLES[self.style](word)
        return f' class="{name}"' if name else ""

    def _page(self, title: str, body: str) -> str:
        head = f'<meta charset="utf-8"><title>{title}</title>'
        return f"""<!doctype html><html lang="{self.language}"><head>{head}</head><body>
<header><a href="/">Home</a> <a href="/lamps">Lamps</a> <a href="/basket">0</a></header>{body}
<footer><a href="/terms">Terms</a></footer></body></html>"""


def _hashed(word: str, length: int) -> str:
    """Letters and figures that a build would make of a word."""
    made = random.Random(word)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    return "".join([made.choice(letters[:26]), *(made.choice(letters) for _ in range(length - 1))])
