"""Content-Security-Policy: let a page show what an edit puts inline, and nothing else.

Terms and rules are those of CSP Level 3 (W3C). An element is allowed by the hash of its text. A policy never
gets 'unsafe-inline' from here, and never a hash beside an 'unsafe-inline' that is in force: browsers ignore
the keyword where there is a hash, so that the page's own inline styles would be lost.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

_NONCE_OR_HASH = re.compile(r"'(?:nonce|sha256|sha384|sha512)-", re.I)


@dataclass(frozen=True)
class Inline:
    """The inline parts that edits have put into a page. Falsy when there are none.

    These are the texts of style attributes and scripts, the absolute URLs of images and of those scripts that
    are not inline, and where scripts send something, as a policy writes it.
    """

    styles: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()
    connects: frozenset[str] = frozenset()
    loaded: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.styles or self.scripts or self.loaded or self.images or self.connects)


def allow(policy: str, inline: Inline) -> str:
    """Return a Content-Security-Policy header or `<meta>` value, changed no more than `inline` needs.

    It may hold several policies, parted by commas; all of them are in force.
    """
    return ",".join(_allow(one, inline) for one in policy.split(","))


def _allow(policy: str, inline: Inline) -> str:
    parts = policy.split(";")
    directives: dict[str, int] = {}
    for index, part in enumerate(parts):
        if words := part.split():
            directives.setdefault(words[0].lower(), index)
    added = []
    for name, fallbacks, wanted in _wanted(inline):
        # The first directive that there is governs; without any, everything is allowed.
        governing = next((directives[n] for n in (name, *fallbacks) if n in directives), None)
        if governing is None or not wanted:
            continue
        sources = parts[governing].split()[1:]
        missing = _missing(name, sources, wanted)
        if not missing:
            continue
        directive = " ".join([name, *(s for s in sources if s.lower() != "'none'"), *missing])
        if name in directives:
            parts[governing] = f" {directive}" if parts[governing][:1].isspace() else directive
        else:
            added.append(f" {directive}")
    if added and not parts[-1].strip():
        parts.pop()
    return ";".join([*parts, *added])


def _wanted(inline: Inline) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """For each kind the directive that governs it, those that stand in for it, and the sources it needs."""
    yield "style-src-attr", ("style-src", "default-src"), _hashes(inline.styles)
    scripts = [*_hashes(inline.scripts), *sorted(inline.loaded)]
    yield "script-src-elem", ("script-src", "default-src"), scripts
    yield "img-src", ("default-src",), sorted({_image_source(url) for url in inline.images})
    yield "connect-src", ("default-src",), sorted(inline.connects)


def _missing(name: str, sources: list[str], wanted: list[str]) -> list[str]:
    """The sources that a list lacks for what is wanted."""
    keywords = {source.lower() for source in sources}
    if name == "connect-src":
        return [source for source in wanted if source not in keywords]
    if name == "img-src":
        return [url for url in wanted if url not in sources and not keywords & {*_general_sources(url)}]
    strict = any(_NONCE_OR_HASH.match(source) for source in sources)
    if name == "script-src-elem":
        strict = strict or "'strict-dynamic'" in keywords
    elif "'unsafe-hashes'" not in keywords:
        # Hashes count for attributes only beside this keyword.
        wanted = ["'unsafe-hashes'", *wanted]
    if "'unsafe-inline'" in keywords and not strict:
        wanted = [source for source in wanted if not source.startswith("'")]
    if name == "script-src-elem" and "'self'" in keywords:
        wanted = [source for source in wanted if source.startswith("'")]
    return [source for source in wanted if source not in sources]


def _hashes(texts: frozenset[str]) -> list[str]:
    digests = (b64encode(sha256(text.encode()).digest()).decode() for text in texts)
    return sorted(f"'sha256-{digest}'" for digest in digests)


def _general_sources(url: str) -> Iterator[str]:
    """The sources that allow every address with the scheme of this one."""
    yield url.partition(":")[0] + ":"
    if url.startswith("http"):
        yield "*"


def _image_source(url: str) -> str:
    """The source that matches one image: its address without query and fragment; a scheme for `data:`."""
    if not url.startswith(("http:", "https:")):
        return f"{url.partition(':')[0]}:"
    return re.split("[?#]", url, maxsplit=1)[0].replace(";", "%3B").replace(",", "%2C")
