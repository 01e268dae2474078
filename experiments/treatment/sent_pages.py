"""Record what the shop sent where the proxy made edits, and make what was shown of it again.

What was shown is not stored: it is what the engine makes of the page and the plan, and its hash tells whether
it makes the same again. So it is proof, or the record says why it cannot be made.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from experiments.records.record import Row, artifact_hash
from interventions.apply.engine import EditFailed, page_hash, rewrite
from interventions.apply.plan import Plan
from interventions.edits.showing import Earlier
from interventions.errors import CannotEdit, UserError
from interventions.html import charset
from interventions.yaml.sitemap import SiteMap

if TYPE_CHECKING:
    from experiments.treatment.trajectory import Traced
    from proxy.session import Session
    from proxy.shown_page import SentPage


class MadeAgain(NamedTuple):
    """A page as the shop sent it, and as it was shown; None: not known, and `problem` says why."""

    url: str
    sent: str | None
    shown: str | None
    problem: str


def sent_pages(session: "Session") -> "Traced":
    """Return a row for each page that the shop sent and that has receipts, and the texts that they name."""
    rows: list[Row] = []
    artifacts: dict[str, str] = {}

    def kept(text: str) -> str:
        artifacts[name := artifact_hash(text)] = text
        return name

    for page in session.sent:
        text, coding = _text(page.body)
        rows.append(
            {
                "step": page.step,
                "url": page.url,
                "body": kept(text),
                "given": kept(_given(page, coding)),
                "site": kept(_site(session.site)),
                "page_hash_after": page.hash_after,
            }
        )
    return rows, artifacts


def made_again(row: Row, artifact: Callable[[str], str | None]) -> MadeAgain:
    """Return what the shop sent, and make again what was shown of it; `artifact` gives a stored text."""
    url = row["url"]
    body, given, site = (artifact(row[name]) for name in ("body", "given", "site"))
    if body is None or given is None or site is None:
        return MadeAgain(url, body, None, "a part of it was lost; souk db check says more")
    try:
        told = json.loads(given)
        sent = body.encode(told["coding"])
        result = rewrite(
            sent,
            content_type=told["content_type"],
            url=url,
            plan=Plan.from_dict(told["plan"]),
            site=SiteMap.model_validate_json(site),
            known=told["known"],
            came=told.get("came"),
            partly="came" in told,
            earlier=_earlier(told),
            totals={Decimal(old): Decimal(new) for old, new in told.get("totals", {}).items()},
        )
        codec, _ = charset.detect(sent, told["content_type"])
        before, after = (each.decode(codec, "replace") for each in (sent, result.body))
    except (EditFailed, CannotEdit) as error:
        return MadeAgain(url, body, None, str(error))
    except (ValidationError, UserError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError):
        return MadeAgain(url, body, None, "this version of Souk cannot read what was planned")
    if page_hash(result.body, url) != row["page_hash_after"]:
        return MadeAgain(url, before, None, "this version of Souk makes another page of it")
    return MadeAgain(url, before, after, "")


def _text(body: bytes) -> tuple[str, str]:
    """The body as text, and the coding that leads back to its bytes."""
    try:
        return body.decode(), "utf-8"
    except UnicodeDecodeError:
        return body.decode("latin-1"), "latin-1"


def _given(page: "SentPage", coding: str) -> str:
    told: dict[str, Any] = {
        "content_type": page.content_type,
        "coding": coding,
        "plan": page.plan.to_dict(),
        "known": dict(page.known),
    }
    if page.totals:
        told["totals"] = {str(old): str(new) for old, new in page.totals.items()}
    if page.came is not None:
        told["came"] = page.came
    if page.earlier:
        told["earlier"] = {
            key: [
                sorted(each.names),
                None if each.price is None else str(each.price),
                each.currency,
                *([list(each.ids)] if each.ids else []),
            ]
            for key, each in page.earlier.items()
        }
    return json.dumps(told, sort_keys=True, separators=(",", ":"))


def _earlier(told: dict[str, Any]) -> dict[str, Earlier]:
    return {
        key: Earlier(frozenset(names), None if price is None else Decimal(price), currency, tuple(*ids))
        for key, (names, price, currency, *ids) in told.get("earlier", {}).items()
    }


@lru_cache(maxsize=8)
def _site(site: SiteMap) -> str:
    return site.model_dump_json(exclude_defaults=True)
