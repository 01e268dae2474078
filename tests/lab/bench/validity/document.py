"""Write what the validity simulation counted as docs/validity.md."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pandas as pd

from analysis.tables.frame import counted
from tests.lab.bench.validity.cells import NUMBERS

DOCUMENT: Final = Path(__file__).parents[4] / "docs" / "validity.md"

MOST_REJECTED, LEAST_HELD, MOST_ANY = 0.06, 0.93, 0.06
MOST_WIDTH, ENOUGH = 1.3, 600
NO_TASTES: Final = "random"
NEW_SETS: Final = (
    "effects",
    "nudge_texts",
    "categories",
    "profiles",
    "profile_differences",
    "slopes",
    "curves, linear and quartic",
    "curves, observed",
    "outcomes",
    "positions",
    "factors",
    "heterogeneity",
)
"""Tables that speak of new choice sets, or new texts."""
NOT_TOLD: Final = ("booked", "mapd", "comparisons", "shrunken")
"""Tables whose width is not told by the estimates' spread.

New cards and new products are not drawn here; what is shrunken errs by more than its own spread.
"""
_PUBLISHED: Final = "Wilson$|Wald$|Welch$|Student$|, clustered$|^willingness_to_pay|^pooling$|^triage$"

_TEXT = """# Validity

Are the printed p values and intervals honest? `make validity` redraws the answers to the shipped designs as
the simulated agents give them, without a browser, and analyses each study as `souk analyze` does. This page
is its output of {date}, seed {seed}; each row says of how many studies it is.

* **rejected**: of the printed p values of rows whose true effect is 0, the share below .05. Empty: no row
  has a true 0.
* **held**: of the printed 95 % intervals, the share with the true effect; **worst**: that of the worst row.
* **width**: the width of the printed intervals over the width that the estimates' own spread needs (median
  over rows).
* **any**: of the studies with rows whose true effect is 0, the share in which any adjusted p value of such
  a row in the table is below .05.
* **printed**: the share of rows that have a p value or an interval at all.
* **studies**: how many. The Monte-Carlo error of a share of .05 is .010 in 500 studies, .031 in 50.

What the numbers are about:

* `effects`, `nudge_texts`, `categories`, `profiles`, `profile_differences`, `slopes` and `curves` speak of
  new choice sets and texts, so their intervals may be wider than the spread over the same sets; so do the
  shares by set (`outcomes`, `positions`, `curves, observed`, `factors`) and `heterogeneity` (the mean over
  texts, profiles ... like these). `exact` speaks of these sets and texts.
* `shrunken` errs by more than its own spread, since it is drawn to the mean: no width tells.
* `booked` speaks of new cards, `mapd` and `comparisons` (the paired t) of new products, which are not drawn
  here: their width is judged by tests that draw them. So is that of one who answers a question about a
  product always alike (of numbers: `deterministic`), where the products are all that varies.
* Of cards, the truth is what a model says of infinitely many answers to the same cards; of `money` it is
  what the respondent's own weights say. `quality`, `brands`, `price_response` and `price_deciles` are parts
  of `coefficients`.
* Of numbers and biases, it is what a table says of very many answers. Biases are analysed with `--valid`,
  since fewer than 100 answers to each question give no numbers at all.
* *Wilson*, *Wald*, *Welch*, *Student*, *clustered* (of cards), `willingness_to_pay`, `pooling`, `triage`, and
  the tables `anova` and `coefficients` of numbers that are not *by block* are published columns that keep
  their formulas; what stands beside them (shares by set, *stratified* shares, the paired t, `money`, *by
  set*, *robust*, *exact*, *by block*) is what the sentences are made of. Of cards they are empty below 100
  choice sets.

The shoppers: `null` is `balanced` without a weight for nudges (of cards: for the order; of numbers: for
anchors and biases); `random` has no tastes; `price-only` looks at the price alone (of numbers: answers the
list price); `deterministic` answers alike whatever is asked about a set, and its tastes are drawn anew in
each study (the exact tests of crossed factors, and the random effects made of them, are about its tastes as
they are, so that there is no other truth than its answers); `repeating` and `repeating-null` answer a
repeated question alike (of cards: both orders). In the tables of outcomes a tenth of the trials end without
a choice, alike where the shopper answers alike.

## Beyond the limits

At most {rejected:.2f} rejected, at least {held:.2f} held, any adjusted p value in at most {any:.2f} of the
studies of `random`, in which there is nothing to find (where there is, the false discovery rate allows more);
beyond by more than two Monte-Carlo errors:

