"""What a request cost, by the dated price table in `prices.yaml`."""

import functools
import logging
import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from interventions.yaml_source import load_model

_logger = logging.getLogger(__name__)


class Price(BaseModel):
    """USD per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)


class PriceTable(BaseModel):
    """The contents of `prices.yaml`; `as_of` is the month in which the prices were published."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: str = Field(pattern=r"^\d{4}-\d{2}$")
    models: dict[str, Price]


@functools.cache
def price_table() -> PriceTable:
    """The prices that come with Souk."""
    return load_model(Path(__file__).with_name("prices.yaml"), PriceTable)


@functools.cache
def price_of(model: str) -> Price | None:
    """The price of a model or a dated snapshot of it; None, and one warning per model, when not listed."""
    models = price_table().models
    price = models.get(model) or models.get(re.sub(r"-\d{4}-\d{2}-\d{2}$", "", model))
    if price is None:
        _logger.warning("no price is listed for %s; its cost is recorded as unknown", model)
    return price


def cost_of(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """USD, or None when the model's price is unknown."""
    price = price_of(model)
    return None if price is None else (tokens_in * price.input + tokens_out * price.output) / 1e6
