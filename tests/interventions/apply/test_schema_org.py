"""The site map `schema-org` on shops that it was not made for."""

import json
import re

import pytest

from interventions.apply.consistency import sightings
from interventions.apply.engine import EditFailed, Rewrite
from interventions.yaml.sitemap import load_site_map
from tests.interventions.rewriting import HTML, rewritten
from tests.interventions.schema_org_shops import HOST, ONLY_DATA, SHOPS, WOOCOMMERCE_LIKE, Shop

SITE = load_site_map("schema-org")
NUDGE = {"insert_text": {"after": "product.title", "text": "Played at every wedding"}}
every_shop = pytest.mark.parametrize("shop", SHOPS.values(), ids=SHOPS)


def treated(html: str, url: str, key: str, *edits: dict[str, object]) -> Rewrite:
    return rewritten(html, key, *edits, site=SITE, url=url)


@every_shop
def test_page_types_and_products(shop: Shop) -> None:
    # The address says nothing: the page itself tells which product it shows.
    page = treated(shop.product, f"{HOST}/p?id=3", shop.key, NUDGE)
    assert (page.page_type, page.product) == ("product", shop.key)
    assert treated(shop.listing, f"{HOST}/winds", shop.key, NUDGE).page_type == "listing"


@every_shop
def test_a_nudge_stands_once_under_the_title(shop: Shop) -> None:
    for html, url in ((shop.product, f"{HOST}/{shop.key}"), (shop.listing, f"{HOST}/winds")):
        page = treated(html, url, shop.key, NUDGE)
        text = re.sub(r"<script.*?</script>", "", page.body.decode(), flags=re.S)
        assert text.count("Played at every wedding") == 1
        body = text.partition("<main>")[2]
        assert body.index("Tin Whistle") < body.index("Played at every wedding")
        assert [receipt.matches for receipt in page.receipts] == [1]


@pytest.mark.parametrize("name", ["microdata", "RDFa", "Shopify-like", "WooCommerce-like"])
def test_ratings_are_out_of_five(name: str) -> None:
    shop = SHOPS[name]
    edits = {"set_rating": 60}, {"set_reviews": 345}
    page = treated(shop.product, f"{HOST}/{shop.key}", shop.key, *edits)
    text = re.sub(r"<script.*?</script>", "", page.body.decode(), flags=re.S).partition("Related products")[0]
    assert not re.search(r"4\.50?\b|width:90%|\b12 ", text.replace("12</span> ratings", ""))
    assert re.search(r"\b3(?:\.0+)?\b", text)
    assert "345" in text
    for rating in re.findall('"ratingValue":"(.*?)"', page.body.decode()):
        assert rating == "3"


def test_stars_are_as_wide_as_the_rating() -> None:
    shop = WOOCOMMERCE_LIKE
    text = treated(shop.listing, f"{HOST}/winds", shop.key, {"set_rating": 40}).body.decode()
    assert text.count("width:40%") == 1
    assert 'aria-label="Rated 2.00 out of 5"' in text


AMOUNT = '<span class="woocommerce-Price-amount amount"><bdi><span>$</span>{}</bdi></span>'
RANGE = f'{AMOUNT.format("10.00")} <span aria-hidden="true">–</span> {AMOUNT.format("24.90")}'
OFFER = 'itemscope itemtype="https://schema.org/AggregateOffer"'
OF_VARIANTS = {
    "WooCommerce-like": f"""<body class="single-product"><div class="summary"><h1>Whistle</h1>
<p class="price">{RANGE}<span class="screen-reader-text">Price range: $10.00 through $24.90</span></p></div>
<ul class="products"><li class="product"><a href="/p" class="woocommerce-LoopProduct-link">
<h2>Whistle</h2><span class="price">{RANGE}</span></a>""",
    "microdata": f"""<body><div itemscope itemtype="https://schema.org/Product"><h1>Whistle</h1>
<div itemprop="offers" {OFFER}><meta itemprop="priceCurrency" content="USD">
$<span itemprop="lowPrice">10.00</span> to $<span itemprop="highPrice">24.90</span></div></div>""",
    "microdata for machines": f"""<body><div itemscope itemtype="https://schema.org/Product">
<h1>Whistle</h1><div itemprop="offers" {OFFER}><meta itemprop="lowPrice" content="10.00">
<meta itemprop="highPrice" content="24.90"><b itemprop="price">$10.00 – $24.90</b></div></div>""",
    "JSON-LD": """<script type="application/ld+json">{"@type": "Product", "name": "Whistle",
"offers": {"@type": "AggregateOffer", "lowPrice": "10.00", "highPrice": "24.90"}}</script>
<body class="single-product"><div class="summary"><h1>Whistle</h1>
<p class="price"><ins><b class="woocommerce-Price-amount">$10.00 – $24.90</b></ins></p></div>""",
}


