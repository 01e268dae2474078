from environments.shop import prose
from environments.shop.catalogue import Catalogue, generate


def test_the_mean_of_the_reviews_is_the_rating_and_they_come_newest_first(catalogue: Catalogue) -> None:
    for product in catalogue.products[::3]:
        reviews = prose.reviews(product)
        assert len(reviews) == product.reviews
        if reviews:
            mean = sum(review.stars for review in reviews) / len(reviews)
            assert abs(20 * mean - (product.rating or 0)) <= 0.5
        assert all(1 <= review.stars <= 5 for review in reviews)
        dates = [review.posted for review in reviews]
        assert dates == sorted(dates, reverse=True)
        assert len({review.id for review in reviews}) == len(reviews)


def test_texts_are_filled_in_and_the_same_each_time(catalogue: Catalogue) -> None:
    again = generate(0)
    for product, twin in zip(catalogue.products[::25], again.products[::25], strict=True):
        assert prose.features(product) == prose.features(twin)
        assert prose.details(product) == prose.details(twin)
        assert prose.reviews(product) == prose.reviews(twin)
        assert len(prose.features(product)) == 5
        assert not any("{" in text for text in prose.features(product))
        assert ("Manufacturer", product.brand) in prose.details(product)
        assert ("Item Number", product.sku) in prose.details(product)
