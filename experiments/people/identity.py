"""Know a person again without knowing who it is: keyed hashes, sealed ids, signed links, no dates."""

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken
from itsdangerous import BadSignature, Signer

from interventions.errors import UserError

LABEL: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""A label of a link, or an id of a platform."""
LINK: Final = "souk study link"
_WEEK: Final = timedelta(weeks=1).total_seconds()
_MONDAY: Final = datetime(1970, 1, 5, tzinfo=UTC).timestamp()


class StudyKey:
    """The key of a study, in a file outside the database: without it nobody is found again."""

    def __init__(self, path: Path) -> None:
        """Read the key. Raises UserError: there is none, or it is no key."""
        try:
            self._key = path.read_bytes().strip()
            self._sealer = Fernet(self._key)
        except FileNotFoundError:
            raise UserError(
                f"{path}: the study's key is gone; nobody can be found, paid or deleted"
            ) from None
        except (OSError, ValueError):
            raise UserError(
                f"{path}: no key of a study; put back the file that souk study prepare made"
            ) from None
        self._signer = Signer(self._key, salt=LINK, digest_method=hashlib.sha256)

    @classmethod
    def make(cls, path: Path) -> "StudyKey":
        """Make the key, for its owner's eyes only; one that is there stays."""
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(Fernet.generate_key())
        except FileExistsError:
            pass
        return cls(path)

    def hash(self, text: str) -> str:
        """Return the keyed hash of an id or cookie: the same for the same, and no way back."""
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    def seal(self, ids: Mapping[str, str]) -> str:
        """Encrypt a platform's ids."""
        return self._sealer.encrypt(json.dumps(dict(ids)).encode()).decode()

    def unseal(self, sealed: str | None) -> dict[str, str]:
        """Return a platform's ids. Raises UserError: they were sealed with another key."""
        try:
            return dict(json.loads(self._sealer.decrypt(sealed.encode()))) if sealed else {}
        except InvalidToken:
            raise UserError("the study's key is not that of its people; put back the right file") from None

    def sign(self, label: str) -> str:
        """Return the signature of a label."""
        return self._signer.get_signature(label).decode()

    def knows(self, label: str, signature: str) -> bool:
        """Return whether a signature is that of a label."""
        try:
            return self._signer.unsign(f"{label}.{signature}").decode() == label
        except BadSignature:
            return False


def in_its_week(at: float, began: float) -> datetime:
    """Return a time as all tables of trials, and all that leaves the house, have it.

    It says the week of a person's beginning, and how long after that it was: as if the person had begun on
    that week's Monday, at midnight (UTC).
    """
    monday = began - (began - _MONDAY) % _WEEK
    return datetime.fromtimestamp(monday + at - began, UTC)
