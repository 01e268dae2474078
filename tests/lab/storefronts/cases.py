"""What the matrix knows of each shop (`cases.yaml`), and the files of an experiment there."""

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.lab.storefronts.hard_cases import SHOPS as HAND_WRITTEN

HERE = Path(__file__).parent
CATALOGUE: list[dict[str, Any]] = json.loads((HERE / "catalogue.json").read_text(encoding="utf-8"))
NUDGE = "Chosen by lighthouse keepers"
LAMP = CATALOGUE[0]
Edits = dict[str, tuple[str, int, dict[str, Any]]]


@dataclass(frozen=True)
class Case:
    """A shop; what the fields mean stands in `cases.yaml`."""

    name: str
    what: str
    page: str = "p/${key}"
    key: str = "{slug}"
    listing: str = "lamps"
    cart: str = "cart"
    prices: tuple[str, str] = ("$39.90", "$31.50")
    times: int = 1
    third: dict[str, Any] = field(
        default_factory=lambda: {"edit": {"set_reviews": 1204}, "says": "1,204 reviews"}
    )
    buy: tuple[str, ...] = ("button.buy",)
    asks: str = ""
    listed: bool = True

    @property
    def is_hand_written(self) -> bool:
        return self.name in HAND_WRITTEN

    @property
    def site(self) -> Path:
        """The site map."""
        own = HERE / ("hard" if self.is_hand_written else "") / f"{self.name}.yaml"
        return own if own.exists() else HERE / "hard" / "plain.yaml"

    def key_of(self, product: dict[str, Any], catalogue: Sequence[dict[str, Any]] = CATALOGUE) -> str:
        return self.key.format(
            slug=product["slug"],
            number=catalogue.index(product) + 1 if "number" in self.key else 0,
            category=product["category"].lower(),
        )

    def start_page(self, base: str) -> str:
        """The address of the first lamp's page."""
        return base + self.page.replace("${key}", self.key_of(LAMP))

    def by_hand(self, proposed: str) -> int:
        """How many lines of the site map do not stand in the proposed one; comments do not count."""
        written = self.site.read_text(encoding="utf-8")
        for base in (self.site.parent / "plain.yaml",) if "\nextends: plain.yaml\n" in written else ():
            written += base.read_text(encoding="utf-8")
        return (_lines(written) - _lines(proposed)).total()

    def edits(self) -> Edits:
        """The three edits of the matrix, by id: family, direction, and the edit."""
        text = {"insert_text": {"after": "product.title", "text": NUDGE}}
        return {
            "text": ("text", 1, text),
            "price": ("price", 1, {"set_price": 31.5 * self.times}),
            "third": ("third", 1, self.third["edit"]),
        }

    def write_files(
        self,
        folder: Path,
        base: str,
        edits: Edits | None = None,
        products: Sequence[dict[str, Any]] = CATALOGUE,
        decimals: int = 1,
        **changes: Any,
    ) -> None:
        """Write `edits.yaml`, `catalogue.csv` and `experiment.yaml` into a folder.

        decimals: of a product's stars on its page. changes: of the experiment.
        """
        interventions = [
            {"id": id_, "kind": "nudge", "family": family, "direction": direction, "edits": [edit]}
            for id_, (family, direction, edit) in (edits or self.edits()).items()
        ]
        write(folder / "edits.yaml", {"interventions": interventions})
        out = io.StringIO()
        rows = csv.writer(out)
        rows.writerow(["key", "category", "name", "price", "rating", "reviews"])
        for product in products:
            if product["stock"] and product["reviews"]:
                scores = [score for score, _, _ in product["reviews"]]
                rating = round(sum(scores) / len(scores), decimals) * 20
                price = float(product["price"]) * self.times
                head = [self.key_of(product, products), product["category"], product["name"]]
                rows.writerow([*head, f"{price:.2f}", f"{rating:g}", len(scores)])
        (folder / "catalogue.csv").write_text(out.getvalue(), encoding="utf-8")
        write(
            folder / "experiment.yaml",
            {
                "name": "matrix",
                "environment": base,
                "site": str(self.site),
                "page": self.page,
                "live": {"allow": [], "stop_before": ["place order", "pay now"]},
                "goal": "Add the best of the open products to the cart.",
                "options": {"catalogue": "catalogue.csv", "sets": 3, "max_price_gap": 5, "max_rating_gap": 1},
                "factors": {"nudge": {"interventions": "edits.yaml"}},
                "limits": {"steps": 8, "seconds": 60},
                "seed": 7,
                **changes,
            },
        )


def cases() -> dict[str, Case]:
    """All shops of the matrix by name."""
    read = yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
    return {name: Case(name, **facts) for name, facts in read.items()}


def write(file: Path, data: dict[str, Any]) -> None:
    file.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False), encoding="utf-8")


def _lines(text: str) -> Counter[str]:
    lines = (line.strip() for line in text.splitlines())
    return Counter(line for line in lines if line and not line.startswith(("#", "name:", "extends:")))
