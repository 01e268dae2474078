"""souk proxy: the rewriting proxy on its own."""

import json
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from experiments.commands.common import WHERE, AsJson, AuthorityFolder, Detached, Reverse
from experiments.runs.interrupts import run_until_stopped
from interventions.errors import UserError

if TYPE_CHECKING:
    from proxy.serve import ProxySettings

app = typer.Typer(no_args_is_help=True, help="Run the rewriting proxy on its own.")

WHAT, HOW = "What it changes", "How it reaches shops"


@app.command("serve")
def serve(
    interventions: Annotated[
        str | None,
        typer.Option(
            "-i",
            "--interventions",
            metavar="FILE",
            help="A shipped file by name, or a path.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only this intervention; repeatable.", rich_help_panel=WHAT),
    ] = None,
    product: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY", help="Only this product, by its key or address; repeatable.", rich_help_panel=WHAT
        ),
    ] = None,
    site: Annotated[
        str, typer.Option(metavar="MAP", help="A shipped site map by name, or a path.", rich_help_panel=WHAT)
    ] = "onestopmarket",
    var: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Value of a variable for every product; repeatable.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.", rich_help_panel=WHERE),
    ] = 8080,
    reverse: Reverse = None,
    detached: Detached = False,
    ca: AuthorityFolder = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Reach only these hosts and ports; repeatable. Default: all; with --reverse the shop's.",
            rich_help_panel=HOW,
        ),
    ] = None,
    upstream_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Trust shops with certificates of these authorities too (PEM).",
            rich_help_panel=HOW,
        ),
    ] = None,
    upstream_proxy: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Reach shops through this proxy.", rich_help_panel=HOW),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Record the shops' answers, before any edit.", rich_help_panel=HOW),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Answer from a recording; never use the network.", rich_help_panel=HOW
        ),
    ] = None,
) -> None:
    """Rewrite pages for any browser, any program or a person, until Ctrl-C or souk proxy stop.

    What happens is told in lines of JSON: a `receipt` for each edit of a page, `treatment_failed` where an
    edit was not possible (an error page takes the page's place), `upstream_error` where the shop failed.

    Examples:

      souk proxy serve -i nudges --only wirecutter

      souk proxy serve -i my.yaml --product https://shop.example/p/desk-lamp --site my-map.yaml

      souk proxy serve -i nudges --only wirecutter --reverse shop --detach && curl http://127.0.0.1:8080/

    The embedded shop with the products of an experiment:

      souk proxy serve -i pick.yaml --reverse teas.yaml

    A shop on the web, for a browser without any setting; then open http://127.0.0.1:8080/:

      souk proxy serve -i my.yaml --site my-map.yaml --reverse https://shop.example

    The same pages in every condition:

      souk proxy serve --record shop-may --allow https://shop.example

      souk proxy serve --replay shop-may -i my.yaml --site my-map.yaml
    """
    if detached:
        from experiments.console.background import start

        typer.echo(start().replace("Ctrl-C ends it", "souk proxy stop ends it"), err=True)
        return
    from proxy.serve import ProxySettings

    options = ProxySettings(
        interventions=interventions,
        only=tuple(only or ()),
        product=tuple(product or ()),
        site=site,
        var=tuple(var or ()),
        port=port,
        allow=tuple(allow or ()),
        reverse=reverse,
        upstream_proxy=upstream_proxy,
        upstream_ca=upstream_ca,
        ca=ca,
        record=record,
        replay=replay,
    )
    try:
        run_until_stopped(_serve(options))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


async def _serve(options: "ProxySettings") -> None:
    """Serve, for the embedded shop where `reverse` names it."""
    from environments.shop.shop import USUAL
    from experiments.console.background import ready
    from experiments.designs.choice_sets.shop_products import shop_products
    from interventions.yaml.sitemap import load_site_map
    from interventions.yaml.yaml_problems import did_you_mean
    from proxy.serve import serve as run_proxy

    shop = USUAL
    async with AsyncExitStack() as stack:
        if options.reverse and (options.reverse == "shop" or options.reverse.endswith(".yaml")):
            from experiments.designs.loading import embedded_shop  # which the proxy's image does without

            shop, site = embedded_shop(options.reverse), load_site_map(options.site)
            sold = {product.key for product in shop.catalogue.products}
            for product in options.product:
                if (key := site.key(product)) not in sold:
                    hint = did_you_mean(
                        key, sold, otherwise=f"its pages under --reverse {options.reverse} show what it sells"
                    )
                    raise UserError(f"--product {product}: the embedded shop does not sell it; {hint}")
            options = replace(options, reverse=await stack.enter_async_context(shop.opened()))
        await run_proxy(options, shop_products(shop), ready)


@app.command("stop")
def stop(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Stop only the proxy at this port of 127.0.0.1.")
    ] = None,
) -> None:
    """Stop what souk proxy serve --detach has started from this folder.

    Example: souk proxy stop
    """
    from experiments.console.background import servers

    found = [each for each in servers() if port is None or urlsplit(each.url).port == port]
    if not found:
        at = f" at port {port}" if port else ""
        raise UserError(f"no proxy{at} runs in the background of this folder; nothing is to be stopped")
    for server in found:
        server.stop()
        typer.echo(f"ended: process {server.pid} at {server.url}")


@app.command("ca")
def ca(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that --ca was given.")],
    as_json: AsJson = False,
) -> None:
    """Show the certificate authority of a folder, and how browsers and programs come to trust it.

    Example:

      souk proxy serve -i nudges --ca souk-ca --detach

      souk proxy ca souk-ca
    """
    from proxy.authority import Authority

    authority = Authority.read(folder)
    path, spki = str(authority.certificate), authority.spki
    if as_json:
        facts = {
            "certificate": path,
            "sha256": authority.fingerprint,
            "spki_sha256": spki,
            "expires": authority.expires.isoformat(),
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    chromium = f"--ignore-certificate-errors-spki-list={spki}"
    typer.echo(
        f"""\
certificate  {path}
SHA-256      {authority.fingerprint}
SPKI         {spki}
expires      {authority.expires:%Y-%m-%d}

Whoever trusts it believes everything that the holder of this folder says: trust it only in a browser profile
or a program that is used for nothing else, and never in the whole system.

curl         curl --cacert {path} --proxy http://127.0.0.1:8080 https://...
Chromium     chromium --user-data-dir=DIR --proxy-server=http://127.0.0.1:8080 \\
               '--proxy-bypass-list=<-loopback>' {chromium}
Playwright   chromium.launch(args=["{chromium}"],
               proxy={{"server": "http://127.0.0.1:8080", "bypass": "<-loopback>"}})
Node         NODE_EXTRA_CA_CERTS={path}
requests     REQUESTS_CA_BUNDLE={path}
httpx        SSL_CERT_FILE={path}
Firefox      in a new profile: Settings, Privacy & Security, View Certificates, Authorities, Import"""
    )
