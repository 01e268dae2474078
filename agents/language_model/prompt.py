"""The wording of the language-model shoppers' prompt: two templates, which a researcher can replace.

`system.j2` makes the system message and `step.j2` the user's message of each step. Both are Jinja templates,
rendered in a sandbox, and both are given all of `Content`.
"""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from jinja2 import FunctionLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agents.language_model.answer import KEYS, TAGS
from environments.protocol.actions import ACTIONS
from environments.protocol.observation import ShopTool, Tab
from interventions.errors import UserError

DEFAULT: Final = "default"
"""The name of the templates that come with Souk."""
PICTURES: Final = "pictures"
"""The name of those that take the place of the default ones where a page is not shown as HTML alone."""
DATA: Final = "data"
"""The name of those that take the place of the default ones where no page is shown."""

LONGEST_TEMPLATE: Final = 100_000
"""The longest template, in characters."""
LONGEST_MESSAGE: Final = 20_000_000
"""The longest message that a template makes, in characters."""

SHIPPED: Final = Path(__file__).parent / "templates"
FILES: Final = ("system.j2", "step.j2")


@dataclass(frozen=True, slots=True)
class PastStep:
    """A model's earlier step; `number` is from 1, `error` is why its action failed, or empty."""

    number: int
    thought: str
    memory: str
    action: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """The values that the templates are given; `docs/prompts.md` explains each to their authors."""

    goal: str
    tabs: Sequence[Tab]
    html: str
    history: Sequence[PastStep] = ()
    left_out: str = ""
    """A note on the earlier steps that `history` lacks; empty when it lacks none."""
    step: int = 1
    page: Literal["viewport", "whole"] = "viewport"
    tree: str = ""
    screenshot: bool = False
    marks: bool = True
    """Whether elements can be named by their bids."""
    pointer: bool = False
    """Whether points of the picture can be acted on."""
    zoomed: bool = False
    """Whether the picture is a part of the viewport, enlarged."""
    actions: Sequence[str] = tuple(kind.describe(name) for name, kind in ACTIONS.items())
    data: str = ""
    """What the shop has answered last, where no page is shown."""
    tools: Sequence[ShopTool] = ()
    """The tools that the shop offers, where it is met by its tools."""
    native: bool = False
    """Whether the model calls tools in its provider's own way, and writes no actions."""


class Prompt(NamedTuple):
    """The system message and the user's message of a step."""

    system: str
    user: str


@dataclass(frozen=True, slots=True)
class PromptTemplates:
    """The sources of both templates; `name` is their name in an experiment."""

    name: str
    system: str
    step: str

    @property
    def sources(self) -> dict[str, str]:
        """The source of each template: file name -> text."""
        return dict(zip(FILES, (self.system, self.step), strict=True))

    @property
    def digest(self) -> str:
        """The SHA-256 of the templates, for the records: runs with equal digests had equal wording."""
        return hashlib.sha256("\0".join((self.system, self.step)).encode()).hexdigest()

    @property
    def structured(self) -> bool:
        """Whether the prompt asks for a JSON object and not for tags."""
        return all(f'"{key}"' in self.system + self.step for key in KEYS)

    def render(self, content: Content) -> Prompt:
        """Return the two messages of a step.

        Raises:
            UserError: a template cannot be rendered; the file and line where.
        """
        values = {field.name: getattr(content, field.name) for field in fields(content)}
        return Prompt(*(self._render(file, values) for file in FILES))

    def _render(self, file: str, values: dict[str, object]) -> str:
        try:
            text = ""
            for part in _environment(self).get_template(file).generate(values):
                text += part
                if len(text) > LONGEST_MESSAGE:
                    raise SecurityError(
                        f"it makes a text longer than {LONGEST_MESSAGE:,} characters; make it shorter"
                    )
        except Exception as error:  # whatever a template's own code raises, its author has to mend it
            raise UserError(self._mistake(file, error)) from None
        return text.encode(errors="replace").decode()  # pages can hold lone surrogates, which cannot be sent

    def _mistake(self, file: str, error: Exception) -> str:
        line = 0
        if isinstance(error, TemplateSyntaxError):
            file, line = error.name or file, error.lineno
        trace = error.__traceback__
        while trace is not None:  # of the template's own lines, the innermost
            if trace.tb_frame.f_code.co_filename in FILES:
                file, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
            trace = trace.tb_next
        place = f"{self.name}/{file}:{line}" if line else f"{self.name}/{file}"
        cause, fix = " ".join(str(error).split()).rstrip(".") or type(error).__name__, "mend the template"
        if isinstance(error, SecurityError) and "; " in cause:
            cause, _, fix = cause.rpartition("; ")
        if isinstance(error, UndefinedError):
            fix = f"there are {', '.join(field.name for field in fields(Content))}"
        elif isinstance(error, TemplateNotFound):
            cause, fix = f"{cause} is no part of a prompt", f"write its text in {' or '.join(FILES)}"
        return f"{place}: {cause}; {fix}"


