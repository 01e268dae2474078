"""The observer's script, as it is sent to guests' pages."""

import gzip

from environments.observe import Wanted
from environments.observer import observer
from interventions.edits.in_browser import Spot

MOST_BYTES, MOST_COMPRESSED = 24_000, 8_500
"""What docs/any-agent.md says of the script's size."""


def test_the_script_stays_small() -> None:
    script = observer(Wanted((Spot("h1"), Spot("p.price")), own=True), "/.souk/seen/here", "page").encode()
    assert len(script) < MOST_BYTES
    assert len(gzip.compress(script)) < MOST_COMPRESSED


def test_the_script_can_stand_in_a_page() -> None:
    script = observer(Wanted((Spot("</script>"),)), "/.souk/seen/here", "page")
    assert script.isascii()
    assert "</script" not in script
    assert "<!--" not in script
