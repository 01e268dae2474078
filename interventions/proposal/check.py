"""Test a proposed site map: try edits on the pages that it was made from."""

from collections.abc import Sequence

from interventions.apply.engine import EditFailed, Rewrite, rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.authoring.page_facts import page_facts
from interventions.edits.registry import edit_from_dict
from interventions.errors import CannotEdit
from interventions.proposal.scan import Capture
from interventions.yaml.sitemap import SiteMap

HTML = "text/html; charset=utf-8"
TEXT, PRICE = "Souk was here", "1.23"
EDITS = ({"set_price": PRICE}, {"insert_text": {"after": "product.title", "text": TEXT}})


def faults(site: SiteMap, product: Capture, listing: Capture | None) -> list[str]:
    """Return one line for each edit that fails: a price and a text, on the product's page and on a card."""
    found = [*_tried(site, product, site.key(product.url), "product")]
    if listing is not None:
        if key := _first_card(site, listing):
            found += _tried(site, listing, key, "listing")
        else:
            found.append(f"{listing.url}: no card with a link, by the role item and item.link")
    return found


def _tried(site: SiteMap, capture: Capture, key: str, page_type: str) -> Sequence[str]:
    lines = []
    for edit in EDITS:
        plan = Plan((Treatment("check", key, (edit_from_dict(edit),)),))
        try:
            done = tried(capture, plan, site)
        except EditFailed as failure:
            lines.append(str(failure).replace(" check:", "", 1))
            continue
        if not done.receipts:
            lines.append(f"{capture.url}: {next(iter(edit))} changes nothing for {key or 'the home page'}")
        elif done.page_type != page_type:
            lines.append(f"{capture.url}: taken for a page of the type {done.page_type}, not {page_type}")
    return lines


def tried(page: Capture, plan: Plan, site: SiteMap) -> Rewrite:
    """Return the page with the plan's edits. Raises EditFailed."""
    # Where scripts draw the pages, this is one as they have drawn it.
    came = page.url if site.drawn else None
    return rewrite(page.html.encode(), content_type=HTML, url=page.url, plan=plan, site=site, came=came)


def _first_card(site: SiteMap, capture: Capture) -> str:
    try:
        facts = page_facts(capture.html.encode(), content_type=HTML, url=capture.url, site=site)
    except CannotEdit:
        return ""
    return next(iter(facts.products), "")
