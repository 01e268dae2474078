"""The proxy on its own: for any browser, any program, or a person."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from interventions.engine import Receipt
from interventions.errors import UserError
from interventions.plan import Plan, ProductFacts, Treatment, compile_treatment
from interventions.schema import Intervention, load_interventions
from interventions.sitemap import SiteMap, load_site_map
from proxy.server import HOST, run_proxy
from proxy.session import AllowList, Session


def plan_for_all(
    interventions: Iterable[Intervention], products: Iterable[ProductFacts], values: Mapping[str, str]
) -> Plan:
    """A plan that shows every intervention on every product.

    An intervention whose variables need no product applies wherever its target is found; any other is filled
    in for each of `products`.

    Raises:
        UserError: a variable needs a product's facts and there are no products.
    """
    treatments: list[Treatment] = []
    known = tuple(products)
    for intervention in interventions:
        try:
            treatments.append(compile_treatment(intervention, None, **values))
        except UserError:
            if not known:
                raise
            treatments.extend(compile_treatment(intervention, product, **values) for product in known)
    return Plan(tuple(treatments))


def parse_values(pairs: Iterable[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a mapping. Raises UserError."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UserError(f"--var {pair}: not a value; write NAME=VALUE, e.g. --var category=headphones")
        values[name] = value
    return values


async def serve(
    file: str,
    only: Iterable[str],
    site: str,
    port: int,
    allow: Iterable[str] | None,
    values: Iterable[str],
    products: Iterable[ProductFacts] = (),
) -> None:
    """Run until cancelled. Says where it listens on stderr; receipts and failures go to stdout as JSON lines.

    Raises:
        UserError: a mistake in the file or an option, or the port is taken.
    """
    site_map: SiteMap = load_site_map(site)
    loaded = load_interventions(file, site_map)
    chosen = [loaded[name] for name in only] or loaded.interventions
    plan = plan_for_all(chosen, products, parse_values(values))
    hosts = AllowList.of(*allow) if allow else None
    with tempfile.TemporaryDirectory(prefix="souk-ca-") as folder:
        async with run_proxy(Path(folder)) as proxy:
            slot = await proxy.open_slot(port)
            slot.session = PrintingSession(plan, site_map, hosts)
            names = ", ".join(item.id for item in chosen)
            sys.stderr.write(f"souk proxy on http://{HOST}:{slot.port} applies {names}; Ctrl-C ends it\n")
            sys.stderr.flush()
            await asyncio.Event().wait()


class PrintingSession(Session):
    """Writes what happens as JSON lines instead of keeping it: such a proxy may run for long."""

    def received(self, receipts: Iterable[Receipt]) -> None:
        """One line per receipt."""
        for receipt in receipts:
            say({"receipt": receipt.to_dict()})

    def failed(self, reason: str) -> None:
        """One line."""
        say({"treatment_failed": reason})

    def broke(self, reason: str) -> None:
        """One line."""
        say({"upstream_error": reason})


def say(event: Mapping[str, object]) -> None:
    """One event as a line of JSON."""
    sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
    sys.stdout.flush()
