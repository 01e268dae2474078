"""hidden_text: a text where people do not look, such as a picture's alternative text or a comment."""

import html
import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import BaseModel, model_validator

from interventions.edits.base import Edit, Leftover, ObservedIn, RoleName, Text
from interventions.edits.in_browser import (
    Element,
    ElementQuery,
    PagePlaces,
    Verdict,
    holds,
    inserted,
    is_one_of,
)
from interventions.edits.showing import Change, ProductPlace, Target
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import Place, SiteMap

Channel = Literal["alt", "aria-label", "title", "off-screen", "comment", "meta", "json-ld"]
ATTRIBUTES: Final = frozenset({"alt", "aria-label", "title"})
"""The channels that are attributes of an element of the page."""
_OF_PAGE: Final = {
    "meta": "css:meta[name=description i]",
    "json-ld": 'css:script[type*="application/ld+json" i]',
}
"""The channels that a product's own page has once."""
_READ: Final = {"comment": "#comment", "meta": "content", "json-ld": "#text"}
"""What to read of an element in the browser, besides attributes."""
_STYLE: Final = "position:fixed;top:-9999px;left:0"
_ALTS: Final = ElementQuery("img", "alt")
_PICTURES: Final = frozenset({"area", "img", "input"})


class HiddenText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Puts a text where people do not look; `at` is the role of the element (by default picture or title).

    What stands there already is kept, and the text comes after it.
    """

    leftover: ClassVar[Leftover] = ""

    channel: Channel
    text: Text
    at: RoleName | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.at is not None and self.channel in _OF_PAGE:
            raise ValueError(f"a page has its {self.channel} once; remove the key at")
        if self.channel == "comment" and "--" in f"-{self.text}-":
            raise ValueError("a comment cannot begin or end with -, nor hold --; write it without")
        return self

    def roles(self) -> tuple[str, ...]:
        default = "product.image" if self.channel == "alt" else "product.title"
        return (self.at or _OF_PAGE.get(self.channel, default),)

    def attribute(self, place: Place) -> str | None:
        if self.channel == "off-screen":
            return place.attribute
        return _READ.get(self.channel, self.channel)

    def observed_in(self) -> ObservedIn:
        if self.channel in ATTRIBUTES:
            return "texts"
        return "whole texts" if self.channel == "off-screen" else "nothing"

    def spots(self, site: SiteMap) -> Iterator[ElementQuery]:
        yield from super().spots(site)
        if self.channel == "alt":
            yield _ALTS

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        problem = self._in_sight(there) if self.channel == "off-screen" else self._lacking(there)
        return Verdict(problem) if problem else Verdict(at=(Element(self.text, None),), hidden=self.text)

    def _in_sight(self, there: PagePlaces) -> str:
        verdict = inserted(there, self.roles()[0], "after", is_one_of([self.text]), self.text)
        seen = any(not each.on_screen.why for each in verdict.at)
        return verdict.problem or (f"{self.text!r} is in sight" if seen else "")

    def _lacking(self, there: PagePlaces) -> str:
        (role,) = self.roles()
        elements = there.main(role, _READ.get(self.channel, self.channel))
        # An attribute is that of each element; of comments and data one has the text.
        enough = all if elements and self.channel in ATTRIBUTES else any
        if not elements and self.channel == "alt":
            elements = there.every(_ALTS)  # scripts may have put a gallery in the picture's place
        texts = [text for each in elements for text in self._texts(each.text)]
        stands = bool(texts) and enough(holds(text, self.text) for text in texts)
        return "" if stands else f"no {self.channel} at {role} has {self.text!r}"

    def _texts(self, read: str) -> list[str]:
        if self.channel != "json-ld":
            return [read]
        return [str(each.get("description", "")) for each in _products(_parsed(read))]

    def apply(self, showing: ProductPlace) -> Change:
        if self.channel == "meta":
            return self._in_meta(showing)
        if self.channel == "json-ld":
            return self._in_data(showing)
        (role,) = self.roles()
        targets = showing.main(role)
        if self.channel in ATTRIBUTES:
            done = [self._in_attribute(showing, target) for target in targets]
            return Change(len(done), *done[0])
        if self.channel == "comment":
            return self._in_comment(showing, targets)
        text = html.escape(self.text, quote=False)
        part = "text" if role.startswith("css:") else html.escape(role.rpartition(".")[2])
        markup = f'<span class="product-{part}-details" style="{_STYLE}">{text}</span>'
        return showing.insert_at(role, "after", self.text, markup, style=_STYLE)

    def _in_attribute(self, showing: ProductPlace, target: Target) -> tuple[str, str]:
        node, page = target.node, showing.page
        if self.channel == "alt" and node.tag not in _PICTURES:
            raise CannotEdit(f"<{node.tag}> has no alt; name the role of a picture with at")
        told = page.value(node, self.channel)
        if self.channel == "aria-label" and not told:  # it takes the place of what a reader is told else
            told = page.value(node, "alt") or page.value(node, None)
        before, _ = page.set_attribute(node, self.channel, self._after(told))
        return before, self._after(told)

    def _in_comment(self, showing: ProductPlace, targets: Sequence[Target]) -> Change:
        if showing.site.drawn:
            raise CannotEdit("scripts draw this page, and a comment cannot be put into it")
        if not showing.page.can_write(self.text):  # a comment has no references to characters
            raise CannotEdit(f'a comment in the encoding of this page cannot hold "{self.text}"')
        for target in targets:
            showing.insert(target.node, "after", f"<!-- {self.text} -->")
        return Change(len(targets), "", self.text)

    def _in_meta(self, showing: ProductPlace) -> Change:
        page = showing.page
        done = [
            page.set_attribute(node, "content", self._after(page.value(node, "content")))
            for node in page.find(_OF_PAGE["meta"].removeprefix("css:"))
        ]
        if not done:
            self._into_head(showing, f'<meta name="description" content="{html.escape(self.text)}">')
        return Change(len(done) or 1, *(done[0] if done else ("", self.text)))

    def _in_data(self, showing: ProductPlace) -> Change:
        page = showing.page
        scripts = [
            (node, data) for node in page.find(_OF_PAGE["json-ld"].removeprefix("css:"))
            if (data := _parsed(page.raw(node, None))) is not None
        ]  # fmt: skip
        found = [(node, data, each) for node, data in scripts for each in _products(data)]
        if len(found) > 1:
            raise CannotEdit(f"the page's JSON-LD is about {len(found)} products, and none is surely its own")
        if not found:
            names = [showing.value(target) for target in showing.main("product.name")]
            about = {"@context": "https://schema.org", "@type": "Product", "name": names[0]}
            data = _written(about | {"description": self.text})
            self._into_head(showing, f'<script type="application/ld+json">{data}</script>')
            return Change(1, "", self.text)
        ((node, data, product),) = found
        before = str(product.get("description") or "")
        product["description"] = self._after(before)
        page.set_data(node, _written(data))
        return Change(1, before, product["description"])

    def _after(self, told: str) -> str:
        """The text, after what is told already."""
        return f"{told.rstrip(' .')}. {self.text}" if told else self.text

    @staticmethod
    def _into_head(showing: ProductPlace, markup: str) -> None:
        titles = showing.page.find("head title")
        if not titles:
            raise CannotEdit("the page has no title, after which its head could be added to")
        showing.insert(titles[0], "after", markup)


def _parsed(text: str) -> Any:
    """JSON data; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _written(data: Any) -> str:
    """JSON in ASCII, without `<`: safe in a script, in any encoding."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _products(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the products of JSON-LD, the outer ones first."""
    rest = [data]
    while rest:
        each = rest.pop(0)
        if isinstance(each, dict):
            kinds = each.get("@type")
            if "Product" in (kinds if isinstance(kinds, list) else [kinds]):
                yield each
        rest += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
