"""Run the proxy on its own: for any browser, any program, or a person."""

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from interventions.apply.engine import Receipt
from interventions.apply.plan import Plan, ProductFacts, Treatment, compile_treatment
from interventions.edits.registry import edit_to_dict
from interventions.errors import UserError
from interventions.files.schema import Intervention, load_interventions
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.variables import VARIABLE, read_values
from interventions.yaml.yaml_problems import did_you_mean
from proxy.allow_list import AllowList
from proxy.server import Proxy, Slot, run_proxy
from proxy.session import CartAddition, Session
from proxy.shown_page import ShownPage
from proxy.untreated import why_untreated

MOST_DRAWN: Final = 1_000
"""The most receipts of pages as drawn, and kinds of addresses, that are remembered to be printed once."""


@dataclass(frozen=True, kw_only=True)
class ProxySettings:
    """The settings of `souk proxy serve`; each field is the option of its name.

    Raises UserError where options do not go together.
    """

    interventions: str | None = None
    only: tuple[str, ...] = ()
    product: tuple[str, ...] = ()
    site: str = "onestopmarket"
    var: tuple[str, ...] = ()
    port: int = 8080
    allow: tuple[str, ...] = ()
    reverse: str | None = None
    upstream_proxy: str | None = None
    upstream_ca: Path | None = None
    ca: Path | None = None
    record: Path | None = None
    replay: Path | None = None

    def __post_init__(self) -> None:
        if not (self.interventions or self.record or self.replay or self.reverse):
            raise UserError("nothing to do: name an intervention file with -i, or use --record or --replay")
        if self.only and not self.interventions:
            raise UserError("--only: chooses from a file of interventions; name the file with -i")
        if self.product and not self.interventions:
            raise UserError("--product: says what interventions treat; name their file with -i")
        if self.var and not self.interventions:
            raise UserError("--var: fills in variables of interventions; name their file with -i")
        if self.record and self.replay:
            raise UserError("--record and --replay exclude each other: leave one out")
        if self.replay and (self.upstream_proxy or self.upstream_ca):
            needless = "--upstream-proxy" if self.upstream_proxy else "--upstream-ca"
            raise UserError(f"{needless}: --replay asks nothing of the network; leave one of them out")