{beyond}

From {enough} trials at most {wide} times as wide as needed. Of tables about new choice sets the shopper
`deterministic` tells, whose tastes for the sets are new in each study; other shoppers' own spread over the
same sets is less than what new sets may bring. Of few sets (30 in `prices`) the score interval of `exact`
allows for what was not seen, and so does the exact interval of `csvr` where nearly every answer is valid:

{wider}

Of the published columns, which keep their formulas (see above):

{published}
"""


def write_document(rates: pd.DataFrame, *, seed: int) -> None:
    """Write the page. rates: as `tests.lab.bench.validity.counting.rates` makes them."""
    beyond = beyond_limits(rates)
    published = _published(beyond)
    text = _TEXT.format(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        seed=seed,
        rejected=MOST_REJECTED,
        held=LEAST_HELD,
        any=MOST_ANY,
        beyond=_each(beyond[~published]),
        enough=ENOUGH,
        wide=MOST_WIDTH,
        wider=_by_table(too_wide(rates)),
        published=_by_table(beyond[published]),
    )
    for name, rows in rates[rates["printed"] > 0].groupby("experiment", sort=False):
        text += f"\n## {name}\n\n{_HEAD}\n"
        text += "".join(_row(row) for row in rows.to_dict("records"))
    DOCUMENT.write_text(text, encoding="utf-8")


_HEAD = (
    "| trials | shopper | table | rejected | held | worst | width | any | printed | studies |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def _row(row: dict[str, object]) -> str:
    numbers = [_share(row[name]) for name in ("rejected", "held", "worst")]
    width = "" if pd.isna(row["width"]) else f"{row['width']:.2f}"
    ends = [_share(row["any_rejected"]), _share(row["printed"]), row["studies"]]
    cells = [f"{row['trials']:,}", row["shopper"], f"`{row['table']}`", *numbers, width, *ends]
    return f"| {' | '.join(map(str, cells))} |\n"


def _share(value: object) -> str:
    return "" if pd.isna(value) else f"{value:.3f}".removeprefix("0")


def beyond_limits(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `rates` that are beyond a limit, with the columns `limit` and `share`."""
    error = (0.05 * 0.95 / rates["studies"]) ** 0.5
    limits = {
        "rejected": ("rejected", rates["rejected"] > MOST_REJECTED + 2 * error),
        "held": ("held", rates["held"] < LEAST_HELD - 2 * error),
        "any": (
            "any_rejected",
            rates["shopper"].eq(NO_TASTES) & (rates["any_rejected"] > MOST_ANY + 2 * error),
        ),
    }
    return pd.concat(
        [
            rates[beyond].assign(limit=name, share=rates.loc[beyond, column])
            for name, (column, beyond) in limits.items()
        ],
        ignore_index=True,
    )


def too_wide(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose intervals are wider than needed, with the columns `limit` and `share` (width)."""
    told = ~rates["table"].isin(NEW_SETS) | rates["shopper"].eq("deterministic")
    told &= ~rates["table"].isin(NOT_TOLD)
    told &= ~(rates["experiment"].isin(NUMBERS) & rates["shopper"].eq("deterministic"))
    rows = rates[told & ~_published(rates) & (rates["trials"] >= ENOUGH) & (rates["width"] > MOST_WIDTH)]
    return rows.assign(limit="width", share=rows["width"])


def _published(rows: pd.DataFrame) -> "pd.Series[bool]":
    of_numbers = rows["experiment"].isin(NUMBERS) & rows["table"].isin(["anova", "coefficients"])
    found: pd.Series[bool] = of_numbers | rows["table"].str.contains(_PUBLISHED)
    return found


def _each(rows: pd.DataFrame) -> str:
    lines = [
        f"* {row['limit']}: `{row['table']}` of {row['experiment']}, {row['trials']:,} trials, "
        f"{row['shopper']}: {_share(row['share'])}"
        for row in rows.to_dict("records")
    ]
    return "\n".join(lines) or "None."


def _by_table(rows: pd.DataFrame) -> str:
    lines = [
        f"* {limit}: `{table}`: {_number(limit, own.min())} to {_number(limit, own.max())}"
        f" in {counted(len(own), 'row')}"
        for (limit, table), own in rows.groupby(["limit", "table"], sort=False)["share"]
    ]
    return "\n".join(lines) or "None."


def _number(limit: str, value: float) -> str:
    return f"{value:.2f}" if limit == "width" else _share(value)
