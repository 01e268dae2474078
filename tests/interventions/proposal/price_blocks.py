"""Blocks of prices whose meaning is known, because they were made of it: in eight currencies."""

# ruff: noqa: E501 - markup stands as shops write it

import random
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Money:
    """How a currency is written in a language, and what shops say there."""

    language: str
    form: str
    point: str
    group: str
    cents: bool
    says: dict[str, str]

    def write(self, value: Decimal) -> str:
        value = value.quantize(CENT if self.cents else Decimal(1), ROUND_HALF_UP)
        whole, _, rest = f"{value:,f}".partition(".")
        figure = whole.replace(",", self.group) + (f"{self.point}{rest}" if rest else "")
        return self.form.format(figure)


MONEY = {
    "USD": Money("en-US", "${}", ".", ",", True, {
        "former": "Was {}", "instalment": "4 interest-free payments of {}", "apr": "0% APR from {} a month",
        "member": "Club price {}", "net": "{} excl. tax", "tier": "Buy 3 for {} each", "unit": "{} / 100 g",
        "saving": "You save {}", "percent": "Save {}%", "cash": "{} by bank transfer",
    }),
    "GBP": Money("en-GB", "£{}", ".", ",", True, {
        "former": "RRP {}", "instalment": "or 3 instalments of {}", "apr": "From {} per month at 0% APR",
        "member": "Members' price: {}", "net": "{} ex VAT", "tier": "Any 3 for {}", "unit": "{} per kg",
        "saving": "Save {}", "percent": "{}% off", "cash": "{} with bank transfer",
    }),
    "EUR": Money("de-DE", "{} €", ",", ".", True, {
        "former": "UVP {}", "instalment": "Ratenzahlung ab {}", "apr": "ab {} im Monat", "member": "Clubpreis {}",
        "net": "{} zzgl. MwSt.", "tier": "ab 3 Stück: {}", "unit": "{} / Liter", "saving": "Sie sparen {}",
        "percent": "{} % Rabatt", "cash": "{} bei Vorkasse",
    }),
    "FR": Money("fr-FR", "{}\u00a0€", ",", "\u202f", True, {
        "former": "au lieu de {}", "instalment": "4 mensualités de {}", "apr": "à partir de {} par mois",
        "member": "{} pour les adhérents", "net": "{} HT", "tier": "3 pour {}", "unit": "{} par kg",
        "saving": "Économisez {}", "percent": "{} % de réduction", "cash": "{} al contado",
    }),
    "BRL": Money("pt-BR", "R$ {}", ",", ".", True, {
        "former": "De: {}", "instalment": "10x de {} sem juros", "apr": "12x {}", "member": "{} para assinantes",
        "net": "{} sem IVA", "tier": "leve 3 por {}", "unit": "{} / kg", "saving": "Economize {}",
        "percent": "{}% de desconto", "cash": "{} no Pix",
    }),
    "PLN": Money("pl-PL", "{} zł", ",", "\u00a0", True, {
        "former": "Cena regularna {}", "instalment": "10 x {}", "apr": "od {} miesięcznie",
        "member": "Cena klubowa {}", "net": "{} netto", "tier": "od 3 szt. {}", "unit": "{} / kg",
        "saving": "Oszczędzasz {}", "percent": "-{}%", "cash": "{} cash",
    }),
    "SEK": Money("sv-SE", "{} kr", ",", "\u00a0", False, {
        "former": "Ord. pris {}", "instalment": "delbetala {} per månad", "apr": "från {}/mån",
        "member": "Medlemspris {}", "net": "{} exkl. moms", "tier": "3 för {}", "unit": "{} / kg",
        "saving": "Spara {}", "percent": "{}% rabatt", "cash": "{} cash",
    }),
    "JPY": Money("ja-JP", "{}円", ".", ",", False, {
        "former": "通常価格 {}", "instalment": "月々 {}", "apr": "{} /月", "member": "会員 {}", "net": "税抜 {}",
        "tier": "3個で {}", "unit": "{}/100g", "saving": "割引 {}", "percent": "{}% off", "cash": "{} cash",
    }),
}  # fmt: skip
FACTORS = {
    "former": Decimal("1.25"), "instalment": Decimal("0.25"), "apr": Decimal("0.084"), "member": Decimal("0.9"),
    "net": Decimal("0.8"), "tier": Decimal("0.92"), "unit": Decimal("0.4"), "saving": Decimal("0.25"),
    "percent": Decimal(20), "cash": Decimal("0.95"),
}  # fmt: skip
ROLES = {
    "instalment": "instalment", "apr": "instalment", "member": "member_price", "net": "net_price",
    "tier": "tier_price", "unit": "unit_price", "saving": "saving", "percent": "saving", "cash": "cash_price",
}  # fmt: skip
MARKUP = (
    "<p>{}</p>", "<div class=line-{at}><small>{}</small></div>", "<span>{}</span><br>", "<ul><li>{}</li></ul>",
)  # fmt: skip
STRUCK = ("<del>{}</del> ", "<s>{}</s> ", '<span style="text-decoration: line-through">{}</span> ',
          "<span class=struck>{}</span> ", "<p>{}</p>")  # fmt: skip