async def serve(
    options: ProxySettings,
    products: Iterable[ProductFacts] = (),
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Run until cancelled.

    A description goes to stderr; receipts and failures go to stdout as JSON lines. `ready` is called with the
    proxy's address once it answers.

    Raises:
        UserError: a mistake in a file or an option, or the port is taken.
    """
    site = load_site_map(options.site)
    chosen: list[Intervention] = []
    if options.interventions:
        loaded = load_interventions(options.interventions, site)
        chosen = [loaded[name] for name in options.only] or list(loaded.interventions)
    keys = tuple(site.key(product) for product in options.product)
    plan = plan_for(chosen, products, parse_values(options.var, chosen), keys)
    inside = (*options.allow, options.reverse) if options.reverse else options.allow
    hosts = AllowList.of(*inside) if inside else None
    with ExitStack() as stack:
        ca = options.ca or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="souk-ca-")))
        async with run_proxy(
            ca,
            upstream_ca=options.upstream_ca,
            upstream_proxy=options.upstream_proxy,
            record=options.record,
            replay=options.replay,
        ) as proxy:
            slot = await proxy.open_slot(options.port, options.reverse)
            slot.session = PrintingSession(plan, site, hosts)
            sys.stderr.write(describe(options, proxy, slot, [item.id for item in chosen], keys))
            sys.stderr.flush()
            ready(slot.url)
            await asyncio.Event().wait()


def describe(options: ProxySettings, proxy: Proxy, slot: Slot, names: list[str], keys: Sequence[str]) -> str:
    """Describe the proxy for people: its address, its edits, how to use it."""
    if options.reverse:
        lines = [f"souk proxy: open {slot.url}/ for {options.reverse}"]
    else:
        lines = [f"souk proxy on {slot.url}"]
        lines.append(f"reaches   {' '.join(options.allow) + ' only' if options.allow else 'any host'}")
    lines.append(f"applies   {', '.join(names)}" if names else "applies   nothing: pages pass unchanged")
    if keys:
        lines.append(f"to        {', '.join(keys)}")
    if options.upstream_proxy:
        lines.append(f"through   the proxy {options.upstream_proxy.rpartition('@')[2]}")
    if options.record:
        lines.append(f"records   to {options.record}")
    if options.replay:
        lines.append(f"replays   {options.replay}; the network is not used")
    kept = "" if options.ca else ", for this run only; --ca DIR keeps one"
    lines.append(f"authority {proxy.certificate}{kept}")
    return "\n  ".join([*lines, "Ctrl-C ends it"]) + "\n"


def plan_for(
    interventions: Iterable[Intervention],
    products: Iterable[ProductFacts],
    values: Mapping[str, str],
    keys: Sequence[str] = (),
) -> Plan:
    """Make a plan that shows every intervention on the products with these keys, without keys on every one.

    Without keys an intervention whose variables need no product applies wherever its target is found; any
    other is filled in for each of `products`.

    Raises:
        UserError: a variable needs facts of a product that is not among `products`.
    """
    treatments: list[Treatment] = []
    known = {product.key: product for product in products}
    named = [known.get(key, ProductFacts(key)) for key in keys]
    targets: Sequence[ProductFacts | None] = named or [None]
    for intervention in interventions:
        try:
            each = [compile_treatment(intervention, target, **values) for target in targets]
        except UserError:
            if named or not known:
                raise
            each = [compile_treatment(intervention, product, **values) for product in known.values()]
        treatments += each
    return Plan(tuple(treatments))


def parse_values(pairs: Iterable[str], interventions: Iterable[Intervention]) -> dict[str, str]:
    """Parse texts `NAME=VALUE` into a mapping.

    Raises UserError, also for a name that no intervention has as a variable.
    """
    known = {name for intervention in interventions for name in variables(intervention)}
    values = read_values(pairs)
    for name in values.keys() - known:
        hint = did_you_mean(name, sorted(known), noun="variables") if known else "there are none"
        raise UserError(f'--var {name}={values[name]}: no intervention has the variable "{name}"; {hint}')
    return values


def variables(intervention: Intervention) -> set[str]:
    """Return the names that an intervention's texts refer to, and those that it defines."""
    edits = json.dumps([edit_to_dict(edit) for edit in intervention.edits])
    texts = [edits, *intervention.variables.values()]
    return {name for text in texts for name in VARIABLE.findall(text)} | intervention.variables.keys()


class PrintingSession(Session):
    """A session that prints what happens as JSON lines.

    It keeps nothing, because such a proxy may run for long.
    """

    def note_page(self, page: ShownPage) -> None:
        """Print a line, once for each kind of address, where a fetched answer may lack edits."""
        kind = re.sub(r"\d+", "0", urlsplit(page.url)._replace(query="", fragment="").geturl())
        if kind not in self.as_sent and (why := why_untreated(page, self.plan, self.site)):
            if len(self.as_sent) > MOST_DRAWN:
                self.as_sent.clear()
            self.as_sent[kind] = replace(page, body=b"", sent=None)
            say({"untreated": f"{page.url}: {why}"})

    keep = note_page

    def note_added(self, added: Iterable[CartAddition]) -> None:
        """Ignore what is put into the cart."""

    def note_sent(self, *_: object, **__: object) -> None:
        """Ignore what the page was made of."""

    def note_receipts(self, receipts: Iterable[Receipt]) -> None:
        """Print a line for each receipt."""
        for receipt in receipts:
            say({"receipt": receipt.to_dict()})

    def note_drawn(self, receipts: Iterable[Receipt]) -> bool:
        """Print a line for each receipt of a page as drawn, once; those of long ago are forgotten."""
        if len(self.drawn) > MOST_DRAWN:
            self.drawn.clear()
        return super().note_drawn(receipts)

    def note_failure(self, reason: str) -> None:
        """Print a line for a planned edit that did not reach a page."""
        say({"treatment_failed": reason})

    def note_upstream_error(self, reason: str) -> None:
        """Print a line for a document that the shop did not deliver."""
        say({"upstream_error": reason})


def say(event: Mapping[str, object]) -> None:
    """Print one event as a line of JSON."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()
