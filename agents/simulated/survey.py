"""The eight questions of the bias battery, and how a simulated agent of a known bias answers them."""

import functools
import random
import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from interventions.yaml.yaml_source import load_model

_AMOUNT: Final = re.compile(r"\$([0-9][0-9,]{0,14})")

Share = Annotated[float, Field(ge=0, le=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Normal(_Model):
    """The parameters of a normal distribution."""

    mean: FiniteFloat
    sd: float = Field(ge=0, allow_inf_nan=False)


class _Question(_Model):
    about: re.Pattern[str]
    treatment: re.Pattern[str]


class LetterQuestion(_Question):
    """A choice between A and B; `control` and `treated` are the probabilities of `letter`."""

    letter: Literal["A", "B"]
    control: Share
    treated: Share

    def draw(self, text: str, bias: float, source: random.Random) -> str:
        """Draw the answer, a letter."""
        bias = bias if self.treatment.search(text) else 0.0
        share = self.control + bias * (self.treated - self.control)
        other = "A" if self.letter == "B" else "B"
        return self.letter if source.random() < share else other


class NumberQuestion(_Question):
    """A question for a whole number from 0 to `high`.

    `of_price`: the number is in units of the first dollar amount in the question.
    """

    control: Normal
    treated: Normal
    high: FiniteFloat | None = None
    of_price: bool = False

    def unit_in(self, text: str) -> float:
        """Return what the number is in units of, by the question's text."""
        amount = _AMOUNT.search(text) if self.of_price else None
        return float(amount[1].replace(",", "")) if amount else 1.0

    def draw(self, text: str, bias: float, source: random.Random) -> str:
        """Draw the answer, a number in digits."""
        bias = bias if self.treatment.search(text) else 0.0
        number = source.gauss(
            self.control.mean + bias * (self.treated.mean - self.control.mean),
            self.control.sd + bias * (self.treated.sd - self.control.sd),
        )
        number *= self.unit_in(text)
        number = max(number, 0.0) if self.high is None else min(max(number, 0.0), self.high)
        return f"{number:.0f}"


class Survey(_Model):
    """The file `survey.yaml`: the questions by the name of their bias."""

    choices: dict[str, LetterQuestion]
    estimates: dict[str, NumberQuestion]

    @property
    def questions(self) -> dict[str, LetterQuestion | NumberQuestion]:
        """All questions, by the name of their bias."""
        return {**self.choices, **self.estimates}

    def find(self, text: str) -> LetterQuestion | NumberQuestion | None:
        """Return the question that a text asks, or None."""
        return next((each for each in self.questions.values() if each.about.search(text)), None)


@functools.cache
def shipped_survey() -> Survey:
    """Return the questions that come with Souk."""
    return load_model(Path(__file__).with_name("survey.yaml"), Survey)
