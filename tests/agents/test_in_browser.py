"""A simulated shopper reads real observations of a real browser and acts in it."""

import pytest

from agents.registry import make_agent
from environments.browser.pool import run_browsers
from environments.episode import Episode
from tests.support import STOPS, pages

pytestmark = [pytest.mark.browser]

PAGE = """<!doctype html><title>{title}</title><a href="/cart">My Cart</a><h1><span>{title}</span></h1>
<span>Rating:</span> <div title="80%"><span>80</span>% of <span>100</span></div>
<a href="#reviews"><span>12</span>&nbsp;<span>Reviews</span></a> <span class="price">{price}</span>
<label><input type="radio" name="options[1]"> small</label>
<label><input type="radio" name="options[1]"> big</label>
<button onclick="add()"><span>Add to Cart</span></button><div id="messages"></div>
<script>
function add() {{
  if (!document.querySelector("input:checked")) return;
  document.querySelector("#messages").innerHTML = '<div class="message-success">'
    + '<div data-bind="prepareMessageForHtml">You added {title} to your cart</div></div>';
}}
</script>"""


@pytest.mark.parametrize(("taste", "bought"), [("price", "Oat Cookies"), ("first", "Rye Crackers")])
async def test_shops_in_chromium(taste: str, bought: str) -> None:
    answers = {
        "/oats": PAGE.format(title="Oat Cookies", price="$12.50"),
        "/rye": PAGE.format(title="Rye Crackers", price="$1,019.99"),
    }
    agent = make_agent(f"simulated:{taste}", seed=1)
    async with pages(answers) as base_url, run_browsers() as browsers, browsers.context(None) as context:
        episode = Episode(context, "Add the best product to the cart.", STOPS)
        await episode.open([base_url + "oats", base_url + "rye"])
        for _ in range(6):
            look = await episode.look()
            if look.stop:
                break
            decision = await agent.act(look.observation)
            await episode.act(decision.action)
    assert look.stop is not None
    assert look.stop.outcome == "choice"
    assert f"You added {bought}" in look.observation.html
    assert "Rye Crackers with a price of 1,019.99, a rating of 80% and 12 reviews" in decision.memory
