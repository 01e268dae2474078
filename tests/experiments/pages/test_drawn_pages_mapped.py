"""`map --render` and `preview` in a shop whose pages scripts draw."""

from pathlib import Path

import pytest
import yaml
from starlette.concurrency import run_in_threadpool

from experiments.pages.preview import fetched, preview
from experiments.pages.proof import prove
from experiments.pages.purchasing import learned
from experiments.pages.site_mapping import map_site, save
from interventions.files.schema import load_interventions
from interventions.yaml.choice import CartRequest, Choice
from tests.experiments.command_line import forked_souk
from tests.experiments.drawn_shop import DrawnShop
from tests.lab.storefronts.shops import running
from tests.support import serve

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_driver")]

NUDGES = {
    "interventions": [
        {"id": name, "kind": "nudge", "family": "scarcity", "direction": 1, "edits": [{kind: what}]}
        for name, kind, what in (
            ("cheap", "set_price", 949),
            ("few", "insert_text", {"after": "product.title", "text": "Only two left"}),
        )
    ]
}


async def test_the_proposed_map_is_enough_for_a_preview_of_page_and_data(tmp_path: Path) -> None:
    (tmp_path / "nudges.yaml").write_text(yaml.safe_dump(NUDGES))
    async with serve(DrawnShop("shell").app()) as address:
        url = f"{address}lamps/harbour-lamp"
        mapped = await map_site(url, address, name="lamps", render=True)
        site, faults = save(mapped, tmp_path / "lamps.yaml")
        assert faults == []
        assert site.drawn
        assert {(each.url, each.factor) for each in site.data} == {("/api/lamps", 100), ("/api/lamps/*", 100)}
        nudges = load_interventions(str(tmp_path / "nudges.yaml"), site)
        for where, shows in (
            (url, {"few": b"Only two left", "cheap": b"$949.00"}),
            (f"{address}api/lamps/harbour-lamp", {"cheap": b'"cents":94900'}),
        ):
            async with fetched(where, None, drawn=True) as page:
                for name, wanted in shows.items():
                    found = preview(page, nudges[name], site, values={})
                    assert wanted in found.after and wanted not in page.body
                    assert {receipt.product for receipt in found.receipts} == {"lamps/harbour-lamp"}


@pytest.mark.thorough
async def test_open_shadow_trees_that_scripts_make_are_mapped_and_previewed(tmp_path: Path) -> None:
    (tmp_path / "nudges.yaml").write_text(yaml.safe_dump(NUDGES))
    async with serve(DrawnShop("shadow").app()) as address:
        url = f"{address}lamps/harbour-lamp"
        mapped = await map_site(url, None, name="lamps", render=True, follow=0)
        site, _ = save(mapped, tmp_path / "lamps.yaml")
        nudges = load_interventions(str(tmp_path / "nudges.yaml"), site)
        async with fetched(url, None, drawn=True) as page:
            for name, wanted in (("few", b"Only two left"), ("cheap", b"$949.00")):
                assert wanted in preview(page, nudges[name], site, values={}).after


@pytest.mark.thorough
async def test_what_each_request_says_is_not_taken_for_a_purchase(tmp_path: Path) -> None:
    """Every request of the shop is a POST to one address with an `id`: the hash of a stored query."""
    async with running("persisted-queries") as base:
        mapped = await map_site(f"{base}p/harbour-desk-lamp", f"{base}lamps", name="lamps", render=True)
        mapped, _ = await learned(mapped)
        site, _ = save(mapped, tmp_path / "lamps.yaml")
        assert [rule.field for rule in site.choice.request] == ["$.variables.input.merchandiseId"]
        assert [place.path for data in site.data[:1] for place in data.roles["id"]] == ["$.gid"]
        proofs = await prove(mapped, site, buys=True)
        assert proofs["choice.request"].proved
        loose = site.model_copy(
            update={"choice": Choice(request=(CartRequest(path="/graphql", field="id"),))}
        )
        early = (await prove(mapped, loose, buys=True))["choice.request"]
        assert (early.proved, early.why) == (False, "holds as soon as the pages are opened: narrow it")


@pytest.mark.thorough
async def test_an_empty_shell_is_told_to_be_drawn_first(tmp_path: Path) -> None:
    command = ("interventions", "map", "--out", "lamps.yaml", "--follow", "0", "--no-buy")
    async with serve(DrawnShop("shell").app()) as address:
        ended = await run_in_threadpool(forked_souk, *command, f"{address}lamps/harbour-lamp", cwd=tmp_path)
    assert ended.status in (0, 1), ended.err
    assert "not found: product.price" in ended.out
    assert "Scripts may draw these pages: try again with --render" in ended.out