@pytest.mark.parametrize("name", OF_VARIANTS)
def test_both_ends_of_a_range_of_prices_follow(name: str) -> None:
    html = OF_VARIANTS[name]
    page = treated(html, f"{HOST}/p", "p", {"set_price": 12.5})
    text = page.body.decode()
    assert not re.search(r"10\.00|24\.90", text)
    assert text.count("12.5") == html.count("10.00")
    assert text.count("31.13") == html.count("24.90")
    own = next(each for each in page.receipts if each.page_type == "product" and each.role == "product.price")
    assert re.fullmatch(r"\$?10.00 – \$?24.90", own.before)
    assert re.fullmatch(r"\$?12.50 – \$?31.13", own.after)


def test_one_price_is_not_written_into_both_ends_of_a_range() -> None:
    place = SITE.role("product.price")[0].model_copy(update={"css": "p.price .amount"})
    site = SITE.model_copy(update={"roles": SITE.roles | {"product.price": (place,)}})
    html = OF_VARIANTS["WooCommerce-like"]
    with pytest.raises(
        EditFailed, match=r"the ends of one range; give the upper one the role product\.high_"
    ):
        rewritten(html, "p", {"set_price": 12.5}, site=site, url=f"{HOST}/p")


def test_a_price_that_only_data_state_is_a_failure() -> None:
    with pytest.raises(EditFailed, match=r"set_price product\.price: nothing on the page matches"):
        treated(ONLY_DATA, f"{HOST}/tin-whistle", "tin-whistle", {"set_price": 15.25})


def rated(shown: str, best: str, stated: str) -> str:
    rating = {"ratingValue": float(stated)} | ({"bestRating": best} if best else {})
    data = json.dumps({"@type": "Product", "aggregateRating": rating})
    box = f'<meta itemprop=bestRating content="{best}">' if best else ""
    return f"""<body id=product><div itemscope itemtype="https://schema.org/Product"><h1>Tin Whistle</h1>
        <div itemprop=aggregateRating itemscope itemtype="https://schema.org/AggregateRating">{box}
        <span itemprop=ratingValue>{shown}</span></div></div>
        <script type="application/ld+json">{data}</script>"""


@pytest.mark.parametrize("best", [5, 10, 20, 100])
@pytest.mark.parametrize("percent", [20, 60, 76])
def test_a_rating_stands_on_the_scale_that_the_page_states(best: int, percent: int) -> None:
    page, url = rated(f"{best * 0.9:.1f}", str(best), f"{best * 0.9}"), f"{HOST}/p"
    after = treated(page, url, "p", {"set_rating": percent}).body
    shown, stated = (
        re.search(rb"ratingValue>([\d.]+)<", after),
        re.search(rb'"ratingValue": ?([\d.]+)', after),
    )
    assert shown and stated
    assert float(shown[1]) == pytest.approx(best * percent / 100, abs=0.051)
    assert float(stated[1]) == pytest.approx(best * percent / 100)
    seen = {each.role: each.value for each in sightings(after, content_type=HTML, url=url, site=SITE)}
    assert seen["product.rating"] == pytest.approx(percent, abs=5.1 / best)
    assert seen["data.rating"] == percent


def test_a_text_states_its_scale() -> None:
    after = treated(rated("7.6 / 10", "", "3.8"), f"{HOST}/p", "p", {"set_rating": 60}).body
    assert b"6.0 / 10" in after
    assert b'"ratingValue":3' in after


def test_a_rating_above_the_only_known_scale_is_refused() -> None:
    with pytest.raises(EditFailed, match="above its scale, which is 5"):
        treated(rated("7.6", "", "3.8"), f"{HOST}/p", "p", {"set_rating": 60})
