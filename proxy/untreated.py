"""Say of an answer that a script fetched why its products have no edits."""

import re
from typing import Final
from urllib.parse import unquote

from interventions.apply.plan import Plan, Treatment
from interventions.html.content_type import is_data, is_html, is_in_pieces, is_json, is_plain
from interventions.html.fragments import is_part
from interventions.html.marking import hints
from interventions.yaml.sitemap import SiteMap
from proxy.shown_page import ShownPage

_HTML: Final = re.compile(r"(?:<|\\u003[cC]|\\x3[cC])[a-zA-Z]")


def why_untreated(page: ShownPage, plan: Plan, site: SiteMap) -> str:
    """Return why a part of a page, or data, passed without an edit that its products have planned.

    Empty: it has edits, is a whole page, or names no product with edits that cards show.
    """
    kind = page.content_type.partition(";")[0]
    planned = [each for each in plan.treatments if _shows_in_cards(each, site)]
    if not planned or site.drawn or page.product or (page.sent is not None and page.sent is not page.body):
        return ""
    if is_in_pieces(kind):
        return f"answers that come in pieces ({kind}) pass without edits"
    if is_html(kind) and not (is_part(page.body) or is_data(page.body)):
        return ""
    text, names = unquote(page.text.replace("\\/", "/")), [each.product for each in planned if each.product]
    has_html = bool(_HTML.search(text))
    named = next((each for each in names if re.search(rf"(?<![\w-]){re.escape(each)}(?![\w-])", text)), "")
    if not named and len(names) < len(planned) and has_html:
        marks = hints(place.css for card in site.cards for place in site.role(card))
        named = next((each.decode() for each in marks if each in page.body), "")
    if not named:
        return ""
    if not (is_html(kind) or is_json(kind) or is_plain(kind) or is_data(page.body)):
        reason = f"parts of pages in {kind} are not edited"
    elif has_html:
        reason = "no card of the site map is found in it"
    else:
        reason = "it is data that the site map does not name; see data"
    return f"passed without an edit, though it holds {named}: {reason}"


def _shows_in_cards(treatment: Treatment, site: SiteMap) -> bool:
    """Return whether cards have what a treatment edits."""
    if treatment.pages and not set(treatment.pages) - {"product"}:
        return False
    parts = {role.partition(".")[2] for edit in treatment.edits for role in edit.roles()[:1]}
    return any(site.role(f"{card}.{part}") for card in site.cards for part in parts if part)
