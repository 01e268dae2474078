"""Read YAML with the place of every value: each mistake is one `file:line:column: key: cause; fix`.

Scalars follow the YAML 1.2 core schema (`on`, `no` and `2025-01-01` are text; keys are always text).
Tags, anchors and aliases are refused: no file of ours needs them, and they are how YAML becomes unsafe.

Reading goes on after a mistake, so that `validate` can name all of them at once.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from interventions.errors import UserError
from interventions.yaml.yaml_problems import did_you_mean as did_you_mean  # noqa: PLC0414 - callers explain too
from interventions.yaml.yaml_problems import explain, unknown_key

KeyPath = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)

_MAX_DEPTH = 50
_MAX_BYTES = 10_000_000
_MAX_VALUES = 50_000
_MOST_PROBLEMS = 100
"""How many mistakes of a file are told."""
_MAX_KEY = 80
_LONGEST_MESSAGE = 2_000
_PLAIN: tuple[tuple[str, Callable[[str], object]], ...] = (
    (r"~|null|Null|NULL|", lambda text: None),
    (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    (r"[-+]?[0-9]+", int),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", lambda text: float(text.replace(".", ""))),
)


@dataclass(frozen=True)
class Problem:
    """One mistake in a file: its place (from 1; None: the file as a whole), its key, and `cause; fix`."""

    file: str
    line: int | None
    column: int | None
    key: str
    message: str

    def __str__(self) -> str:
        place = [self.file, self.line, self.column] if self.line else [self.file]
        message = self.message
        if len(message) > _LONGEST_MESSAGE:  # it quotes the file
            message = f"{message[: _LONGEST_MESSAGE // 2]} … {message[-_LONGEST_MESSAGE // 2 :]}"
        return ": ".join([":".join(map(str, place)), *([self.key] if self.key else []), message])

    def to_dict(self) -> dict[str, str | int | None]:
        """Return the problem as plain JSON data, with `message` and `fix` apart."""
        cause, _, fix = self.message.rpartition("; ")
        place = {"file": self.file, "line": self.line, "column": self.column, "key": self.key}
        return {**place, "message": cause, "fix": fix}


class YamlError(UserError):
    """Mistakes in a YAML file: `problems` holds all of them, the message is the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(str(self.problems[0]))

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(map(str, self.problems))


@dataclass(frozen=True)
class Source:
    """A parsed file: plain dicts, lists and scalars, and the (line, column), from 1, of each key or item."""

    name: str
    data: dict[str, Any]
    marks: Mapping[KeyPath, tuple[int, int]]
    problems: tuple[Problem, ...] = ()
    """The mistakes after which reading went on; `validate` raises them with its own."""
    doubtful: frozenset[KeyPath] = frozenset()
    """The keys whose value may not be the one that was meant."""
    given: Mapping[KeyPath, str] = field(default_factory=dict)
    """The options of the command by the keys that they set."""

    def place(self, path: KeyPath) -> tuple[int, int]:
        """Return the line and column of the key or item at `path`, or of the nearest one around it."""
        while path not in self.marks:
            path = path[:-1]
        return self.marks[path]

    def problem(self, path: KeyPath, message: str) -> Problem:
        """Return the mistake at `path`; `message` is `cause; fix`."""
        for given, option in self.given.items():
            if path[: len(given)] == given or (
                path and path not in self.marks and given[: len(path)] == path
            ):
                return Problem(option, None, None, dotted(path), message)
        return Problem(self.name, *self.place(path), dotted(path), message)

    def error(self, path: KeyPath, message: str) -> YamlError:
        """Return the error to raise for a mistake at `path`."""
        return YamlError([self.problem(path, message)])

    def is_given(self, path: KeyPath) -> bool:
        """Return whether an option of the command has set the value at `path`, or a part of it."""
        return any(each[: len(path)] == path for each in self.given)

    @contextmanager
    def placing(self, path: KeyPath) -> Iterator[None]:
        """Raise a mistake that the block finds in the value at `path` as one with file, line and key.

        A YamlError has those already, of the file that the value names.
        """
        try:
            yield
        except YamlError:
            raise
        except UserError as error:
            raise self.error(path, str(error)) from None

    def file_at(self, path: KeyPath, written: str) -> Path:
        """Return the file or folder that the value at `path` names.

        It is looked for beside this file, then in the working directory. Raises YamlError when it is in
        neither.
        """
        beside = Path(self.name).parent / written
        for found in (beside, Path(written)):
            if is_there(found):
                return found
        folders = dict.fromkeys(str(place.absolute()) for place in (beside.parent, Path(written).parent))
        raise self.error(path, f"{_cut(written)}: no such file in {' or in '.join(folders)}; check the path")

    def shipped_or_file(self, path: KeyPath, written: str) -> str:
        """Return the value at `path` where it is a shipped name, else the path of the file that it names.

        Raises YamlError as `file_at` does.
        """
        is_path = Path(written).suffix or "/" in written or is_there(Path(self.name).parent / written)
        return str(self.file_at(path, written)) if is_path else written

    def is_consequence(self, path: KeyPath) -> bool:
        """Return whether a mistake at `path` may follow from another mistake that was found in reading."""
        written = path in self.marks
        return (
            path in self.doubtful
            or (not written and path[:-1] in self.doubtful)
            or path in self._around_doubtful
        )

    @cached_property
    def _around_doubtful(self) -> frozenset[KeyPath]:
        return frozenset(path[:-1] for path in self.doubtful if path)


