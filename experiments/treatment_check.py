"""Whether the treatment of a trial reached the agent: receipts of what was planned, texts in what was shown."""

from collections.abc import Callable, Iterator, Mapping
from html import unescape

from environments.episode import Look
from experiments.listing import ShowOnly
from interventions.engine import is_for_own_page
from interventions.errors import CannotEdit
from interventions.marking import Marks
from interventions.media import is_html
from interventions.page import Page
from interventions.plan import Plan
from interventions.sitemap import product_key
from interventions.view import View
from proxy.session import Session, ShownPage


def shown_to_agent(looks: list[Look]) -> dict[str, list[str]]:
    """What the agent was shown of each product's page, as HTML."""
    shown: dict[str, list[str]] = {}
    for look in looks:
        shown.setdefault(product_key(look.url), []).append(look.observation.html)
    return shown


def untreated(plan: Plan, pages: Mapping[str, list[str]], session: Session, keys: list[str]) -> str:
    """Why the pages that the agent saw do not prove the treatment, or an empty string.

    Every planned edit of a product whose page the agent saw (`pages`: key -> HTML) needs a receipt, and the
    text that it put there must stand in what the agent was shown of that page. On other pages every card of a
    product needs the receipts of what was planned for it there; and where a list is to show the choice set
    only, one has to be seen that does.
    """
    return (
        _untreated_pages(plan, pages, session, keys)
        or _untreated_cards(plan, session, keys)
        or _unlisted(plan, session, keys)
    )


def _untreated_pages(plan: Plan, pages: Mapping[str, list[str]], session: Session, keys: list[str]) -> str:
    shown = {key: [squeeze(html) for html in views] for key, views in pages.items()}
    texts: dict[tuple[str, str, str, str], set[str]] = {}
    for receipt in session.receipts:
        if receipt.page_type == "product":
            about = (receipt.intervention, receipt.edit, receipt.role, receipt.product)
            texts.setdefault(about, set()).add(receipt.after)
    for key in keys:
        if key not in shown:
            continue
        for treatment in (*plan.by_product.get(key, ()), *plan.everywhere):
            if treatment.pages and "product" not in treatment.pages:
                continue
            for edit in treatment.edits:
                role = edit.roles()[0]
                if not is_for_own_page(role, session.site):
                    continue
                found = texts.get((treatment.intervention, edit.kind(), role, key))
                if found is None:
                    return f"{treatment.intervention}: {edit.kind()} has no receipt for {key}"
                for text in sorted(found) if edit.readable else ():
                    wanted = squeeze(text.removesuffix("…"))
                    if not any(wanted in html for html in shown[key]):
                        return f"{treatment.intervention}: the agent was not shown {wanted!r} on {key}"
    return ""


def _untreated_cards(plan: Plan, session: Session, keys: list[str]) -> str:
    receipts = {(r.intervention, r.edit, r.role, r.page_type, r.product) for r in session.receipts}
    for page in session.pages:
        for page_type, key, roles in cards(page, session, keys):
            for treatment in plan.by_product.get(key, ()):
                if treatment.pages and page_type not in treatment.pages:
                    continue
                for edit in treatment.edits:
                    role = roles(edit.roles()[0])
                    proof = (treatment.intervention, edit.kind(), role, page_type, key)
                    if role and proof not in receipts:
                        return (
                            f"{treatment.intervention}: {edit.kind()} has no receipt for {key} on {page.url}"
                        )
    return ""


def _unlisted(plan: Plan, session: Session, keys: list[str]) -> str:
    for treatment in plan.everywhere:
        for edit in treatment.edits:
            if isinstance(edit, ShowOnly) and not any(
                receipt.edit == edit.kind() and receipt.product in keys for receipt in session.receipts
            ):
                return f"{treatment.intervention}: no page has listed the choice set"
    return ""


def cards(
    page: ShownPage, session: Session, keys: list[str]
) -> Iterator[tuple[str, str, Callable[[str], str]]]:
    """Where products show on a page that is nobody's own: its type, the product, and what a role is there."""
    if page.product or not is_html(page.content_type):
        return
    try:
        view = View(Page(page.body, page.content_type, Marks(frozenset()), page.url), session.site)
    except CannotEdit:
        return
    for key, showing in view.showings():
        if key in keys and showing.group in session.site.cards:
            yield view.page_type, key, showing.role


def squeeze(html: str) -> str:
    """Text with entities resolved and white space collapsed, to compare what is read."""
    return " ".join(unescape(html).split())
