"""Content codings: undone in any chain, and never beyond the limit."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from proxy.decoding import MAX_CODINGS, Undecodable, decode

LIMIT = 1 << 20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "x-gzip": lambda data: gzip.compress(data, 1),
    "deflate": zlib.compress,
    "DEFLATE": raw_deflate,
    "br": lambda data: brotli.compress(data, quality=3),
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
    "identity": lambda data: data,
}


@given(st.binary(max_size=5000), st.lists(st.sampled_from(sorted(CODINGS)), max_size=MAX_CODINGS))
def test_every_chain_of_codings_is_undone(data: bytes, names: list[str]) -> None:
    packed = data
    for name in names:
        packed = CODINGS[name](packed)
    assert decode(packed, " , ".join(names), LIMIT) == data


@given(st.binary(min_size=1, max_size=2000), st.data())
def test_a_body_that_is_cut_off_is_not_decoded(data: bytes, draw: st.DataObject) -> None:
    name = draw.draw(st.sampled_from(sorted(CODINGS.keys() - {"identity"})))
    packed = CODINGS[name](data)
    end = draw.draw(st.integers(1, len(packed) - 1))
    with pytest.raises(Undecodable, match="not valid"):
        decode(packed[:end], name, LIMIT)


@given(st.binary(max_size=200), st.sampled_from(sorted(CODINGS)))
def test_whatever_comes_is_decoded_or_refused(data: bytes, name: str) -> None:
    try:
        decode(data, name, LIMIT)
    except Undecodable as error:
        assert "\n" not in str(error)


def test_parts_of_gzip_and_zstd_are_put_together() -> None:
    for name in ("gzip", "zstd"):
        pack = CODINGS[name]
        assert decode(pack(b"one") + pack(b"two"), name, LIMIT) == b"onetwo"
        with pytest.raises(Undecodable):
            decode(pack(b"one") * 65, name, LIMIT)
    assert decode(gzip.compress(b"one") + bytes(300), "gzip", LIMIT) == b"one"


@pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
def test_what_follows_the_end_is_refused(name: str) -> None:
    with pytest.raises(Undecodable, match=f"not valid {name}"):
        decode(CODINGS[name](b"page") + b"more of it", name, LIMIT)


@pytest.mark.parametrize("names", ["sdch", "compress", "gzip, dcb", "gzip," * 4 + "gzip", "gz\nip"])
def test_unknown_codings_are_refused(names: str) -> None:
    with pytest.raises(Undecodable) as caught:
        decode(b"page", names, LIMIT)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "gzip, br", "zstd, deflate"]
)
def test_a_bomb_is_refused_with_bounded_memory(names: str) -> None:
    bomb = bytes(100_000_000)
    for name in names.split(", "):
        bomb = CODINGS[name](bomb)
    assert len(bomb) < 400_000
    tracemalloc.start()
    try:
        with pytest.raises(Undecodable, match="too large"):
            decode(bomb, names, LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # zlib gives at most 16 MB for a piece, brotli three blocks of 16 MB.
    assert peak < 80_000_000


def test_the_limit_is_a_limit() -> None:
    page = bytes(1000)
    for name, pack in CODINGS.items():
        assert decode(pack(page), name, 1000) == page
        with pytest.raises(Undecodable, match="too large"):
            decode(pack(page), name, 999)
