"""Estimate how many tokens a text is, without any model's vocabulary."""

import re
from typing import Final

# As tokenizers split: a space belongs to the word that follows it; the rest of white space comes in runs.
_PIECE: Final = re.compile(r"[A-Za-z]{1,5}|[ \t\r\n]{2,8}|[^A-Za-z ]| (?![A-Za-z])")


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: at least those that a byte-level BPE makes of text or HTML.

    The result is at least an eighth of the text's UTF-8 bytes. A word is a token for each five letters or
    part of them, white space one for each run of up to eight. A digit or a sign is one, as in the
    vocabularies with the shortest tokens; beyond ASCII each byte is.
    """
    return len(_PIECE.findall(text)) + len(text.encode(errors="replace")) - len(text)
