"""Layers over a shop's pages: what covers a page is named, and what a site map dismisses is gone."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.foreign_shop import ForeignShop
from tests.experiments.treatment.test_treatment_check import Place, carry_out, place, shop
from tests.support import size

pytestmark = pytest.mark.browser
__all__ = ["AsyncIterator", "place", "shop"]

LAYER = """if (!document.cookie.includes("consent")) setTimeout(() => {
  document.body.insertAdjacentHTML("beforeend", `<div id=consent><style>#consent { position: fixed;
    inset: 0 0 auto; height: 160px; background: #eef }</style>
    <p>Cookies?</p><button id=yes>Accept all</button></div>`);
  document.querySelector("#yes").onclick = () => { document.cookie = "consent=1; path=/";
    document.querySelector("#consent").remove() };
}, 300)"""
VEIL = """<style>.veil { opacity: 0 !important }</style><script>document.documentElement.className = "veil";
setTimeout(() => { document.documentElement.className = "" }, 1500)</script>"""
BOTH = {"screenshot": True}
BUTTONS: dict[str, Any] = {"its selector": "'#yes'", "its text": "{text: accept all}"}


@pytest.mark.thorough
@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("button", BUTTONS)
async def test_a_layer_that_is_dismissed_is_gone(
    button: str, control: bool, place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.script = LAYER
    (tmp_path / "map.yaml").write_text(f"name: m\nextends: onestopmarket\ndismiss: [{BUTTONS[button]}]\n")
    how: dict[str, Any] = {"site": str(tmp_path / "map.yaml"), "observation": BOTH}
    trajectory, *_ = await carry_out(place, tmp_path, control=control, **how)
    assert trajectory.outcome == "choice", trajectory.reason


async def test_a_layer_that_stays_is_named(place: Place, shop: ForeignShop, tmp_path: Path) -> None:
    shop.script = LAYER.replace("setTimeout(() => {", "(() => {").replace("}, 300)", "})()")
    trajectory, *_ = await carry_out(place, tmp_path, observation=BOTH)
    assert trajectory.outcome == "treatment_failed"
    assert "(covered by a layer of the page: #consent)" in trajectory.reason


@pytest.mark.parametrize("observation", [{}, BOTH][-size(1, 2) :])
async def test_a_veil_that_goes_is_waited_for(
    observation: dict[str, bool], place: Place, shop: ForeignShop, tmp_path: Path
) -> None:
    shop.head = VEIL
    trajectory, *_ = await carry_out(place, tmp_path, observation=observation)
    assert trajectory.outcome == "choice", trajectory.reason
