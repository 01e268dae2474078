"""What providers' ways of calling tools share: how functions are declared, and how a call is read."""

import json
from collections.abc import Iterable
from typing import Any

from agents.base import Tool, ToolCall


def functions(tools: Iterable[Tool], key: str = "parameters") -> list[dict[str, Any]]:
    """Return tools as functions; `key`: what the provider calls the JSON Schema of their arguments."""
    return [{"name": each.name, "description": each.description, key: dict(each.schema)} for each in tools]


def called(id: object, function: object, key: str = "arguments") -> ToolCall:
    """Return a call of a tool by its name and its arguments (`key`), whatever a model has put there."""
    told = function if isinstance(function, dict) else {}
    given = told.get(key)
    try:
        found = json.loads(given or "{}") if isinstance(given, str) else {} if given is None else given
    except (ValueError, RecursionError):
        found = None
    return ToolCall(str(id or ""), str(told.get("name", "")), found if isinstance(found, dict) else None)
