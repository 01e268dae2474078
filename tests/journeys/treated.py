"""A page that is treated as the proxy does it, and the episode that knows of it."""

from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, Treatment
from interventions.edits.base import Edit
from interventions.yaml.sitemap import SiteMap
from proxy.session import Session
from proxy.shown_page import ShownPage

HTML = "text/html; charset=utf-8"
KEY, URL = "lampe?id=7", "http://boutique.test/lampe?id=7"
"""A product, and its page."""


def treated(
    body: str, site: SiteMap, *edits: Edit, of: str | None = KEY, url: str = URL, product: str | None = KEY
) -> tuple[str, Session]:
    """The page with the edits of a product (`of`; None: of all); `product`: whose page it is."""
    return treated_by(Plan((Treatment("praised", of, edits),)), body, site, url, product)


def treated_by(plan: Plan, body: str, site: SiteMap, url: str, product: str | None) -> tuple[str, Session]:
    """The same for a plan."""
    made = rewrite(body.encode(), content_type=HTML, url=url, plan=plan, site=site)
    session = Session(plan, site)
    session.note_receipts(made.receipts)
    session.note_page(ShownPage(url, HTML, made.body, product, links=made.links))
    return made.body.decode(), session
