"""Texts are compared as a reader sees them: what Chromium draws is the same before and after."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.async_api import Page

from environments.browser.pool import run_browsers
from interventions.edits.in_browser import as_read, holds, is_one_of

UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
JOINERS = "\u200c\u200d"
TEXTS = st.text(st.characters(exclude_characters=UNSEEN, exclude_categories=["Cs"]), max_size=20)
LATIN = st.text(st.characters(max_codepoint=0x52F, exclude_characters=UNSEEN), max_size=20)


def split(text: str) -> str:
    return " ".join(text.split())


@given(TEXTS, TEXTS)
def test_ordinary_texts_compare_as_they_stand(text: str, other: str) -> None:
    assert as_read(text) == split(text)
    assert is_one_of([text])(split(text))
    assert is_one_of([other])(split(text)) == (
        split(text).startswith(split(other)[:-1])
        if split(other)[1:].endswith("…")
        else split(text) == split(other)
    )
    assert holds(f"{split(other)} {split(text)} {split(other)}", text) == bool(split(text))


@given(LATIN, LATIN, st.lists(st.sampled_from(UNSEEN), min_size=1, max_size=4).map("".join))
def test_what_is_put_between_the_letters_is_left_out_and_nothing_else(
    text: str, other: str, unseen: str
) -> None:
    sprinkled = unseen.join(f" {text} ")
    assert as_read(sprinkled) == split(text)
    assert is_one_of([sprinkled])(split(text))
    assert (as_read(sprinkled) == as_read(unseen.join(other))) == (split(text) == split(other))


@given(st.text(st.sampled_from("aб9 .→中م👩\u094d\ufe0f" + UNSEEN), max_size=12))
def test_what_was_read_is_read_the_same_again(text: str) -> None:
    assert as_read(as_read(text)) == as_read(text)


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क\u094d\u200dष", "👩\u200d👧", "❤\ufe0f\u200d🔥"])
def test_joiners_count_where_they_change_what_is_drawn(text: str) -> None:
    assert as_read(text) == text
    assert as_read("\u200b".join(text)) == text


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with run_browsers() as browsers, browsers.context(None) as context:
        yield await context.new_page()


# Letters that no font draws together: `fi` is one sign in some. No space: beside a zero-width space it stays,
# where two spaces, or one that begins a line, are drawn as fewer.
@pytest.mark.thorough
@pytest.mark.browser
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.sampled_from("abcdegmouABC0129.,$€%éßжωЯ" + UNSEEN * 3), min_size=1, max_size=15))
async def test_the_picture_is_the_same(text: str, page: Page) -> None:
    async def picture(shown: str) -> bytes:
        await page.set_content('<p style="white-space:nowrap;font:40px sans-serif;font-kerning:none">')
        await page.evaluate("text => { document.querySelector('p').textContent = text; }", shown)
        return await page.screenshot()

    assert await picture(text) == await picture(as_read(text))
