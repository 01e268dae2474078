"""Find products in the JSON that a page's scripts fetch, by the name and the price that the page shows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote, urlsplit

from interventions.apply.product_json import Document
from interventions.errors import CannotEdit
from interventions.html.numbers import machine_figure
from interventions.proposal.embedded import FoundData
from interventions.proposal.facts import KEY, objects, values
from interventions.yaml.sitemap import Data, product_key

FACTORS: Final = (1, 100)
_DEEPEST: Final = 3


@dataclass(frozen=True)
class FetchedAnswer:
    """An answer in JSON that a page's scripts fetched from the page's own host; `page` is its address."""

    url: str
    text: str
    page: str


def fetched_data(
    answers: Sequence[FetchedAnswer], shown: Mapping[str, tuple[str, Decimal]]
) -> Iterator[FoundData]:
    """Yield a rule for each shape of object that holds a product's name and price.

    `shown`: product key -> the name and the price that a page shows.
    """
    seen: dict[tuple[str, str], FoundData] = {}
    for answer in answers:
        try:
            root = Document(answer.text).root
        except CannotEdit:
            continue
        for found in objects(root):
            for key, (name, price) in shown.items():
                rule = _rule(answer, found, key, name, price)
                if rule is None:
                    continue
                reason = f"scripts on {urlsplit(answer.page).path} fetch it"
                known = seen.setdefault((str(rule.url), str(rule.items)), FoundData(rule, name, reason))
                known.texts.update((value, path) for path, value in _texts(found))
    yield from seen.values()


def _rule(answer: FetchedAnswer, found: dict[str, Any], key: str, name: str, price: Decimal) -> Data | None:
    names = [each for each, value in found.items() if value == name and KEY.fullmatch(each)]
    for factor in FACTORS:
        prices = [path for path, value in _numbers(found) if value == price * factor]
        if names and prices:
            break
    else:
        return None
    holder = prices[0].split(".")[1]
    return Data.model_validate(
        {
            "url": _pattern(urlsplit(answer.url).path, found, key),
            "items": f"$..[?@.{names[0]} && @.{holder}]",
            "link": next(_links(answer, found, key), ()),
            "roles": {
                "name": f"$.{names[0]}",
                "price": [{"path": path, "factor": factor} if factor > 1 else path for path in prices],
            },
        }
    )


def _pattern(path: str, found: dict[str, Any], key: str) -> str:
    """The path of an answer, with `*` where it names the product."""
    named = {
        key.rpartition("/")[2],
        *(quote(str(each)) for each in found.values() if isinstance(each, str | int)),
    }
    return "/".join("*" if part and part in named else part for part in path.split("/"))


def _links(answer: FetchedAnswer, found: dict[str, Any], key: str) -> Iterator[Any]:
    """What says which product an object shows: an address, or a part of the product's address."""
    folder, _, last = key.rpartition("/")
    for path, value in values(found, _DEEPEST):
        if isinstance(value, bool) or not isinstance(value, str | int):
            continue
        if isinstance(value, str) and "/" in value and product_key(value, answer.page) == key:
            yield path
        elif str(value).lower() == last:
            yield {"path": path, "page": f"/{folder}/${{value}}" if folder else "/${value}"}


def _texts(root: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The short texts and whole numbers in an object, one of which may be the product's id."""
    for path, value in values(root, _DEEPEST):
        if isinstance(value, str | int) and not isinstance(value, bool) and 0 < len(str(value)) <= 100:
            yield path, str(value)


def _numbers(root: dict[str, Any]) -> Iterator[tuple[str, Decimal]]:
    """The figures in an object, as JSONPath: numbers, and texts that are one."""
    for path, value in values(root, _DEEPEST):
        if isinstance(value, str | int | float) and (figure := machine_figure(str(value)[:40])):
            yield path, figure.value
