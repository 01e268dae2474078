"""YAML that remembers where every value was written: each mistake is one line, `file:line: key: cause; fix`.

Scalars follow the YAML 1.2 core schema (`on`, `no` and `2025-01-01` are text; keys are always text).
Tags, anchors and aliases are refused: no file of ours needs them, and they are how YAML becomes unsafe.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from interventions.errors import UserError

KeyPath = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

_MAX_DEPTH = 50
_PLAIN: tuple[tuple[str, Callable[[str], object]], ...] = (
    (r"~|null|Null|NULL|", lambda text: None),
    (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    (r"[-+]?[0-9]+", int),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", lambda text: float(text.replace(".", ""))),
)


class YamlError(UserError):
    """A mistake in a YAML file; `problems` holds a line for every mistake found, the message is the first."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems[0])


@dataclass(frozen=True)
class Source:
    """A parsed file: plain dicts, lists and scalars, and the (line, column), from 1, of each key or item."""

    name: str
    data: dict[str, Any]
    marks: Mapping[KeyPath, tuple[int, int]]

    def line(self, path: KeyPath) -> int:
        """The line of the key or item at `path`, or of the nearest one around it."""
        while path not in self.marks:
            path = path[:-1]
        return self.marks[path][0]

    def problem(self, path: KeyPath, message: str) -> str:
        """`file:line: dotted.key: message`."""
        key = dotted(path)
        return (
            f"{self.name}:{self.line(path)}: {key}: {message}"
            if key
            else f"{self.name}:{self.line(path)}: {message}"
        )

    def error(self, path: KeyPath, message: str) -> YamlError:
        """The error to raise for a mistake at `path`."""
        return YamlError([self.problem(path, message)])


def dotted(path: KeyPath) -> str:
    """`("edits", 0, "after")` as `edits[0].after`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def did_you_mean(word: str, known: Iterable[str], *, noun: str = "known") -> str:
    """`did you mean "price"?`, or all the known words when none is close."""
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return f"{noun}: {', '.join(names)}" if names else "remove it"


def problem_at(*path: str | int, message: str) -> PydanticCustomError:
    """For a validator of a whole model: a mistake in the value at `path` below that model."""
    return PydanticCustomError("souk", "{message}", {"message": message, "path": path})


def load_yaml(path: str | Path) -> Source:
    """Read a YAML file whose root is a mapping. Raises YamlError."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise YamlError([f"{path}: no such file; check the path"]) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise YamlError([f"{path}:{line}: the text is not UTF-8; save the file as UTF-8"]) from None
    except OSError as error:
        raise YamlError([f"{path}: {(error.strerror or 'cannot be read').lower()}; check the path"]) from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Source:
    """Like `load_yaml`, from a string; `name` stands for the file in messages."""
    try:
        return _Builder(text, name).build()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        cause = " ".join(filter(None, (error.context, error.problem)))
        line = mark.line + 1 if mark else 1
        raise YamlError(
            [f"{name}:{line}: invalid YAML: {cause}; check quotes, colons and indentation"]
        ) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(
            [f"{name}:{line}: invalid YAML: a control character is not allowed; remove it"]
        ) from None


def load_model(path: str | Path, model: type[Model]) -> Model:
    """Read a YAML file into a pydantic model. Raises YamlError: its message is the first mistake."""
    return validate(load_yaml(path), model)


def validate(source: Source, model: type[Model], context: object = None) -> Model:
    """The model made from `source`; `context` is handed to its validators. Raises YamlError."""
    try:
        return model.model_validate(source.data, context=context)
    except ValidationError as failure:
        errors = [(_locate(error, source), error) for error in failure.errors(include_url=False)]
        found = []
        for path, error in errors:
            # What is wrong inside a value tells more than what it makes of the whole.
            if any(other[: len(path)] == path and len(other) > len(path) for other, _ in errors):
                continue
            unknown = error["type"] == "extra_forbidden"
            message = _unknown_key(error["loc"], model) if unknown else _explain(error)
            # A misspelt key is reported as unknown and often as missing too: the former tells more.
            found.append((not unknown, source.line(path), source.problem(path, message)))
        in_order = sorted(found, key=lambda item: item[:2])
        raise YamlError(dict.fromkeys(text for *_, text in in_order)) from None


