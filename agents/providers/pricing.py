"""Compute what a request cost, from the dated prices in `prices.yaml` and a table of the user's own."""

import functools
import logging
import re
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from agents.providers.model_settings import split_agent
from agents.providers.settings import setting
from interventions.yaml.yaml_source import load_model

_logger = logging.getLogger(__name__)

TABLE_VARIABLE: Final = "SOUK_PRICES"
"""The environment variable that names the user's own table."""


class Tokens(NamedTuple):
    """The tokens of a request, as its provider counts them.

    `cached` of those that were read came from the provider's cache, and `stored` of them were put into it.
    """

    read: int
    written: int
    cached: int = 0
    stored: int = 0


class Price(BaseModel):
    """The price of a model, in USD per million tokens.

    `cached`: of what comes from the provider's cache, and `stored`: of what is put into it; by default they
    cost what all input does. `image`: USD for each picture that is sent, beside its tokens.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    stored: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    image: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    def of(self, tokens: Tokens, images: int = 0) -> float:
        """Return what tokens and pictures cost, in USD."""
        cached = self.input if self.cached is None else self.cached
        stored = self.input if self.stored is None else self.stored
        plain = max(0, tokens.read - tokens.cached - tokens.stored)
        parts = (plain * self.input, tokens.cached * cached, tokens.stored * stored)
        return (sum(parts) + tokens.written * self.output) / 1e6 + images * self.image

    def saved(self, cached: int) -> float:
        """Return how much less tokens cost that came from the provider's cache than other input, in USD."""
        return self.of(Tokens(cached, 0)) - self.of(Tokens(cached, 0, cached))


class PriceTable(BaseModel):
    """A file of prices; `as_of` is the month in which they were published.

    A model has its provider's name for it, or `PROVIDER:MODEL`; `PROVIDER:*` stands for all models of a
    provider.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    as_of: str = Field(pattern=r"^\d{4}-\d{2}$")
    models: dict[str, Price]


def price_tables() -> tuple[PriceTable, ...]:
    """Return the tables in the order in which they count: the user's own, then the one of Souk.

    Raises:
        UserError: the user's file has a mistake.
    """
    return _load(setting(TABLE_VARIABLE))


@functools.cache
def _load(own: str) -> tuple[PriceTable, ...]:
    files = [*([Path(own)] if own else []), Path(__file__).with_name("prices.yaml")]
    return tuple(load_model(file, PriceTable) for file in files)


def price_of(name: str) -> Price | None:
    """Return the price of `PROVIDER:MODEL` or of a dated snapshot of it.

    Whatever fits in the user's own table goes before the table of Souk. Returns None, with one warning, when
    the model is in neither.
    """
    name, _ = split_agent(name)
    provider, _, model = name.partition(":")
    plain = undated(model)
    for table in price_tables():
        for known in (name, f"{provider}:{plain}", f"{provider}:*", model, plain):
            if known in table.models:
                return table.models[known]
    _warn(name)
    return None


def undated(model: str) -> str:
    """Return the name of the model that a dated snapshot is of."""
    return re.sub(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$", "", model)


@functools.cache
def _warn(name: str) -> None:
    _logger.warning("no price is listed for %s; its cost is recorded as unknown", name)


def cost_of(name: str, tokens: Tokens, images: int = 0) -> float | None:
    """Return the cost of tokens and pictures in USD; None when the model's price is unknown."""
    price = price_of(name)
    return None if price is None else price.of(tokens, images)
