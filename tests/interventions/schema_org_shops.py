"""Small shops, each built in the way of a common shop system, that state their products in terms of schema.org.

Every shop sells the Tin Whistle at 18.50 (rated 4.5 of 5 by 12 people) beside the Oak Flute at 64.00.
"""

# ruff: noqa: E501 - markup stands as shops write it

from dataclasses import dataclass

HOST = "https://shop.test"


@dataclass(frozen=True)
class Shop:
    """A product's page, a listing of two, and the key of the product."""

    key: str
    product: str
    listing: str


def page(head: str, body: str, attributes: str = "") -> str:
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">{head}</head>
<body {attributes}><header><h2>The Reed</h2><nav><a href="/">Home</a> <a href="/cart">Cart (0) $0.00</a></nav></header>
<main>{body}</main><footer>Free shipping from $99.00</footer></body></html>"""


def json_ld(key: str) -> str:
    return f"""<script type="application/ld+json">{{"@context":"https://schema.org/","@type":"Product","name":"Tin Whistle",
"url":"{HOST}/{key}","aggregateRating":{{"@type":"AggregateRating","ratingValue":"4.5","reviewCount":"12"}},
"offers":[{{"@type":"Offer","price":"18.50","priceCurrency":"USD","availability":"http://schema.org/InStock"}}]}}</script>"""


def _microdata_card(slug: str, name: str, price: str) -> str:
    return f"""<li itemscope itemtype="https://schema.org/Product"><a itemprop="url" href="/{slug}">
<span itemprop="name">{name}</span></a> <div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
<span itemprop="price" content="{price}">${price}</span></div></li>"""


_MICRODATA_CARDS = f"""<ul itemscope itemtype="https://schema.org/ItemList">{_microdata_card("tin-whistle", "Tin Whistle", "18.50")}
{_microdata_card("oak-flute", "Oak Flute", "64.00")}</ul>"""

MICRODATA = Shop(
    "tin-whistle",
    page(
        f'<title>Tin Whistle - The Reed</title><link rel="canonical" href="{HOST}/tin-whistle">',
        """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Tin Whistle</h1>
<p itemprop="aggregateRating" itemscope itemtype="https://schema.org/AggregateRating">
<span itemprop="ratingValue">4.5</span> of 5 from <span itemprop="reviewCount">12</span> people</p>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="priceCurrency" content="USD">
<span itemprop="price" content="18.50">$18.50</span> <span itemprop="availability">In stock</span></div>
<p itemprop="description">Six holes, one octave more than you think.</p><button>Buy now</button>"""
        + _MICRODATA_CARDS.replace("Tin Whistle", "Tin Drum")
        .replace("tin-whistle", "tin-drum")
        .replace("18.50", "21.00")
        + "</div>",
    ),
    page("<title>Winds</title>", "<h1>Winds</h1>" + _MICRODATA_CARDS),
)

RDFA = Shop(
    "shop/tin-whistle",
    page(
        f"""<title>Tin Whistle</title><meta property="og:type" content="og:product"><meta property="og:url" content="{HOST}/shop/tin-whistle">
<meta property="og:title" content="Tin Whistle"><meta property="product:price:amount" content="18.50">""",
        """<article vocab="https://schema.org/" typeof="Product"><h1 property="name">Tin Whistle</h1>
<div property="aggregateRating" typeof="AggregateRating">Rated <b property="ratingValue">4.5</b>/5,
<b property="reviewCount">12</b> reviews</div>
<div property="offers" typeof="Offer">$<span property="price" content="18.50">18.50</span></div></article>""",
    ),
    page(
        "<title>Winds</title>",
        """<h1>Winds</h1><div vocab="https://schema.org/"><div typeof="Product"><a property="url" href="/shop/tin-whistle"><b property="name">Tin Whistle</b></a>
<div property="offers" typeof="Offer">$<span property="price">18.50</span></div></div><div typeof="Product"><a property="url" href="/shop/oak-flute"><b property="name">Oak Flute</b></a>
<div property="offers" typeof="Offer">$<span property="price">64.00</span></div></div></div>""",
    ),
)


def _shopify_price(price: str) -> str:
    return f"""<div class="price"><div class="price__container"><div class="price__regular"><span class="visually-hidden">Regular price</span>
<span class="price-item price-item--regular">${price} USD</span></div><div class="price__sale"><span><s class="price-item price-item--regular"></s></span>
<span class="price-item price-item--sale price-item--last">${price} USD</span></div></div></div>"""


def _shopify_card(slug: str, name: str, price: str) -> str:
    return f"""<li class="grid__item"><div class="card-wrapper"><div class="card"><div class="card__inner"><div class="card__content"></div></div>
<div class="card__content"><div class="card__information"><h3 class="card__heading h5"><a href="/products/{slug}?variant=1" class="full-unstyled-link">{name}</a></h3>
<div class="card-information">{_shopify_price(price)}</div></div></div></div></div></li>"""


SHOPIFY_LIKE = Shop(
    "products/tin-whistle",
    page(
        f'<title>Tin Whistle</title><link rel="canonical" href="{HOST}/products/tin-whistle">'
        + json_ld("products/tin-whistle?variant=1"),
        f"""<div class="product"><div class="product__info-container"><div class="product__title"><h1>Tin Whistle</h1></div>