class _Builder:
    """Turns parser events into plain data and notes their places.

    Not PyYAML's node tree: its C composer recurses without a limit, and a deep file kills the process.
    """

    def __init__(self, text: str, name: str) -> None:
        self.events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self.name = name
        self.marks: dict[KeyPath, tuple[int, int]] = {}

    def build(self) -> Source:
        next(self.events)  # the stream starts
        first = next(self.events)  # a document starts, or the stream ends
        root = next(self.events, None)
        if root is None or (isinstance(root, yaml.ScalarEvent) and not root.value):
            raise self.refuse(first, (), "the file is empty; write at least one key")
        if not isinstance(root, yaml.MappingStartEvent):
            kind = "a list" if isinstance(root, yaml.SequenceStartEvent) else "a single value"
            raise self.refuse(root, (), f'the file holds {kind}; start it with "key:" lines')
        data = self.value(root, (), root)
        next(self.events)  # the document ends
        if not isinstance(following := next(self.events), yaml.StreamEndEvent):
            raise self.refuse(following, (), 'a second document starts here; remove "---" and what follows')
        return Source(self.name, data, self.marks)

    def value(self, event: yaml.Event, path: KeyPath, place: yaml.Event) -> Any:
        """The value that `event` starts; `place` is its key where it has one."""
        self.marks[path] = _place(place)
        if isinstance(event, yaml.AliasEvent):
            raise self.refuse(event, path, "aliases (*name) are not supported; write the value out")
        if getattr(event, "tag", None):
            raise self.refuse(event, path, "tags (!name) are not supported; remove the tag")
        if len(path) > _MAX_DEPTH:
            raise self.refuse(event, (), f"nested more than {_MAX_DEPTH} levels deep; make it flatter")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(item := next(self.events), yaml.SequenceEndEvent):
                items.append(self.value(item, (*path, len(items)), item))
            return items
        mapping: dict[str, Any] = {}
        while not isinstance(key := next(self.events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise self.refuse(key, path, "a key must be plain text; put the key in quotes")
            inner = (*path, key.value)
            if key.value in mapping:
                first = self.marks[inner][0]
                raise self.refuse(key, inner, f"duplicate key (first on line {first}); remove one of the two")
            mapping[key.value] = self.value(next(self.events), inner, key)
        return mapping

    def scalar(self, event: yaml.ScalarEvent, path: KeyPath) -> object:
        if event.implicit[0]:  # written without quotes
            for pattern, convert in _PLAIN:
                if re.fullmatch(pattern, event.value):
                    try:
                        return convert(event.value)
                    except ValueError:  # Python limits the digits of an integer
                        raise self.refuse(event, path, "the number is too long; put it in quotes") from None
        return event.value

    def refuse(self, event: yaml.Event, path: KeyPath, message: str) -> YamlError:
        where = f"{dotted(path)}: " if path else ""
        return YamlError([f"{self.name}:{_place(event)[0]}: {where}{message}"])


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _locate(error: ErrorDetails, source: Source) -> KeyPath:
    """The key path of a pydantic error: its location without the parts that only name a union's member."""
    path: KeyPath = ()
    for part in (*error["loc"], *error.get("ctx", {}).get("path", ())):
        if (*path, part) in source.marks:
            path = (*path, part)
    return (*path, error["loc"][-1]) if error["type"] == "missing" else path


_EXPECTED = {
    "string": ("text", 'put it in quotes: "..."'),
    "int": ("a whole number", "write it without quotes or other signs"),
    "float": ("a number", "write it without quotes or other signs"),
    "bool": ("true or false", "write one of the two"),
    "list": ("a list", 'write "[a, b]" or lines that start with "- "'),
    "tuple": ("a list", 'write "[a, b]" or lines that start with "- "'),
    "dict": ("keys with values", 'write "key: value" lines'),
    "model": ("keys with values", 'write "key: value" lines'),
}


def _explain(error: ErrorDetails) -> str:
    """`cause; fix` of a pydantic error."""
    kind, value = error["type"], error["input"]
    base = kind.split("_")[0]
    if kind == "missing":
        return "missing; add this key"
    if kind in ("souk", "value_error", "assertion_error"):
        return " ".join(error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ").split())
    if kind in ("literal_error", "enum"):
        known = [word.strip("'") for word in re.split(r", | or ", error["ctx"]["expected"])]
        return f"unknown value {_show(value)}; {did_you_mean(str(value), known, noun='use one of')}"
    if kind == "too_short" and not value:
        return "the list is empty; write at least one item"
    if base in _EXPECTED and kind.endswith(("_type", "_parsing", "_from_float", "_attributes_type")):
        expected, fix = _EXPECTED[base]
        if base == "string" and isinstance(value, dict | list):
            fix = "write one text"
        if value is None:
            return f"the value is empty; write {expected} after the colon, or remove the key"
        return f"expected {expected}, found {_show(value)}; {fix}"
    return f"{error['msg'].replace('Input should', 'must')}, found {_show(value)}; change it"


def _show(value: object) -> str:
    if isinstance(value, dict):
        return "keys with values"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    text = " ".join(str(value).split())
    text = text if len(text) <= 60 else text[:59] + "…"
    return f'"{text}"' if isinstance(value, str) else text


def _unknown_key(location: KeyPath, model: type[BaseModel]) -> str:
    """The known keys come from the JSON Schema, which is the same for every way to write a model down."""
    schema = model.model_json_schema()

    def flatten(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if "$ref" in node:
            yield from flatten(schema["$defs"][node["$ref"].rsplit("/", 1)[1]])
        for part in ("anyOf", "oneOf", "allOf"):
            for member in node.get(part, ()):
                yield from flatten(member)
        yield node

    nodes = list(flatten(schema))
    for part in location[:-1]:
        below: list[dict[str, Any]] = []
        for node in nodes:
            inner = node.get("items") if isinstance(part, int) else node.get("properties", {}).get(part)
            if inner is None and isinstance(part, str):
                inner = node.get("additionalProperties")
            if isinstance(inner, dict):
                below += flatten(inner)
        nodes = below or nodes
    known = {name for node in nodes for name in node.get("properties", {})}
    return f"unknown key; {did_you_mean(str(location[-1]), known, noun='known keys')}"
