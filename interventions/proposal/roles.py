"""Find the roles of a product's own page, by what the page states and by how shops name and write things."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import islice
from typing import Final, Literal

from selectolax.lexbor import LexborNode

from interventions.html.amounts import PRICE, near_price
from interventions.html.tree import select
from interventions.proposal.facts import Facts
from interventions.proposal.phrases import REVIEWS, STOCK, is_cart_button, says_add
from interventions.proposal.ratings import ANY, is_drawn, rating_percent, rating_text, shown_ratings
from interventions.proposal.scan import (
    Scan,
    ancestors,
    called,
    is_aside,
    label,
    names_price,
    number,
    text,
    words,
)
from interventions.proposal.selectors import is_lasting, unique_selector
from interventions.yaml.sitemap import Place, product_key

Confidence = Literal["high", "medium", "low"]
BY_WORDS: Final = "follows the price, by the words around it"


@dataclass(frozen=True)
class FoundRole:
    """A role, its place, the text there, and how sure the finding is, with the reason.

    `scripted`: it is there only after the page's scripts ran, where the proxy cannot edit it.
    """

    role: str
    places: tuple[Place, ...]
    text: str
    confidence: Confidence
    reason: str
    scripted: bool = False


def product_roles(
    scan: Scan,
    facts: Facts,
    cards: frozenset[int],
    listing: Scan | None,
    elsewhere: Mapping[str, Decimal],
) -> Iterator[FoundRole]:
    """Yield the roles `product.*`; `cards`: elements (`mem_id`) that show other products.

    elsewhere: where the shop tells the product's price besides its page, such as `a card` -> the price.
    """
    prices = dict(elsewhere)
    if (stated := number(facts.values.get("price", ""))) is not None:
        prices[facts.sources["price"]] = stated
    search = _Search(scan, facts, cards, listing.tree.root if listing is not None else None, prices)
    before = (search.link(), search.title(), search.name(), search.price(), search.price_box())
    yield from filter(None, before)
    yield from search.following()
    yield from filter(None, (search.rating(), search.stars(), search.reviews(), search.stock()))
    yield from filter(None, (search.image(), search.description(), search.add_to_cart()))


def value_of(node: LexborNode, place: Place) -> str:
    """Return the text at a place."""
    if place.attribute is None:
        return text(node)
    return " ".join((node.attributes.get(place.attribute) or "").split())


@dataclass
class _Search:
    scan: Scan
    facts: Facts
    cards: frozenset[int]
    elsewhere: LexborNode | None
    """Another page, on which a selector had better find nothing."""
    prices: dict[str, Decimal]
    price_node: LexborNode | None = None
    rating_node: LexborNode | None = None

    def selector(self, node: LexborNode) -> str | None:
        root, other = self.scan.tree.root, None if node.tag in ("title", "meta") else self.elsewhere
        return unique_selector([(root, node)], self.scan.key, other) if root is not None else None

    def in_main(self, node: LexborNode) -> bool:
        return not is_aside(node) and not any(a.mem_id in self.cards for a in (node, *ancestors(node)))

    @cached_property
    def heading(self) -> LexborNode | None:
        headings = [n for n in self.scan.visible if n.tag == "h1" and text(n)]
        stated = [n for n in headings if self.facts.states("name", text(n))]
        return next(iter(stated or headings), None)

    def found(
        self,
        role: str,
        node: LexborNode | None,
        confidence: Confidence,
        reason: str,
        shape: Place | None = None,
    ) -> FoundRole | None:
        """The role at an element; `shape`: attribute, pattern and scale of the place."""
        selector = self.selector(node) if node is not None else None
        if node is None or selector is None:
            return None
        place = (shape or Place(css=selector)).model_copy(update={"css": selector})
        return as_lasting(FoundRole(role, (place,), value_of(node, place), confidence, reason))

    def link(self) -> FoundRole | None:
        for css, attribute in (("link[rel=canonical]", "href"), ('meta[property="og:url"]', "content")):
            node = self.scan.tree.css_first(css)
            value = (node.attributes.get(attribute) or "") if node is not None else ""
            if value and product_key(value, self.scan.url) == self.scan.key:
                place = Place(css=css, attribute=attribute)
                return FoundRole("product.link", (place,), value, "high", "names this page's address")
        return None

    def title(self) -> FoundRole | None:
        return self.found("product.title", self.heading, "high", "the page's main heading")

    def name(self) -> FoundRole | None:
        node = self.heading
        if node is None:
            return None
        while (inner := [c for c in node.iter() if text(c) == text(node)]) and len(inner) == 1:
            node = inner[0]
        name, stated = text(node), self.facts.states("name", text(node))
        reason = f"as stated in {self.facts.sources['name']}" if stated else "the main heading's text"
        found = self.found("product.name", node, "high" if stated else "medium", reason)
        return found and with_places(found, self._repeated(name))

    def _repeated(self, name: str) -> Iterator[Place]:
        """Where the page says the name once more."""
        for css, attribute in (
            ("title", None), ('meta[property="og:title"]', "content"), ("meta[name=title]", "content"),
            ('meta[name="twitter:title"]', "content"),
        ):  # fmt: skip
            node = self.scan.tree.css_first(css)
            place = Place(css=css, attribute=attribute)
            if node is not None and name in value_of(node, place):
                yield place
        for node, _ in self.scan.innermost(lambda text: text == name):
            if called(node, "breadcrumb", 6) and (crumb := self.selector(node)):
                yield Place(css=crumb)
        yield from islice(self._in_attributes(name), 8)

    def _in_attributes(self, name: str) -> Iterator[Place]:
        """Where an attribute that readers are given says the name."""
        for attribute in ("alt", "aria-label", "title"):
            for node in select(self.scan.tree, f"body [{attribute}]"):
                says = name in (node.attributes.get(attribute) or "") and self.in_main(node)
                if says and (css := self.selector(node)):
                    yield Place(css=css, attribute=attribute)

    def price(self) -> FoundRole | None:
        """The price: of several amounts the one that agrees with what the shop tells elsewhere."""
        scored = sorted(self._price_candidates(), key=lambda item: -item[0])
        known = self.prices.values()
        # Where one agrees, no other is taken in its place because a selector can be found for that.
        for score, node, reasons in [each for each in scored if number(text(each[1])) in known] or scored:
            if score <= 0:
                break
            value = number(text(node))
            against = [f"{source} says {price}" for source, price in self.prices.items() if price != value]
            sure: Confidence = "high" if "stated" in reasons[0] else "medium" if score >= 4 else "low"
            if against:
                sure = "low"
                reasons.append("but " + " and ".join(against))
            if found := self.found("product.price", node, sure, "; ".join(reasons)):
                self.price_node = node
                return with_places(found, self._same_figures(node, value))
        return None

    def following(self) -> Iterator[FoundRole]:
        """The amounts near the price that follow it, by what the words around them say."""
        if self.price_node is None:
            return
        taken, found = {self.price_node.mem_id}, dict[str, FoundRole]()
        for amount in self.scan.amounts.get(near_price(self.price_node).mem_id, ()):
            node, role = amount.element, f"product.{amount.role}"
            if not amount.role or node.mem_id in taken or not self.in_main(node):
                continue
            taken.add(node.mem_id)
            if css := self.selector(node) or self._by_words(node):
                place = Place(css=css)
                first = found.setdefault(role, FoundRole(role, (place,), text(node), "medium", BY_WORDS))
                found[role] = with_places(first, [place])
        yield from found.values()

    def _by_words(self, node: LexborNode) -> str | None:
        """A selector by the words that stand in an element, or in the one around it."""
        outer = node.parent
        for holder, inner in ((node, ""), (outer, f" > {node.tag}")):
            own = holder.text(deep=False) if holder is not None else ""
            said = re.findall(r"[^\W\d_][^\W\d_ ]+(?: [^\W\d_]+)*", own)
            for each in sorted(said, key=len, reverse=True):
                css = f'{holder.tag}:lexbor-contains("{each}"){inner}' if holder is not None else ""
                if [found.mem_id for found in select(self.scan.tree, css)] == [node.mem_id]:
                    return css
        return None

    def _price_candidates(self) -> Iterator[tuple[float, LexborNode, list[str]]]:
        def is_figure(text: str) -> bool:
            return len(text) <= 40 and number(text) is not None

        # The currency may stand beside the figure, in an element of its own.
        shown = [*self.scan.innermost(is_figure)]
        known = {node.mem_id for node, _ in shown}
        around = self.scan.innermost(lambda text: is_figure(text) and names_price(text))
        shown += [each for each in around if each[0].mem_id not in known]
        for node, value in shown:
            said = node.attributes
            itemprop = "price" in (said.get("itemprop"), (said.get("property") or "").rpartition(":")[2])
            if not (names_price(value) or itemprop):
                continue
            score, reasons = 0.0, []
            kind = self.scan.kind(node)
            agrees = [source for source, price in self.prices.items() if price == number(value)]
            goods_by_unit = kind == "unit" and called(node, "price", 0) and not called(node, "unit", 0)
            if not (kind == PRICE or goods_by_unit or (kind == "from" and agrees)):
                continue
            if self.facts.states("price", value):
                reasons.append(f"the price stated in {self.facts.sources['price']}")
            reasons += [f"the price of {each}" for each in agrees if each != self.facts.sources.get("price")]
            score += 6 * len(agrees)
            if itemprop:
                score += 4
                reasons.append("is marked as the price")
            if called(node, "price|amount", 1):
                score += 3
                reasons.append("is called a price")
            if self.heading is not None:
                distance = self.scan.between(self.heading, node)
                score += 2 - min(abs(distance), 300) / 60 if distance > 0 else -1
                reasons.append("stands after the heading" if distance > 0 else "stands before the heading")
            if not self.in_main(node):
                score -= 6
            score -= 4 * goods_by_unit
            yield score, node, reasons

    def _same_figures(self, first: LexborNode, value: object) -> Iterator[Place]:
        """Every other place that shows the price: texts, and attributes whose names say that it is one."""
        for node in self.scan.nodes:
            said = node.attributes
            if node.tag == "meta":
                name = said.get("property") or said.get("itemprop") or said.get("name") or ""
                same = "price" in name and number(said.get("content") or "") == value
                if same and (css := self.selector(node)):
                    yield Place(css=css, attribute="content")
                continue
            for name, attribute in said.items():
                is_called = name in ("content", "value") and called(node, "price", 0)
                about_price = is_called or re.search("price|amount", name)
                shows = about_price and number(attribute or "") == value and self.in_main(node)
                if shows and (css := self.selector(node)):
                    yield Place(css=css, attribute=name)
        for node, _ in self.scan.innermost(lambda text: number(text) == value and names_price(text)):
            apart = first.mem_id not in _lineage(node) and node.mem_id not in _lineage(first)
            other = apart and self.in_main(node) and not self.scan.is_former(node)
            if other and (css := self.selector(node)):
                yield Place(css=css)

    def rating(self) -> FoundRole | None:
        stated, best = (self.facts.values.get(part) for part in ("rating", "best"))
        limit = int(highest) if best and (highest := number(best)) else None
        found: FoundRole | None = None
        for node, shape in shown_ratings(self.scan.visible, limit):
            value = value_of(node, shape)
            known = stated is not None and number(rating_text(value)) == number(stated)
            if not self.in_main(node) or (stated is not None and not known and shape.scale is not None):
                continue
            if found is None:
                self.rating_node = node
                reason = f"as stated in {self.facts.sources['rating']}" if known else "a rating"
                found = self.found("product.rating", node, "high" if known else "medium", reason, shape)
            elif node.attributes and (css := self.selector(node)):
                place = shape.model_copy(update={"css": css})
                if rating_percent(value, shape.scale) == rating_percent(found.text, found.places[0].scale):
                    found = with_places(found, [place])
        return found

    def reviews(self) -> FoundRole | None:
        def shows(value: str) -> object:
            says = self.facts.states("reviews", value) or REVIEWS.search(value)
            return number(value) is not None and says

        for node, value in self.scan.innermost(shows):
            stated = self.facts.states("reviews", value)
            about = REVIEWS.search(value) or called(node, r"review|rating|count", 2)
            if not (about and self.in_main(node)):
                continue
            reason = f"as stated in {self.facts.sources['reviews']}" if stated else "a number of reviews"
            if found := self.found("product.reviews", node, "high" if stated else "medium", reason):
                return with_places(found, self._other_counters(node))
        return None

    def stars(self) -> FoundRole | None:
        """Only where the rating is drawn: beside one in words `show_rating_text` would write it twice."""
        box = box_of(self.rating_node, r"rating|\bstars?\b")
        if box is None or not is_drawn(box, self.rating_node):
            return None
        return self.found("product.stars", box, "medium", "is called a rating")

    def price_box(self) -> FoundRole | None:
        return self.found("product.price_box", box_of(self.price_node, "price"), "medium", "holds the price")

    def image(self) -> FoundRole | None:
        stated = self.scan.tree.css_first('meta[property="og:image"]')
        url = (stated.attributes.get("content") or "") if stated is not None else ""
        for node in self.scan.visible:
            source = node.attributes.get("src") if node.tag == "img" else None
            if not source or not self.in_main(node):
                continue
            same = bool(url) and product_key(source, self.scan.url) == product_key(url)
            marked = node.attributes.get("itemprop") == "image"
            if same or marked or called(node, "gallery|product-(?:image|media|photo)|main-image", 4):
                reason = "the picture of the page's og:image" if same else "is called the product's picture"
                sure: Confidence = "high" if same or marked else "medium"
                found = self.found("product.image", node, sure, reason, Place(css=ANY, attribute="src"))
                more = [Place(css='meta[property="og:image"]', attribute="content")] if same else []
                return found and with_places(found, more)
        return None

    def _other_counters(self, first: LexborNode) -> Iterator[Place]:
        """Bare figures that are called reviews, or stand beside that word in a table."""
        value, bare = number(text(first)), re.compile(r"\(?[\d.,]+\)?")
        for node, _ in self.scan.innermost(lambda text: number(text) == value and bare.fullmatch(text)):
            about = called(node, "review", 1) or re.search("review", label(node), re.I)
            if about and self.in_main(node) and (css := self.selector(node)):
                yield Place(css=css)

    def stock(self) -> FoundRole | None:
        for node, _ in self.scan.innermost(STOCK.search):
            named = called(node, r"stock|availab|inventory", 1)
            if self.in_main(node) and node.tag not in ("button", "a"):
                sure: Confidence = "high" if named else "low"
                if found := self.found("product.stock", node, sure, "says whether it is in stock"):
                    return found
        return None

    def description(self) -> FoundRole | None:
        places = ("[itemprop=description]", "#description", ".product-description", ".product__description")
        for css in places:
            for node in select(self.scan.tree, css):
                if node.tag != "meta" and self.in_main(node):
                    return self.found("product.description", node, "medium", f"matches {css}")
        return None

    def add_to_cart(self) -> FoundRole | None:
        for node in self.scan.visible:
            if is_cart_button(node) and self.in_main(node):
                return self.found("product.add_to_cart", node, "high", "a button that says so")
        for node in self.scan.visible:
            form = next((a for a in ancestors(node) if a.tag == "form"), None)
            action = (form.attributes.get("action") or "") if form is not None else ""
            kind = node.attributes.get("type") or "submit"
            submits = node.tag in ("button", "input") and kind == "submit"
            if submits and re.search("cart|basket", f"{action} {words(node)}") and self.in_main(node):
                return self.found("product.add_to_cart", node, "medium", "sends a form to the cart")
        return None


def as_lasting(found: FoundRole) -> FoundRole:
    """Return the role; its confidence is low where only a class name that says nothing tells its place."""
    if all(is_lasting(place.css) for place in found.places):
        return found
    return replace(found, confidence="low", reason=f"{found.reason}; its class name may not last")


def with_places(found: FoundRole, more: Iterable[Place]) -> FoundRole:
    """Return the role with further places, each once."""
    return replace(found, places=tuple(dict.fromkeys((*found.places, *more))))


def box_of(node: LexborNode | None, pattern: str, most: int = 60) -> LexborNode | None:
    """Return the outermost element around a value whose name matches `pattern` and that holds little else."""
    box = node
    for outer in islice(ancestors(node), 4) if node is not None else ():
        held = text(outer)
        if len(held) > most or says_add(held) or REVIEWS.search(held) or STOCK.search(held):
            break
        if re.search(pattern, words(outer)):
            box = outer
    return box


def _lineage(node: LexborNode) -> set[int]:
    return {node.mem_id, *(around.mem_id for around in ancestors(node))}
