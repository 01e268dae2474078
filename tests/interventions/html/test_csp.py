"""Content security policies: what edits put inline is allowed, and nothing else changes."""

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interventions.html.csp import Inline, allow

STYLE, SCRIPT, IMAGE = "color:red", "document.title = 'new'", "https://cdn.test/a/star.png?size=2"


def hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


STYLE_HASH, SCRIPT_HASH = hashed(STYLE), hashed(SCRIPT)
STYLED = f"'unsafe-hashes' {STYLE_HASH}"
ALL = Inline(frozenset([STYLE]), frozenset([SCRIPT]), frozenset([IMAGE]))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("style-src 'self'", f"style-src 'self'; style-src-attr 'self' {STYLED}"),
        ("style-src 'none'", f"style-src 'none'; style-src-attr {STYLED}"),
        ("style-src", f"style-src; style-src-attr {STYLED}"),
        ("style-src-attr 'NONE'; img-src *", f"style-src-attr {STYLED}; img-src *"),
        ("img-src *; style-src-attr 'none';", f"img-src *; style-src-attr {STYLED};"),
        (
            "style-src-attr 'none'; style-src 'unsafe-inline'",
            f"style-src-attr {STYLED}; style-src 'unsafe-inline'",
        ),
        (
            "style-src a.test 'nonce-x' 'unsafe-inline'",
            "style-src a.test 'nonce-x' 'unsafe-inline'; "
            f"style-src-attr a.test 'nonce-x' 'unsafe-inline' {STYLED}",
        ),
        ("style-src 'unsafe-inline'", "style-src 'unsafe-inline'"),
        ("STYLE-SRC 'Unsafe-Inline'", "STYLE-SRC 'Unsafe-Inline'"),
        ("style-src 'unsafe-inline'; style-src 'none'", "style-src 'unsafe-inline'; style-src 'none'"),
        (f"style-src-attr {STYLED}", f"style-src-attr {STYLED}"),
        (f"style-src-attr {STYLE_HASH}", f"style-src-attr {STYLE_HASH} 'unsafe-hashes'"),
        ("script-src 'self'", f"script-src 'self'; script-src-elem 'self' {SCRIPT_HASH}"),
        ("script-src 'unsafe-inline'", "script-src 'unsafe-inline'"),
        ("script-src-elem 'none' ; x", f"script-src-elem {SCRIPT_HASH}; x"),
        (
            "script-src 'strict-dynamic' 'unsafe-inline'",
            "script-src 'strict-dynamic' 'unsafe-inline'; "
            f"script-src-elem 'strict-dynamic' 'unsafe-inline' {SCRIPT_HASH}",
        ),
        ("img-src 'self'", "img-src 'self' https://cdn.test/a/star.png"),
        ("img-src *", "img-src *"),
        ("img-src HTTPS:", "img-src HTTPS:"),
        ("img-src data:", "img-src data: https://cdn.test/a/star.png"),
        ("frame-ancestors 'none'; sandbox", "frame-ancestors 'none'; sandbox"),
        ("", ""),
        (" ; ,", " ; ,"),
    ],
)
def test_a_policy_changes_no_more_than_is_needed(policy: str, expected: str) -> None:
    assert allow(policy, ALL) == expected


def test_everything_falls_back_to_the_default() -> None:
    assert allow("default-src 'none'", ALL) == (
        f"default-src 'none'; style-src-attr {STYLED}; script-src-elem {SCRIPT_HASH}; "
        "img-src https://cdn.test/a/star.png"
    )


def test_each_policy_of_a_header_is_in_force() -> None:
    changed = allow("style-src 'self', default-src *; style-src 'unsafe-inline'", ALL)
    first, second = changed.split(",")
    assert first == f"style-src 'self'; style-src-attr 'self' {STYLED}"
    assert "style-src-attr" not in second


def test_images_are_allowed_one_by_one() -> None:
    odd = Inline(images=frozenset(["https://cdn.test/a;b,c.png#x", "data:image/png;base64,AA=="]))
    assert allow("img-src 'self'", odd) == "img-src 'self' data: https://cdn.test/a%3Bb%2Cc.png"


def test_nothing_inline_changes_nothing() -> None:
    assert not Inline()
    assert ALL
    assert allow("default-src 'none'", Inline()) == "default-src 'none'"


NAMES = ["style-src-attr", "style-src", "default-src", "script-src-elem", "script-src", "img-src", "x-src"]
SOURCES = ["'none'", "'self'", "*", "https:", "a.test", "'unsafe-inline'", "'unsafe-hashes'", "'nonce-x'",
           "'strict-dynamic'", STYLE_HASH, "'report-sample'", "'NONE'"]  # fmt: skip
DIRECTIVES = st.builds(
    lambda name, sources: " ".join([name, *sources]),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(SOURCES)),
)
POLICIES = st.lists(st.lists(DIRECTIVES).map("; ".join), max_size=3).map(", ".join) | st.text(
    alphabet=st.sampled_from("abc-src'; ,\t"), max_size=60
)
INLINES = st.builds(
    Inline,
    *(st.frozensets(st.text(max_size=5), max_size=2) for _ in range(2)),
    st.frozensets(st.just(IMAGE)),
)


def parse(policy: str) -> list[dict[str, list[str]]]:
    """Directives with their sources, the first of a name first."""
    parsed = []
    for one in policy.split(","):
        directives: dict[str, list[str]] = {}
        for part in one.split(";"):
            if words := part.split():
                directives.setdefault(words[0].lower(), words[1:])
        parsed.append(directives)
    return parsed


@given(POLICIES, INLINES)
def test_no_source_is_lost_and_nothing_changes_twice(policy: str, inline: Inline) -> None:
    changed = allow(policy, inline)
    assert allow(changed, inline) == changed
    for before, after in zip(parse(policy), parse(changed), strict=True):
        for name, sources in before.items():
            kept = sources if after[name] == sources else [s for s in sources if s.lower() != "'none'"]
            assert after[name][: len(kept)] == kept
        for name in after.keys() - before.keys():
            assert name in ("style-src-attr", "script-src-elem", "img-src")
        # Nothing but hashes of what is inline, and the images, has been added anywhere.
        known = {s for sources in before.values() for s in sources}
        added = {s for sources in after.values() for s in sources} - known
        hashes = {hashed(text) for text in inline.styles | inline.scripts}
        assert added <= {*hashes, "'unsafe-hashes'", "https://cdn.test/a/star.png"}
        assert not re.search("unsafe-inline", " ".join(added))
