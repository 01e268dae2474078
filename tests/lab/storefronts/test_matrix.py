"""Every shop of the matrix that is there, treated by its site map: what a browser shows on its pages.

Oscar is installed for it, the hand-written shops need nothing; `make storefronts` brings the others and tries
much more.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from playwright.async_api import Browser

from environments.browser.pool import run_browsers
from experiments.pages.preview import fetched, preview
from interventions.apply.plan import Plan, compile_treatment
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Proxy
from proxy.session import Session
from tests.lab.storefronts.cases import cases, write
from tests.lab.storefronts.install import CannotInstall, install, is_installed
from tests.lab.storefronts.look import SUMS, VIEWS, faults
from tests.lab.storefronts.shops import running
from tests.lab.storefronts.steps import Shop, guest, map_it, run
from tests.support import THOROUGH

pytestmark = [pytest.mark.browser, pytest.mark.first]

FAILING: dict[str, dict[str, str]] = {}
"""What a page of each shop does not show, and why; as soon as it does, it is to be taken out here."""


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with run_browsers() as pool:
        yield await pool.browser()


TRIED = [name for name, case in cases().items() if THOROUGH or case.is_hand_written or name == "oscar"]
WHOLE = ("oscar", "split-prices")
"""In these all pages are looked at; in the others a product's page and the listing, unless there is time."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name != "oscar")) for name in TRIED]
)
async def test_what_a_browser_shows(name: str, proxy: Proxy, browser: Browser, tmp_path: Path) -> None:
    case = cases()[name]
    if name == "oscar":
        try:
            install(name)
        except CannotInstall as error:
            pytest.skip(str(error))
    elif not case.is_hand_written and not (THOROUGH and is_installed(name)):
        pytest.skip(f"{name}: run `make storefronts`")
    async with running(name) as base:
        case.write_files(tmp_path, base)
        site = load_site_map(case.site)
        edits = load_interventions(tmp_path / "edits.yaml", site).interventions
        slot = await proxy.open_slot()
        slot.session = Session(
            Plan(tuple(compile_treatment(edit, None) for edit in edits)), site, AllowList.of(base)
        )
        context = await browser.new_context(proxy={"server": slot.url, "bypass": "<-loopback>"})
        try:
            views = (*VIEWS, SUMS) if THOROUGH or name in WHOLE else VIEWS[:2]
            found = await faults(await context.new_page(), base, case, views)
        finally:
            await context.close()
        assert found.keys() == FAILING.get(name, {}).keys(), found
        assert {receipt.intervention for receipt in slot.session.receipts} == {edit.id for edit in edits}
        if not site.drawn:
            async with fetched(case.start_page(base), None) as page:
                for edit in edits:
                    assert preview(page, edit, site, product=None, values={}).receipts, edit.id


@pytest.mark.thorough
async def test_a_guest_whose_choice_is_drawn_on_the_next_page(browser: Browser, tmp_path: Path) -> None:
    case = cases()["old-tables"]
    async with running(case.name) as base:
        case.write_files(tmp_path, base)
        assert await guest(Shop(case, base, tmp_path, browser)) == "4 choice"


@pytest.mark.skipif(not THOROUGH, reason="takes half a minute")
@pytest.mark.parametrize("name", ["german", "query-addresses", "oscar"])
async def test_from_a_proposed_map_as_it_is_to_effects(name: str, browser: Browser, tmp_path: Path) -> None:
    case = cases()[name]
    if not case.is_hand_written and not is_installed(name):
        pytest.skip(f"{name} is not installed")
    async with running(name) as base:
        case.write_files(tmp_path, base)
        shop = Shop(case, base, tmp_path, browser)
        await map_it(shop)
        file = tmp_path / "experiment.yaml"
        write(file, yaml.safe_load(file.read_text()) | {"site": str(tmp_path / "proposed.yaml")})
        assert "14 choice" in await run(shop)
