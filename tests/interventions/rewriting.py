"""What tests of edits share: site maps of a few roles, a plan for one product, and a reader of the page."""

from collections.abc import Mapping
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from interventions.apply.engine import Rewrite, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import SiteMap

HTML = "text/html; charset=utf-8"
LINK = {"css": "a", "attribute": "href"}
Edit = dict[str, object]


def site_of(roles: Mapping[str, object], **more: Any) -> SiteMap:
    """A site map in which a page with a heading is a product's, unless `more` has other pages."""
    return SiteMap.model_validate({"name": "test", "pages": {"product": "h1"}, "roles": roles, **more})


def plan_of(product: str | None, *edits: Edit) -> Plan:
    return Plan((Treatment("the-id", product, tuple(map(edit_from_dict, edits))),))


def rewritten(
    body: bytes | str, product: str | None, *edits: Edit, site: SiteMap, url: str = "", kind: str = HTML
) -> Rewrite:
    """A page after edits of a product; without another `url` it is at the address of the product."""
    sent = body.encode() if isinstance(body, str) else body
    url = url or f"http://shop.test/{product}"
    return rewrite(sent, content_type=kind, url=url, plan=plan_of(product, *edits), site=site)


def read(body: bytes | str, where: str) -> list[str]:
    """The texts of the elements of a selector, or of their attribute after an `@`, as a parser reads them."""
    css, _, attribute = where.partition("@")
    nodes = LexborHTMLParser(body, scripting=True).css(css)
    if attribute:
        return [node.attributes.get(attribute) or "" for node in nodes]
    return [" ".join(node.text().split()) for node in nodes]
