"""Read stimuli: questions made of fields, in YAML; a prompt is a template with some of the fields."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from experiments.designs.inputs.experiment_file import StrictModel
from interventions.yaml.yaml_source import Source, did_you_mean, load_yaml, problem_at, validate

SHIPPED: Final = Path(__file__).parent / "stimuli"
ANCHOR: Final = "anchor"

_PLACE: Final = re.compile(r"\{([^{}]*)\}")
_FIELD: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

StimulusName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=60)]


class Anchors(StrictModel):
    """The two numbers or texts of a stimulus, as they are written in its prompts."""

    low: int | float | str
    high: int | float | str

    @model_validator(mode="after")
    def _differ(self) -> "Anchors":
        if isinstance(self.low, str) or isinstance(self.high, str):
            if type(self.low) is not type(self.high) or self.low == self.high:
                raise problem_at("high", message="not another text than low; write two texts, or two numbers")
        elif not self.low < self.high:
            raise problem_at("high", message=f"{self.high} is not above low ({self.low}); raise it")
        return self

    @property
    def numbers(self) -> tuple[float, float]:
        """The two numbers; 0 and 1 for texts."""
        return (0.0, 1.0) if isinstance(self.low, str) else (float(self.low), float(self.high))


class Stimuli(StrictModel):
    """A family of stimuli that share a template."""

    template: str
    """The prompt: `{field}` stands for a field's text, `{anchor}` for the number."""
    varied: Annotated[str, Field(pattern=_FIELD.pattern)] = ANCHOR
    """The field that differs between low and high; any other than `anchor` may be a text."""
    stimuli: Annotated[dict[StimulusName, dict[str, Anchors | str]], Field(min_length=1)]
    """By name: the text of each field, and of the one that varies `low` and `high`."""

    @property
    def content(self) -> dict[str, Any]:
        """All that the stimuli are made of."""
        return self.model_dump(mode="json", exclude={"varied"} if self.varied == ANCHOR else None)

    @property
    def places(self) -> tuple[str, ...]:
        """The fields of the template in order; the one that varies, in one place or several, is the last."""
        names = dict.fromkeys(_PLACE.findall(self.template))
        return (*(name for name in names if name != self.varied), self.varied)

    @model_validator(mode="after")
    def _fits_the_template(self) -> "Stimuli":
        self._check_template()
        for name, texts in self.stimuli.items():
            for field, text in texts.items():
                if field not in self.places:
                    hint = did_you_mean(field, self.places, noun="its fields")
                    message = f'the template has no place for "{field}"; {hint}'
                    raise problem_at("stimuli", name, field, message=message)
                if isinstance(text, Anchors) != (field == self.varied):
                    message = f"write {self._pair}" if field == self.varied else "write one text"
                    raise problem_at("stimuli", name, field, message=f"not what {field} can be; {message}")
                if field == ANCHOR and isinstance(text, Anchors) and isinstance(text.low, str):
                    message = "an anchor is a number; write numbers, or name the field otherwise (varied)"
                    raise problem_at("stimuli", name, field, message=message)
            if self.varied not in texts:
                message = f"the {self.varied} is missing; add {self.varied}: {self._pair}"
                raise problem_at("stimuli", name, message=message)
        return self

    @property
    def _pair(self) -> str:
        kind = "NUMBER" if self.varied == ANCHOR else "TEXT"
        return f"{{low: {kind}, high: {kind}}}"

    def _check_template(self) -> None:
        names = _PLACE.findall(self.template)
        if problem := next((name for name in names if not _FIELD.fullmatch(name)), None):
            message = f'"{{{problem}}}" is no place for a field; write lower-case letters, such as {{scene}}'
            raise problem_at("template", message=message)
        if re.search(r"[{}]", _PLACE.sub("", self.template)):
            raise problem_at("template", message="a brace stands alone; write places as {field}")
        if self.varied not in names:
            what = "number" if self.varied == ANCHOR else self.varied
            message = f"it has no place for the {what}; add {{{self.varied}}}"
            raise problem_at("template", message=message)

    def fields(self, name: str) -> tuple[str, ...]:
        """Return the fields of a stimulus: those of the template that it gives a text, and the anchor."""
        return tuple(field for field in self.places if self.stimuli[name].get(field))

    def anchors(self, name: str) -> Anchors:
        """Return the numbers or texts of a stimulus, by condition."""
        given = self.stimuli[name][self.varied]
        assert isinstance(given, Anchors)  # noqa: S101 - `_fits_the_template` has looked
        return given

    def render(self, name: str, anchor: float | str, present: Collection[str]) -> str:
        """Return the prompt of a stimulus.

        An absent field is an empty text, and the text between the places stays; then white space is removed
        at both ends (Valencia-Clavijo, 2025).
        """
        texts = {**self.stimuli[name], self.varied: str(anchor)}
        return _PLACE.sub(
            lambda place: str(texts.get(place[1], "")) if place[1] in present else "", self.template
        ).strip()


def load_stimuli(name_or_path: str, experiment: Source) -> Stimuli:
    """Load shipped stimuli by name, or those of a YAML file. Raises UserError with every mistake."""
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}
    if name_or_path in shipped:
        source = load_yaml(shipped[name_or_path])
    elif name_or_path.endswith((".yaml", ".yml")):
        source = load_yaml(experiment.file_at(("stimuli",), name_or_path))
    else:
        hint = did_you_mean(name_or_path, shipped, noun="shipped")
        message = f'unknown stimuli "{name_or_path}"; {hint} (a file\'s name ends in .yaml)'
        raise experiment.error(("stimuli",), message)
    return validate(source, Stimuli)
