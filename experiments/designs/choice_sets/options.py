"""The `options` of an experiment file: which products stand against each other."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from interventions.yaml.yaml_source import problem_at

Pairing = Literal["price-adjacent", "matched-ratings", "price-coverage", "rating-coverage"]
Share = Annotated[float, Field(ge=0)]

_OF_PAIRINGS = ("pairing", "set_size", "max_price_gap", "max_rating_gap", "titles")
_OF_COVERAGE = ("per_category", "categories")


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
    """A CSV file of products in place of the embedded shop's."""
    file: str | None = None
    """A CSV file of choice sets, in place of a pairing."""
    pairing: Pairing = "price-adjacent"
    """`price-adjacent`: neighbours by price within a category. `matched-ratings`: of equal ratings, as many
    disjoint sets as there can be. `price-coverage`: pairs that differ in price by little and by much, and
    hardly in rating; `rating-coverage`: the other way round."""
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
    titles: Titles = Titles()

    @model_validator(mode="after")
    def _no_key_without_effect(self) -> Self:
        if self.file is not None:
            self._refuse(_OF_PAIRINGS + _OF_COVERAGE, "has no effect on the sets of a file; remove this key")
        elif "coverage" not in self.pairing:
            self._refuse(_OF_COVERAGE, f"has no effect on the pairing {self.pairing}; remove this key")
        elif self.set_size != 2:
            raise problem_at("set_size", message=f"{self.pairing} forms pairs; write 2 or remove this key")
        if self.titles.model is not None and self.catalogue is None:
            raise problem_at("titles", "model", message="the answers are kept beside a catalogue; name one")
        return self

    def _refuse(self, names: tuple[str, ...], message: str) -> None:
        for name in names:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise problem_at(name, message=message)