<div id="price-template">{_shopify_price("18.50")}</div>
<div class="rating" role="img" aria-label="4.5 out of 5.0 stars"><span class="rating-star"></span></div><p class="rating-text caption"><span aria-hidden="true">4.5 / 5.0</span></p>
<p class="rating-count caption"><span aria-hidden="true">(12)</span><span class="visually-hidden">12 total reviews</span></p>
<form method="post" action="/cart/add"><button type="submit" name="add">Add to cart</button></form></div></div>""",
    ),
    page(
        "<title>Winds</title>",
        f"<h1>Winds</h1><ul>{_shopify_card('tin-whistle', 'Tin Whistle', '18.50')}{_shopify_card('oak-flute', 'Oak Flute', '64.00')}</ul>",
        'class="template-collection"',
    ),
)


def _woo_price(price: str, was: str = "") -> str:
    def amount(figure: str) -> str:
        return f'<span class="woocommerce-Price-amount amount"><bdi><span class="woocommerce-Price-currencySymbol">&#36;</span>{figure}</bdi></span>'

    return (
        f'<del aria-hidden="true">{amount(was)}</del> <ins aria-hidden="true">{amount(price)}</ins>'
        if was
        else amount(price)
    )


def _woo_card(slug: str, name: str, price: str, was: str = "") -> str:
    return f"""<li class="product type-product"><a href="{HOST}/product/{slug}/" class="woocommerce-LoopProduct-link woocommerce-loop-product__link">
<h2 class="woocommerce-loop-product__title">{name}</h2><div class="star-rating" role="img" aria-label="Rated 4.50 out of 5"><span style="width:90%">Rated <strong class="rating">4.50</strong> out of 5</span></div>
<span class="price">{_woo_price(price, was)}</span></a><a href="?add-to-cart=3" class="button add_to_cart_button">Add to cart</a></li>"""


WOOCOMMERCE_LIKE = Shop(
    "product/tin-whistle",
    page(
        f"""<title>Tin Whistle</title><link rel="canonical" href="{HOST}/product/tin-whistle/"><script type="application/ld+json">{{"@context":"https://schema.org/","@graph":[
{{"@type":"BreadcrumbList","itemListElement":[{{"@type":"ListItem","position":1}}]}},
{{"@type":"Product","@id":"{HOST}/product/tin-whistle/#product","name":"Tin Whistle","offers":[{{"@type":"Offer","priceSpecification":[{{"price":"18.50","priceCurrency":"USD"}}]}}],
"aggregateRating":{{"ratingValue":"4.50","reviewCount":12}}}}]}}</script>""",
        f"""<div class="product"><div class="summary entry-summary"><h1 class="product_title entry-title">Tin Whistle</h1>
<div class="woocommerce-product-rating"><div class="star-rating" role="img" aria-label="Rated 4.50 out of 5"><span style="width:90%">Rated <strong class="rating">4.50</strong> out of 5 based on <span class="rating">12</span> ratings</span></div>
<a href="#reviews" class="woocommerce-review-link">(<span class="count">12</span> customer reviews)</a></div>
<p class="price">{_woo_price("18.50", "22.00")}</p><p class="stock in-stock">9 in stock</p>
<form class="cart" method="post"><button type="submit" name="add-to-cart" value="3" class="single_add_to_cart_button button alt">Add to cart</button></form></div>
<section class="related products"><h2>Related products</h2><ul class="products">{_woo_card("oak-flute", "Oak Flute", "64.00")}{_woo_card("tin-drum", "Tin Drum", "21.00")}</ul></section></div>""",
        'class="single single-product woocommerce"',
    ),
    page(
        "<title>Winds</title>",
        f'<h1>Winds</h1><ul class="products">{_woo_card("tin-whistle", "Tin Whistle", "18.50", "22.00")}{_woo_card("oak-flute", "Oak Flute", "64.00")}</ul>',
        'class="archive tax-product_cat woocommerce"',
    ),
)


def _presta_card(slug: str, name: str, price: str) -> str:
    return f"""<div class="js-product product"><article class="product-miniature js-product-miniature" data-id-product="3"><div class="thumbnail-container">
<a href="{HOST}/winds/{slug}.html" class="thumbnail"><img src="/img/3.jpg" alt="{name}"></a><div class="product-description">
<h2 class="h3 product-title"><a href="{HOST}/winds/{slug}.html">{name}</a></h2><div class="product-price-and-shipping"><span class="price" aria-label="Price">${price}</span></div></div></div></article></div>"""


PRESTASHOP_LIKE = Shop(
    "winds/3-tin-whistle",
    page(
        f'<title>Tin Whistle</title><link rel="canonical" href="{HOST}/winds/3-tin-whistle.html"><meta property="og:type" content="product">'
        f'<meta property="product:price:amount" content="18.5">{json_ld("winds/3-tin-whistle.html")}',
        """<section id="main"><div class="product-container"><h1 class="h1">Tin Whistle</h1><div class="product-prices"><div class="product-price">
<div class="current-price"><span class="current-price-value" content="18.5">$18.50</span></div></div></div>
<form action="/cart" method="post"><button class="btn btn-primary add-to-cart" data-button-action="add-to-cart" type="submit">Add to cart</button></form>
<span id="product-availability">In stock</span></div></section>""",
        'id="product" class="lang-en"',
    ),
    page(
        "<title>Winds</title>",
        f'<h1>Winds</h1><div class="products">{_presta_card("3-tin-whistle", "Tin Whistle", "18.50")}{_presta_card("4-oak-flute", "Oak Flute", "64.00")}</div>',
        'id="category"',
    ),
)

ONLY_DATA = page(
    f'<title>Tin Whistle</title><link rel="canonical" href="{HOST}/tin-whistle">' + json_ld("tin-whistle"),
    '<h1>Tin Whistle</h1><div class="x1 cost">$18.50</div>',
)
"""The price stands in JSON-LD and in an element of which the map knows nothing."""

SHOPS = {
    "microdata": MICRODATA,
    "RDFa": RDFA,
    "Shopify-like": SHOPIFY_LIKE,
    "WooCommerce-like": WOOCOMMERCE_LIKE,
    "PrestaShop-like": PRESTASHOP_LIKE,
}
