"""The value of a product to a simulated agent, and how far an anchor pulls its answer.

The valuation is v = median * exp(spread * z) with z standard normal. The agent would buy at a price p when v
>= p. Asked for its maximum willingness to pay it answers v + weight * (anchor - v) after an anchor, and v
without one, so that the mean answers after two anchors differ by weight * (high anchor - low anchor).
"""

import functools
import random
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from interventions.yaml.yaml_source import load_model


class Valuation(BaseModel):
    """A log-normal distribution in USD; `spread` is the standard deviation of the logarithm."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    median: float = Field(gt=0, allow_inf_nan=False)
    spread: float = Field(ge=0, le=3)

    def draw(self, source: random.Random) -> float:
        """Draw one agent's valuation in USD."""
        return self.median * source.lognormvariate(0, self.spread)


class Valuations(BaseModel):
    """The file `valuations.yaml`: the valuation of each product."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    products: dict[str, Valuation]
    other: Valuation

    def of(self, text: str) -> Valuation:
        """Return the valuation of the product that is named first in a text."""
        text = text.lower()
        found = {text.find(words): valuation for words, valuation in self.products.items() if words in text}
        return found[min(found)] if found else self.other


@functools.cache
def shipped_valuations() -> Valuations:
    """Return the valuations that come with Souk."""
    return load_model(Path(__file__).with_name("valuations.yaml"), Valuations)


def willingness_to_pay(valuation: float, anchor: float | None, weight: float) -> float:
    """Return the maximum willingness to pay that the agent states after an anchor, in USD."""
    return valuation if anchor is None else valuation + weight * (anchor - valuation)
