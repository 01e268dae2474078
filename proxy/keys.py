"""Keys by which the proxy knows that a message comes from its own script in a page, and of which session.

A key stands in the script's closure; the script leaves the document before the page's own scripts run.
"""

import hmac
import secrets
from typing import Final

PLACE: Final = "KEY OF THE SESSION"
"""What stands for the key in a script, so that its hash is the same in all sessions."""
_NONCE: Final = 16
LENGTH: Final = 2 * _NONCE
_SECRET: Final = secrets.token_bytes(32)


def new_key() -> str:
    """Return a key that nobody can guess."""
    nonce = secrets.token_hex(_NONCE // 2)
    return nonce + _proof(nonce)


def _is_key(text: str) -> bool:
    """Return whether a text is a key of this process, of whatever session."""
    return hmac.compare_digest(_proof(text[:_NONCE]).encode(), text[_NONCE:].encode())


def split(message: bytes) -> tuple[str, bytes]:
    """Return the key at the start of a message, and the rest; without a key the text is empty."""
    key = message[:LENGTH].decode("latin-1")
    return (key, message[LENGTH:]) if _is_key(key) else ("", message)


def _proof(nonce: str) -> str:
    return hmac.digest(_SECRET, nonce.encode(), "sha256").hex()[:_NONCE]
