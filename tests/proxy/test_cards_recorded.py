"""Cards beside a recording: a proxy of its own, since there is one per process."""

from pathlib import Path

import httpx

from interventions.apply.plan import Plan
from interventions.cards.card import Card, NumberAnswer
from interventions.cards.page import ANSWER_PATH
from proxy.allow_list import AllowList
from proxy.card_run import CardRun
from proxy.server import run_proxy
from proxy.session import Session
from tests.proxy.upstream import OTHER, SITE, upstream

WTP = Card(id="wtp", question="How much at most?", answer=NumberAnswer(unit="$"))


async def test_cards_are_not_recorded_as_the_shops(ca_dir: Path, tmp_path: Path) -> None:
    folder = tmp_path / "taken"
    async with upstream(OTHER) as origin, run_proxy(ca_dir, record=folder) as proxy:
        slot = await proxy.open_slot()
        cards = CardRun((WTP,))
        async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
            slot.session = Session(Plan(), SITE, AllowList.of(origin.url), cards=cards)
            shown = await client.get(origin.url, headers={"accept": "text/html"})
            await client.post(origin.url[:-1] + ANSWER_PATH, data={"card": "0", "answer": "5"})
            before = len(list(folder.rglob("*")))
            slot.session = Session(Plan(), SITE, AllowList.of(origin.url))
            await client.get(origin.url, headers={"accept": "text/html"})
            after = len(list(folder.rglob("*")))
    assert WTP.question in shown.text
    assert cards.done
    assert after > before
    assert len(origin.requests) == 1