AGREEING = ("card", "JSON-LD", "both", "microdata", "og")


@dataclass(frozen=True)
class PriceBlock:
    """A product's page and its listing; `price` is the true one, `others`: the roles and texts of amounts."""

    product: str
    listing: str
    price: Decimal
    others: list[tuple[str, str]]
    money: Money


def made(seed: int) -> PriceBlock:
    """A block of two to four amounts in any order, with the price among them, that something agrees with."""
    random_ = random.Random(seed)
    money = list(MONEY.values())[seed % len(MONEY)]
    price = Decimal(random_.randrange(1200, 240_000)) / 100
    price = price if money.cents else Decimal(round(price * 10))
    kinds = random_.sample(list(FACTORS), random_.randint(1, 3))
    if {"saving", "percent"} <= set(kinds):
        kinds.remove("percent")
    parts, others = [], list[tuple[str, str]]()
    for at, kind in enumerate(kinds):
        value = FACTORS[kind] if kind == "percent" else price * FACTORS[kind]
        shown = f"{value}" if kind == "percent" else money.write(value)
        says = money.says[kind]
        if kind == "former" and (struck := random_.choice(STRUCK)) != STRUCK[-1]:
            says = random_.choice(("{}", says))
            parts.append(struck.format(says.format(shown)))
            continue
        if random_.random() < 0.4 and kind != "percent":
            shown = f"<b>{shown}</b>"
        text = says.format(shown)
        parts.append(random_.choice(MARKUP).format(text, at=at))
        if kind in ROLES:
            others.append((f"product.{ROLES[kind]}", text))
    own = random_.choice(
        ("<p>{}</p>", "<p class=price>{}</p>", "<span class=now>{}</span> ", "<div><b>{}</b></div>")
    )
    agreeing = random_.choice(AGREEING)
    content = f' itemprop="price" content="{price}"' if agreeing == "microdata" else ""
    figure = f"<span{content}>{money.write(price)}</span>" if content else money.write(price)
    parts.append(own.format(figure))
    if random_.random() < 0.7:  # the others come first
        random_.shuffle(parts)
    data = (
        f'<script type="application/ld+json">{{"@type": "Product", "name": "Lamp", "offers": {{"price": "{price}"}}}}</script>'
        if agreeing in ("JSON-LD", "both")
        else ""
    )
    meta = f'<meta property="product:price:amount" content="{price}">' if agreeing == "og" else ""
    head = f"<meta charset=utf-8><title>Lamp</title>{meta}<style>.struck {{ text-decoration: line-through }}</style>"
    block = "".join(parts)
    product = (
        f"<!doctype html><html lang={money.language}><head>{head}</head><body class=product-page>{data}<main>"
        f"<h1>Lamp</h1><div class=block>{block}</div><button class=buy>Add to cart</button></main></body></html>"
    )
    cards = "".join(
        f"<li class=item><a href=/{key}><h3>{name}</h3></a><p class=cost>{money.write(cost)}</p></li>"
        for key, name, cost in (
            ("lamp", "Lamp", price),
            ("lantern", "Lantern", price + 7),
            ("bulb", "Bulb", price + 3),
        )
    )
    listing = (
        f"<!doctype html><html lang={money.language}><meta charset=utf-8><body class=listing><ul class=grid>{cards}</ul>"
        if agreeing in ("card", "both")
        else ""
    )
    return PriceBlock(product, listing, price, others, money)
