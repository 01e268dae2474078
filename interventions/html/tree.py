"""Parse HTML and select elements: the one place that calls the parser.

The parser is in C and holds the interpreter's lock: one page that it needs minutes for would stop all trials.
"""

from typing import Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from interventions.errors import CannotEdit
from interventions.html.parsing_cost import parsing_steps

MOST_STEPS: Final = 40_000_000
"""The most steps of the parser that a page may need: half a second of a slow core."""


def parse(
    source: bytes | str, *, scripting: bool = False, is_fragment: bool = False, most: int | None = None
) -> LexborHTMLParser:
    """Parse a page. Raises CannotEdit where the parser would need `most` steps (None: MOST_STEPS)."""
    most = MOST_STEPS if most is None else most
    data = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if parsing_steps(data, most) >= most:
        raise CannotEdit(
            f"it would stop all trials to read this page: the parser needs more than {most:,} steps "
            "(elements nested too deeply, or too many attributes or options in one element)"
        )
    # Else the chosen `<option>` would be copied into `<selectedcontent>`, where no source of it stands.
    options = LexborDocumentOptions.WO_EVENTS
    return LexborHTMLParser(source, scripting=scripting, is_fragment=is_fragment, options=options)


def select(root: LexborHTMLParser | LexborNode, css: str) -> list[LexborNode]:
    """Return the elements that match a selector, each once, in document order; `root` itself may be one.

    The library returns an element once for each selector of a list that it meets.
    """
    return list({node.mem_id: node for node in root.css(css)}.values())
