"""Read a user's list of products to check interventions against."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from experiments.designs.catalogue.table import check_scale
from experiments.designs.inputs.csv_rows import read_rows
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean


class _Product(BaseModel):
    """The cells of a row; other columns do not matter."""

    model_config = ConfigDict(allow_inf_nan=False)

    key: str = ""
    category: str = ""
    name: str = ""
    price: Annotated[float, Field(ge=0)] | None = None
    rating: Annotated[float, Field(ge=0, le=100)] | None = None
    rating_scale: Annotated[float, Field(gt=0)] = 100
    reviews: Annotated[float, Field(ge=0)] | None = None


def read_products(path: Path) -> tuple[list[ProductFacts], list[str]]:
    """Read products from a CSV file with a column `category`, and a line for columns that are not used.

    Optional columns are `key`, `name`, `price`, `rating` (out of `rating_scale`, else of 100) and `reviews`.
    Raises UserError with file, line and column.
    """
    columns, rows, unused = read_rows(str(path), _Product.model_fields)
    if "category" not in columns:
        hint = did_you_mean("category", columns, noun="its columns are")
        raise UserError(f'{path}:1: no column "category"; {hint}')
    check_scale(str(path), (row.cells for row in rows))
    products = []
    for row in rows:
        told = row.read(_Product)
        products.append(
            ProductFacts(
                key=told.key or told.name or f"{path}:{row.line}",
                category=told.category,
                name=told.name,
                price=told.price,
                rating=None if told.rating is None else round(told.rating * 100 / told.rating_scale),
                reviews=None if told.reviews is None else round(told.reviews),
            )
        )
    return products, unused