def dotted(path: KeyPath) -> str:
    """Write a key path such as `("edits", 0, "after")` as `edits[0].after`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{_cut(part)}" for part in path).lstrip(".")


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_KEY else f"{text[: _MAX_KEY - 1]}…"


def is_there(path: Path) -> bool:
    """Return whether there is a file or folder; what never ends, such as /dev/zero, is neither."""
    try:
        return path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return False


def problem_at(*path: str | int, message: str) -> PydanticCustomError:
    """Return the error for a mistake at `path`, for a validator of a whole model."""
    return PydanticCustomError("souk", "{message}", {"message": message, "path": path})


def load_yaml(path: str | Path) -> Source:
    """Read a YAML file whose root is a mapping. Raises YamlError when nothing can be read."""
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise _unreadable(name, f"the file is larger than {_MAX_BYTES:,} bytes; make it smaller")
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise _unreadable(name, "no such file; check the path") from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8-sig")
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise _unreadable(name, "the text is not UTF-8; save the file as UTF-8", *place) from None
    except ValueError:  # the name has a null character
        raise _unreadable(repr(name), "no such file; check the path") from None
    except OSError as error:
        cause = (error.strerror or "cannot be read").lower()
        raise _unreadable(name, f"{cause}; check the path") from None
    return parse_yaml(text, name)


def parse_yaml(text: str, name: str) -> Source:
    """Read YAML from a string, as `load_yaml` does from a file; `name` stands for the file in messages."""
    return _Builder(text, name).build()


def load_model(path: str | Path, model: type[Model]) -> Model:
    """Read a YAML file into a pydantic model. Raises YamlError with every mistake."""
    return validate(load_yaml(path), model)


def validate(source: Source, model: type[Model], context: object = None) -> Model:
    """Return the model made from `source`; `context` is handed to its validators. Raises YamlError."""
    problems = list(source.problems)
    try:
        result = model.model_validate(source.data, context=context)
    except ValidationError as failure:
        problems += _problems(failure.errors(include_url=False), source, model)
    if problems:
        raise YamlError(in_order(problems))
    return result


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return each problem once, in the order of the file; of very many the first ones."""
    found = sorted(dict.fromkeys(problems), key=lambda problem: (problem.line or 0, problem.column or 0))
    if (more := len(found) - _MOST_PROBLEMS) > 0:
        rest = replace(found[_MOST_PROBLEMS], key="", message=f"and {more:,} more mistakes; mend these first")
        return [*found[:_MOST_PROBLEMS], rest]
    return found


