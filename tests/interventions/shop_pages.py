"""Pages as One Stop Market writes them, as far as edits see them."""

# ruff: noqa: E501 - markup and messages stand as they are compared

HOST = "http://shop.test/"
HTML = "text/html; charset=UTF-8"
KEY = "quiet-harbor-oat-cookies"


def stars(rating: int, id: int, inner: str) -> str:
    return f"""<div class="rating-summary">
        <span class="label"><span>Rating:</span></span>
        <div class="rating-result" id="rating-result_{id}" title="{rating}%">
          <span style="width: {rating}%"><span>{inner}</span></span>
        </div>
      </div>"""


def price_box(price: str, amount: str, id: int, metas: str = "") -> str:
    return f"""<div class="price-box price-final_price" data-role="priceBox" data-product-id="{id}">
      <span class="price-container price-final_price tax weee">
        <span id="product-price-{id}" data-price-amount="{amount}" data-price-type="finalPrice" class="price-wrapper "
          ><span class="price">{price}</span></span>
        {metas}
      </span>
    </div>"""


def shop_page(classes: str, body: str, head: str = "<title>One Stop Market</title>") -> bytes:
    return f"""<!doctype html>
<html lang="en"><head prefix="og: http://ogp.me/ns#"><meta charset="utf-8"/>{head}
<script>var BASE_URL = '{HOST}'; document.write("<div class='page-title-wrapper product'><\\/div>".slice(0, 0));</script>
</head><body data-container="body" id="html-body" class="{classes}">
<noscript><div class="message">JavaScript seems to be disabled.</div></noscript>
<div class="page-wrapper"><header class="page-header"><ul class="header links">
<li><a class="action compare no-display"><span class="counter qty"></span></a></li></ul></header>
<main id="maincontent" class="page-main"><a id="contentarea" tabindex="-1"></a>
{body}
</main></div></body></html>
""".encode()


def product_page(
    *, reviews: int = 12, price: str = "$19.99", amount: str = "19.99", extra: str = ""
) -> bytes:
    summary = f"""<div class="product-reviews-summary" itemprop="aggregateRating">
      {stars(75, 7, '<span itemprop="ratingValue">75</span>% of <span itemprop="bestRating">100</span>')}
      <script>var width = '<div class="rating-result" title="1%">';</script>
      <div class="reviews-actions">
        <a class="action view" href="{HOST}{KEY}.html#reviews"><span itemprop="reviewCount">{reviews}</span>&nbsp;
          <span>Reviews</span></a>
        <a class="action add" href="{HOST}{KEY}.html#review-form">Add Your Review</a>
      </div></div>"""
    if not reviews:
        summary = """<div class="product-reviews-summary empty"><div class="reviews-actions">
          <a class="action add" href="#">Be the first to review this product</a></div></div>"""
    counter = f' <span class="counter">{reviews}</span>' if reviews else ""
    metas = f'<meta itemprop="price" content="{amount}" /><meta itemprop="priceCurrency" content="USD" />'
    return shop_page(
        f"catalog-product-view product-{KEY} page-layout-1column",
        f"""<div class="page-title-wrapper&#x20;product">
    <h1 class="page-title"><span class="base" itemprop="name">Quiet Harbor Oat Cookies</span></h1></div>
<div class="columns"><div class="column main"><div class="product-info-main"><div class="product-info-price">
    <div class="product-info-stock-sku">
      <div class="stock available" title="Availability"><span>In stock</span></div>
      <div class="product attribute sku"><strong class="type">SKU</strong> <div class="value">B0</div></div>
    </div>
    {summary}
    {price_box(price, amount, 7, metas)}
  </div></div>
  <div class="product media"><img class="gallery-placeholder__image" alt="main product photo" src="{HOST}media/{KEY}.jpg"
    srcset="{HOST}media/{KEY}-2x.jpg 2x"></div>
  <button id="product-addtocart-button" class="action primary tocart"><span>Add to Cart</span></button>
  <div class="data item title" id="tab-label-reviews">
    <a class="data switch" id="tab-label-reviews-title" href="#reviews">Reviews{counter}</a></div>
  {extra}
</div></div>""",
        f"""<title>Quiet Harbor Oat Cookies</title>
<meta property="og:type" content="product" /><meta property="og:url" content="{HOST}{KEY}.html" />
<meta property="og:title" content="Quiet Harbor Oat Cookies" /><meta property="og:image" content="{HOST}media/{KEY}.jpg" />
<meta property="product:price:amount" content="{amount}"/>""",
    )