def load_prompt(name_or_folder: str, base: Path | None = None) -> PromptTemplates:
    """Load the templates of a prompt: `default`, or those in a folder, relative to `base`.

    Raises:
        UserError: a file is missing or no template, or they leave out what a model cannot do without: the
            goal, the page, the actions, the answer format.
    """
    folder = SHIPPED if name_or_folder == DEFAULT else (base or Path()) / name_or_folder
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder of prompts; make one: souk prompts {folder} --new")
    templates = PromptTemplates(str(folder), *(_read(folder / file) for file in FILES))
    _check(templates)
    return replace(templates, name=name_or_folder)


@functools.cache
def picture_prompt() -> PromptTemplates:
    """Return the templates that come with Souk for pages that are not shown as HTML alone."""
    return replace(load_prompt(str(SHIPPED / PICTURES)), name=PICTURES)


@functools.cache
def data_prompt() -> PromptTemplates:
    """Return the templates that come with Souk for shops that are met without pages."""
    return PromptTemplates(DATA, *(_read(SHIPPED / DATA / file) for file in FILES))


@functools.cache
def default_prompt() -> PromptTemplates:
    """Return the templates that come with Souk."""
    return load_prompt(DEFAULT)


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(
            f"{path}: no such file; copy it from a folder that souk prompts --new makes"
        ) from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    if len(text) > LONGEST_TEMPLATE:
        raise UserError(f"{path}: longer than {LONGEST_TEMPLATE:,} characters; shorten it")
    return text


@functools.lru_cache(maxsize=8)
def _environment(templates: PromptTemplates) -> ImmutableSandboxedEnvironment:
    sources = templates.sources
    return ImmutableSandboxedEnvironment(
        loader=FunctionLoader(lambda file: (sources[file], file, None) if file in sources else None),
        autoescape=False,  # a prompt is plain text, and the model has to see the page's HTML as it is
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


_FIRST: Final = Content(
    goal="730001", tabs=(Tab("730002", "730003", True),), html="730004", actions=("730005", "730006")
)
"""Markers in digits, which no filter for letters changes."""
_LATER: Final = replace(
    _FIRST,
    tree="730007",
    screenshot=True,
    page="whole",
    history=(PastStep(2, "730008", "730009", "730010"), PastStep(3, "730008", "730009", "730010", "730011")),
    left_out="730012",
    step=4,
)


def _check(templates: PromptTemplates) -> None:
    first, later = ("\n".join(templates.render(content)) for content in (_FIRST, _LATER))
    remembers = "730008" in later or "730009" in later
    needed = {
        "the goal; write {{ goal }}": "730001" in first and "730001" in later,
        "the page; write {{ html }}": "730004" in first,
        "the accessibility tree, where one is asked for; write {{ tree }}": "730007" in later,
        "the actions; write each of {{ actions }}": "730005" in first and "730006" in first,
        "how many steps are left out; write {{ left_out }}": not remembers or "730012" in later,
        "the answer format; write <think>, <memory> and <action>, "
        'or "thought", "memory" and "action" in a JSON object': all(f"<{tag}>" in first for tag in TAGS)
        or all(f'"{key}"' in first for key in KEYS),
    }
    for what, is_shown in needed.items():
        if not is_shown:
            raise UserError(f"{templates.name}: the prompt does not show {what}")