def _unreadable(name: str, message: str, line: int | None = None, column: int | None = None) -> YamlError:
    return YamlError([Problem(name, line, column, "", message)])


class _Builder:
    """Turns parser events into plain data and notes their places.

    Not PyYAML's node tree: its C composer recurses without a limit, and a deep file kills the process.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.events = self.parse()
        self.marks: dict[KeyPath, tuple[int, int]] = {}
        self.problems: list[Problem] = []
        self.doubtful: set[KeyPath] = set()
        self.too_deep = False
        self.values = 0

    def build(self) -> Source:
        next(self.events)  # the stream starts
        first = next(self.events)  # a document starts, or the stream ends
        root = next(self.events)
        if not isinstance(root, yaml.MappingStartEvent):
            if not self.problems:
                self.note(*self.not_a_mapping(first, root))
            raise YamlError(self.problems)
        data = self.value(root, (), root)
        next(self.events)  # the document ends
        if not isinstance(following := next(self.events), yaml.StreamEndEvent):
            self.note(following, (), 'a second document starts here; remove "---" and what follows')
        return Source(self.name, data, self.marks, tuple(self.problems), frozenset(self.doubtful))

    def not_a_mapping(self, first: yaml.Event, root: yaml.Event) -> tuple[yaml.Event, KeyPath, str]:
        if isinstance(root, yaml.StreamEndEvent) or (isinstance(root, yaml.ScalarEvent) and not root.value):
            return first, (), "the file is empty; write at least one key"
        kind = "a list" if isinstance(root, yaml.SequenceStartEvent) else "a single value"
        return root, (), f'the file holds {kind}; start it with "key:" lines'

    def parse(self) -> Iterator[yaml.Event]:
        """The parser's events, and after the last one, or a mistake that ends the reading, ends for ever."""
        try:
            for event in yaml.parse(self.text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
                if self.too_deep:
                    break
                yield event
        except yaml.MarkedYAMLError as error:
            self.note_syntax(error)
        except yaml.reader.ReaderError:
            found = yaml.reader.Reader.NON_PRINTABLE.search(self.text)
            before = self.text[: found.start() if found else 0]
            place = before.count("\n") + 1, len(before) - before.rfind("\n")
            message = "invalid YAML: a control character is not allowed; remove it"
            self.problems.append(Problem(self.name, *place, "", message))
        while True:
            yield yaml.StreamEndEvent()

    def value(self, event: yaml.Event, path: KeyPath, place: yaml.Event) -> Any:
        """The value that `event` starts; `place` is its key where it has one."""
        self.marks[path] = _place(place)
        if isinstance(event, yaml.AliasEvent):
            self.doubtful.add(path)
            self.note(event, path, "aliases (*name) are not supported; write the value out")
            return None
        if getattr(event, "tag", None):
            self.note(event, path, "tags (!name) are not supported; remove the tag")
        if len(path) > _MAX_DEPTH and not self.too_deep:
            self.too_deep = True
            self.note(event, (), f"nested more than {_MAX_DEPTH} levels deep; make it flatter")
        self.values += 1
        if self.values > _MAX_VALUES:
            message = f"the file has more than {_MAX_VALUES:,} values; make it smaller"
            raise _unreadable(self.name, message, *_place(event))
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            for item in self.until(yaml.SequenceEndEvent, path):
                items.append(self.value(item, (*path, len(items)), item))
            return items
        mapping: dict[str, Any] = {}
        for key in self.until(yaml.MappingEndEvent, path):
            if not isinstance(key, yaml.ScalarEvent):
                self.note(key, path, "a key must be plain text; put the key in quotes")
                self.value(key, (*path, ""), key)
                self.value(next(self.events), (*path, ""), key)
                continue
            inner = (*path, key.value)
            if key.value in mapping:
                first = self.marks[inner][0]
                self.note(key, inner, f"duplicate key (first on line {first}); remove one of the two")
            value = next(self.events)
            if isinstance(value, yaml.StreamEndEvent):  # a mistake in the value has ended the reading
                self.marks[inner], mapping[key.value] = _place(key), None
                self.doubtful.add(path)
                break
            mapping[key.value] = self.value(value, inner, key)
        if path in self.doubtful and mapping and mapping[last := next(reversed(mapping))] is None:
            self.doubtful.add((*path, last))
        return mapping

    def until(self, end: type[yaml.Event], path: KeyPath) -> Iterator[yaml.Event]:
        """The events that start the parts of a list or mapping."""
        while not isinstance(event := next(self.events), end):
            if isinstance(event, yaml.StreamEndEvent):
                self.doubtful.add(path)
                return
            yield event

    def scalar(self, event: yaml.ScalarEvent, path: KeyPath) -> object:
        if event.implicit[0]:  # written without quotes
            for pattern, convert in _PLAIN:
                if re.fullmatch(pattern, event.value):
                    try:
                        return convert(event.value)
                    except ValueError:  # Python limits the digits of an integer
                        self.doubtful.add(path)
                        self.note(event, path, "the number is too long; put it in quotes")
        return event.value

    def note(self, event: yaml.Event, path: KeyPath, message: str) -> None:
        self.problems.append(Problem(self.name, *_place(event), dotted(path), message))

    def note_syntax(self, error: yaml.MarkedYAMLError) -> None:
        lines = self.text.rstrip().split("\n")
        mark = error.problem_mark or error.context_mark
        assert mark is not None  # noqa: S101 - the parser's own errors have a place
        if error.context_mark and mark.line >= len(lines):  # what is never closed is mended where it starts
            mark = error.context_mark
        cause = " ".join(filter(None, (error.context, error.problem)))
        written = lines[mark.line] if mark.line < len(lines) else ""
        message = f"invalid YAML: {cause}; check quotes, colons and indentation"
        if "${" in written:
            message = f"invalid YAML: {cause}; put texts that hold ${{variables}} in quotes"
        elif written[mark.column : mark.column + 1] == "\t":
            message = "invalid YAML: a tab character stands in the indentation; indent with spaces"
        self.problems.append(Problem(self.name, mark.line + 1, mark.column + 1, "", message))


def _place(event: yaml.Event) -> tuple[int, int]:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _locate(error: ErrorDetails, source: Source) -> KeyPath:
    """The key path of a pydantic error: its location without the parts that only name a union's member."""
    path: KeyPath = ()
    for part in (*error["loc"], *error.get("ctx", {}).get("path", ())):
        if (*path, part) in source.marks or source.is_given((*path, part)):
            path = (*path, part)
    return (*path, error["loc"][-1]) if error["type"] == "missing" else path


def _problems(errors: list[ErrorDetails], source: Source, model: type[BaseModel]) -> Iterator[Problem]:
    placed = ((_locate(error, source), error) for error in errors)
    located = sorted(placed, key=lambda each: source.place(each[0]))
    around = {path[:length] for path, _ in located for length in range(len(path))}
    missing: dict[KeyPath, set[str]] = {}
    for path, error in located:
        if error["type"] == "missing":
            missing.setdefault(path[:-1], set()).add(str(path[-1]))
    misspelt = set()
    for path, error in located[:_MOST_PROBLEMS]:
        if error["type"] == "extra_forbidden":
            close = difflib.get_close_matches(str(path[-1]), missing.get(path[:-1], ()), n=1)
            misspelt |= {(*path[:-1], name) for name in close}
    for told, (path, error) in enumerate(located):
        # What is wrong inside a value tells more than what it makes of the whole,
        # and a key that is unknown because it is misspelt more than its absence.
        if path in around or path in misspelt or source.is_consequence(path):
            continue
        if told > 2 * _MOST_PROBLEMS:  # it is only counted
            yield source.problem(path, "")
        elif error["type"] == "extra_forbidden":
            yield source.problem(path, unknown_key(error["loc"], model))
        else:
            yield source.problem(path, explain(error))
