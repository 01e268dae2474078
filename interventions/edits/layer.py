"""A layer over a page that wants an answer: edits that ask something share it."""

import html
from typing import Final, Literal

from interventions.edits.showing import Change, ProductPlace

_COVER: Final = "position:fixed;inset:0;z-index:1000;background:#0008;display:grid;place-items:center"
_BOX: Final = "background:#fff;color:#1b1b1b;max-width:440px;padding:28px;border-radius:8px;font-size:16px"
_BUTTONS: Final = "display:flex;gap:12px;margin-top:20px;align-items:center"
_STRONG: Final = "padding:10px 18px;border:0;border-radius:4px;background:#1a73c7;color:#fff;font-weight:700"
_PLAIN: Final = "padding:10px 18px;border:1px solid #8a8a8a;border-radius:4px;background:#fff;color:#1b1b1b"
_FAINT: Final = "padding:4px;border:0;background:none;color:#767676;font-size:12px"
Weight = Literal["equal", "accept", "decline"]
"""Which button catches the eye: the one that accepts, the one that declines, or neither."""
_WEIGHTS: Final = {
    "equal": (_PLAIN, _PLAIN),
    "accept": (_STRONG, _FAINT),
    "decline": (_FAINT, _STRONG),
}


def lay_over(
    showing: ProductPlace, text: str, buttons: dict[str, str], *, weight: Weight, field: str = ""
) -> Change:
    """Put a layer over a page: a form with a text, a field and buttons; it needs no script.

    buttons: by its attributes what each says, the one that accepts first. field: markup.
    """
    looks, told = _WEIGHTS[weight], html.escape(text, quote=False)
    row = "".join(
        f'<button {attributes} style="{look}">{html.escape(words, quote=False)}</button>'
        for (attributes, words), look in zip(buttons.items(), looks, strict=False)
    )
    showing.page.styles |= {_COVER, _BOX, _BUTTONS, *looks}
    markup = (
        f'<div role="dialog" aria-modal="true" aria-label="{html.escape(text)}" style="{_COVER}">'
        f'<form method="post" style="{_BOX}"><p>{told}</p>{field}'
        f'<div style="{_BUTTONS}">{row}</div></form></div>'
    )
    body = showing.page.find(showing.site.role("page.body")[0].css)[0]
    last = next((node for node in reversed([*body.iter()]) if node.is_element_node), None)
    showing.insert(*((last, "before") if last else (body, "append")), markup)
    return Change(1, "", text)
