"""The `options` of an experiment file: which products stand against each other."""

from typing import Annotated, Any, Literal, Self

from babel.numbers import list_currencies
from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from interventions.html.currencies import locale_of
from interventions.yaml.yaml_source import problem_at

Pairing = Literal[
    "price-adjacent", "matched-ratings", "price-coverage", "rating-coverage", "random", "whole-list"
]
Share = Annotated[float, Field(ge=0)]

_GAPS = ("max_price_gap", "max_rating_gap")
_LEAST = "min_products_per_category"
_OF_PAIRINGS = ("pairing", "set_size", *_GAPS, _LEAST, "titles")
_OF_OWN = ("currency", "language")
_OF_COVERAGE = ("per_category", "categories")


def _check_currency(code: str) -> str:
    if code not in list_currencies():
        raise ValueError(f'"{code}" is no currency; write its code of three letters, such as EUR')
    return code


def _check_language(tag: str) -> str:
    if locale_of(tag) is None:
        raise ValueError(f'"{tag}" is no language; write one such as de or de-CH')
    return tag


class Titles(BaseModel, extra="forbid", frozen=True, use_attribute_docstrings=True):
    """Which products are left out for the wording of their titles."""

    filter: bool | None = None
    """Leave out titles with promotional or multi-pack wording. Default: only those of a `catalogue`."""
    patterns: str | None = None
    """A YAML file of phrases in place of the shipped ones."""
    model: str | None = None
    """An agent, such as `openai:gpt-6-luna`, that is asked about each title that the phrases leave. Its
    answers are kept in a file beside the catalogue and never asked for again."""


class Options(BaseModel, extra="forbid", frozen=True, use_attribute_docstrings=True):
    """Which products stand against each other. Files are looked for as `Source.file_at` says."""

    catalogue: str | None = None
    """A CSV file of products in place of the embedded shop's. Those of a file without a column `key` or `url`
    are served by the embedded shop."""
    currency: Annotated[str, AfterValidator(_check_currency)] | None = None
    """The currency of products that the embedded shop serves for a catalogue, such as EUR; USD by default."""
    language: Annotated[str, AfterValidator(_check_language)] | None = None
    """The language in which their pages write figures, such as `de` or `de-CH`; English by default."""
    file: str | None = None
    """A CSV file of choice sets, in place of a pairing."""
    pairing: Pairing = "price-adjacent"
    """`price-adjacent`: neighbours by price within a category. `matched-ratings`: of equal ratings, as many
    disjoint sets as there can be. `price-coverage`: pairs that differ in price by little and by much, and
    hardly in rating; `rating-coverage`: the other way round. `random`: any products of a category.
    `whole-list`: all products of a list of the shop, which is shown as the shop has it."""
    set_size: int = Field(default=2, ge=2, le=8)
    """Alternatives in a choice set; the coverage pairings form pairs."""
    sets: int = Field(default=50, ge=1, le=100_000)
    """How many choice sets to sample."""
    max_price_gap: Share = 0.5
    """Largest |price difference| / lower price between two alternatives of a set; not of price-coverage."""
    max_rating_gap: Share = 0.1
    """Largest rating difference, as a share of the scale (0.1: ten points of a hundred); not of
    rating-coverage. With matched-ratings there is none."""
    per_category: int = Field(default=50, ge=2, le=100_000)
    """For the coverage pairings: products of a category that are chosen, spread over its bins."""
    categories: int | None = Field(default=None, ge=1)
    """For the coverage pairings: only so many categories, those whose products fill the most bins."""
    min_products_per_category: int | None = Field(default=None, ge=2, le=100_000)
    """Categories with fewer products that can be compared are left out."""
    titles: Titles = Titles()

    @model_serializer(mode="wrap")
    def _as_before(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without the later keys the keys are those of before, and so is the run's identity."""
        kept: dict[str, Any] = dump(self)
        return {
            key: value for key, value in kept.items() if key not in (*_OF_OWN, _LEAST) or value is not None
        }

    @model_validator(mode="after")
    def _no_key_without_effect(self) -> Self:
        if self.catalogue is None:
            self._refuse(_OF_OWN, "has no effect on the embedded shop's own products; name a catalogue")
        if self.file is not None:
            self._refuse(_OF_PAIRINGS + _OF_COVERAGE, "has no effect on the sets of a file; remove this key")
        elif "coverage" not in self.pairing:
            self._refuse(_OF_COVERAGE, f"has no effect on the pairing {self.pairing}; remove this key")
        elif self.set_size != 2:
            raise problem_at("set_size", message=f"{self.pairing} forms pairs; write 2 or remove this key")
        if self.pairing in ("random", "whole-list"):
            self._refuse(_GAPS, f"has no effect on the pairing {self.pairing}; remove this key")
        if self.pairing == "whole-list":
            self._refuse(("set_size",), "the set is the whole list; remove this key")
        if self.titles.model is not None and self.catalogue is None:
            raise problem_at("titles", "model", message="the answers are kept beside a catalogue; name one")
        return self

    def _refuse(self, names: tuple[str, ...], message: str) -> None:
        for name in names:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise problem_at(name, message=message)
