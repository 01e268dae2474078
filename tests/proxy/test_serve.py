"""`souk proxy serve` as a person runs it: a process of its own before the real shop."""

import asyncio
import json
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from environments.shop.server import shop
from experiments.cli import main
from experiments.experiment_run import shop_products
from interventions.errors import UserError
from interventions.plan import ProductFacts
from interventions.schema import load_interventions
from interventions.sitemap import load_site_map
from proxy.serve import parse_values, plan_for_all
from tests.support import pages

ROOT = Path(__file__).parents[2]
SITE = load_site_map("onestopmarket")


@asynccontextmanager
async def serving(*options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The running process and the address that it says it listens on."""
    command = (sys.executable, "-m", "experiments.cli", "proxy", "serve", *options, "--port", "0")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=pipe)
    try:
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
        found = re.match(r"souk proxy on (http://127\.0\.0\.1:\d+) applies (.+); Ctrl-C ends it\n$", line)
        assert found, line
        yield process, found[1]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_person_sees_nudges_on_the_shops_products() -> None:
    product = shop_products()[0]
    assert product.category == "Cookies"
    sentence = "This product is Wirecutter's top pick in the cookies category"
    path = f"{product.key}.html"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        down = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    async with shop() as url, pages({f"/{path}": "<title>Redesigned</title>"}) as redesigned:
        allow = [option for host in (url, redesigned, down) for option in ("--allow", host)]
        async with (
            serving("-i", "nudges", "--only", "wirecutter", *allow) as (process, address),
            httpx.AsyncClient(proxy=address, trust_env=False) as client,
        ):
            page = await client.get(url + path)
            missing = await client.get(url + "nothing-of-this-name.html")
            refused = await client.get("http://127.0.0.1:9/")
            failed = await client.get(redesigned + path)
            await client.get(down, headers={"accept": "text/html"})
            process.send_signal(signal.SIGINT)
            out, err = await process.communicate()
    text = page.text.replace("&#x27;", "'").replace("&#39;", "'")
    assert text.count(sentence) == 1
    assert [missing.status_code, refused.status_code, failed.status_code] == [404, 403, 502]
    shown, failure, broken = [json.loads(line) for line in out.splitlines()]
    receipt = shown["receipt"]
    assert (receipt["intervention"], receipt["product"]) == ("wirecutter", product.key)
    assert (receipt["page_type"], receipt["after"]) == ("product", sentence)
    assert failure["treatment_failed"].startswith(
        f"{redesigned}{path}: wirecutter: insert_text product.title: "
    )
    assert broken["upstream_error"].startswith(down)
    assert err == b""
    assert process.returncode == 130


def mistake(
    options: Iterable[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What the command says in one line before it ends with status 2."""
    monkeypatch.setattr(sys, "argv", ["souk", "proxy", "serve", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.out == ""
    assert re.fullmatch(r"error: [^\n]+\n", said.err)
    return said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-i", "nudges", "--only", "wirecuter"], 'did you mean "wirecutter"'),
        (["-i", "nudge"], 'did you mean "nudges"'),
        (["-i", "nudges", "--site", "nowhere"], 'no site map "nowhere"'),
        (["-i", "nudges", "--var", "category"], "--var category: not a value; write NAME=VALUE"),
        (["-i", "nudges", "--only", "best-seller", "--allow", "shop:7770"], "shop:7770: not the address"),
    ],
)
def test_a_mistake_is_one_line(
    options: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in mistake([*options, "--port", "0"], monkeypatch, capsys)


def test_a_busy_port_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        options = ["-i", "nudges", "--only", "best-seller", "--port", port]
        said = mistake(options, monkeypatch, capsys)
    assert f"port {port}: cannot listen on it (Address already in use); " in said


def test_values_are_read_up_to_the_first_equals_sign() -> None:
    assert parse_values(["category=a=b", "empty="]) == {"category": "a=b", "empty": ""}


@pytest.mark.parametrize("pair", ["category", "=headphones", ""])
def test_a_value_without_its_name_is_refused(pair: str) -> None:
    with pytest.raises(UserError, match=f"--var {pair}: not a value; write NAME=VALUE"):
        parse_values([pair])


def test_variables_of_products_are_filled_in_for_each() -> None:
    nudges = load_interventions("nudges", SITE)
    products = [ProductFacts(key="one", category="Wine"), ProductFacts(key="two", category="Cheese")]
    plan = plan_for_all([nudges["best-seller"], nudges["wirecutter"]], products, {})
    assert [treatment.product for treatment in plan.treatments] == [None, "one", "two"]
    texts = [treatment.to_dict()["edits"][0]["insert_text"]["text"] for treatment in plan.treatments]
    assert ["the wine category" in text for text in texts] == [False, True, False]
    assert ["the cheese category" in text for text in texts] == [False, False, True]


def test_a_value_makes_an_intervention_fit_every_product() -> None:
    nudges = load_interventions("nudges", SITE)
    plan = plan_for_all([nudges["wirecutter"]], [], {"category": "Tea"})
    assert [treatment.product for treatment in plan.treatments] == [None]
    assert "Tea" in plan.treatments[0].to_dict()["edits"][0]["insert_text"]["text"]


def test_a_variable_of_products_needs_products() -> None:
    nudges = load_interventions("nudges", SITE)
    with pytest.raises(UserError, match=r"nudges\.yaml:\d+: .*category"):
        plan_for_all([nudges["wirecutter"]], [], {})
