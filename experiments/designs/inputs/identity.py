"""Compute the ids of trials and runs: a digest of what they are made of, the same on every machine."""

import hashlib
import json
from typing import Any


def digest(value: Any) -> str:
    """Return BLAKE2b-128 of the value's canonical JSON, in hex."""
    return hashlib.blake2b(canonical_json(value).encode(), digest_size=16).hexdigest()


def canonical_json(value: Any) -> str:
    """Write JSON with sorted keys and no spaces: the same text on every machine, to be hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