def card(key: str, id: int, price: str = "$19.99", amount: str = "19.99", rating: int | None = 75) -> str:
    summary = ""
    if rating is not None:
        summary = f"""<div class="product-reviews-summary short">{stars(rating, id, f"<span>{rating}%</span>")}
          <div class="reviews-actions">
            <a class="action view" href="{HOST}{key}.html#reviews">12 &nbsp;<span>Reviews</span></a></div></div>"""
    return f"""<li class="item product product-item"><div class="product-item-info" id="product-item-info_{id}">
      <a href="{HOST}{key}.html" class="product photo product-item-photo"><img class="product-image-photo" src="{HOST}media/{key}.jpg" alt="Image"></a>
      <div class="product details product-item-details">
        <strong class="product name product-item-name"><a class="product-item-link" href="{HOST}{key}.html">
            {key.replace("-", " ").title()} </a></strong>
        {summary}
        {price_box(price, amount, id)}
        <div class="product-item-inner"><form action="{HOST}checkout/cart/add/product/{id}/" method="post">
          <button type="submit" title="Add to Cart" class="action tocart primary"><span>Add to Cart</span></button>
        </form></div></div></div></li>"""


OPTIONS = """<div class="product-options-wrapper" id="product-options-wrapper"><div class="fieldset"><div class="field required">
  <label class="label"><span>Color</span></label><div class="control"><div class="options-list nested">
    <div class="field choice"><input type="radio" id="o_2" value="1"><label class="label" for="o_2"><span>Navy Blue</span></label></div>
    <div class="field choice"><input type="radio" id="o_3" value="2"><label class="label" for="o_3"><span>Red</span></label></div>
  </div></div></div></div></div>"""


def related(*cards: str) -> str:
    """The block of related products on a product's page."""
    return f"""<div class="block related"><div class="block-title"><strong>Related Products</strong></div>
<ol class="products list items product-items">{"".join(cards)}</ol></div>"""


def category_page(*cards: str) -> bytes:
    return shop_page(
        "page-with-filter page-products catalog-category-view page-layout-2columns-left",
        f"""<div class="columns"><div class="column main"><div class="products wrapper grid products-grid">
<ol class="products list items product-items">{"".join(cards)}</ol></div></div>
<div class="sidebar sidebar-main"><div class="block filter"><strong>Shop By</strong></div></div></div>""",
        "<title>Cookies - Grocery</title>",
    )


def home_page(*cards: str) -> bytes:
    plain = "".join(cards).replace("item product product-item", "product-item").replace("product name ", "")
    return shop_page("cms-home", f'<ol class="product-items widget-product-grid">{plain}</ol>')


def cart_page(*rows: tuple[str, str, int, str], total: str = "$0.00") -> bytes:
    lines = "".join(
        f"""<tbody class="cart item"><tr class="item-info">
        <td class="col item" data-th="Item"><a class="product-item-photo" href="{HOST}{key}.html" title="{key}"
          ><img class="product-image-photo" src="{HOST}media/{key}.jpg"></a><div class="product-item-details"><strong class="product-item-name">
          <a href="{HOST}{key}.html">{key}</a></strong></div></td>
        <td class="col price" data-th="Price"><span class="price-excluding-tax"><span class="cart-price">
          <span class="price">{price}</span></span></span></td>
        <td class="col qty" data-th="Qty"><input name="cart[1][qty]" data-item-qty="{quantity}" value="{quantity}"></td>
        <td class="col subtotal"><span class="cart-price"><span class="price">{subtotal}</span></span></td>
        </tr></tbody>"""
        for key, price, quantity, subtotal in rows
    )
    return shop_page(
        "checkout-cart-index",
        f"""<div class="cart-container"><div class="cart-summary"><div id="cart-totals"><table class="data table totals">
<tr class="totals sub"><th>Subtotal</th><td><span class="price">{total}</span></td></tr>
<tr class="grand totals"><th>Order Total</th><td><strong><span class="price">{total}</span></strong></td></tr>
</table></div></div>
<form id="form-validate" class="form form-cart"><table id="shopping-cart-table" class="cart items data table">
<thead><tr><th class="col item">Item</th></tr></thead>{lines}</table></form></div>""",
        "<title>Shopping Cart</title>",
    )
