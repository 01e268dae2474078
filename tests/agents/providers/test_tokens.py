import re

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.providers.tokens import estimate_tokens
from environments.shop.app import create_app
from environments.shop.catalogue import generate

texts = st.text() | st.text("ab1 \n\t.<é漢", max_size=60)


@given(texts)
def test_between_an_eighth_of_the_bytes_and_all_of_them(text: str) -> None:
    size = len(text.encode(errors="replace"))
    assert size / 8 <= estimate_tokens(text) <= size


@given(texts, texts)
def test_more_text_is_no_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("cheap lamp", 2), ("comfortable", 3), ("$19.99", 6), ("\n        <p>", 4 + 1), ("漢", 3)],
)
def test_examples(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.slow
async def test_no_lower_than_a_tokenizer_made_for_these_very_pages_and_at_most_double() -> None:
    """Trained on other pages of the shop, a byte-level BPE makes far fewer tokens than a general one."""
    tokenizers = pytest.importorskip("tokenizers")
    transport = httpx.ASGITransport(create_app(generate(0)))
    async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
        home = (await client.get("/")).text
        links = dict.fromkeys(re.findall(r'href="http://shop\.test(/[\w-]+\.html)"', home))
        pages = [home, *[(await client.get(link)).text for link in list(links)[:15]]]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=8_000, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(pages[::2], trainer)
    for page in pages[1::2]:
        ratio = estimate_tokens(page) / len(tokenizer.encode(page).ids)
        assert 1 <= ratio <= 2
