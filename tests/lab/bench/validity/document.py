"""Write what the validity simulation counted: every cell as CSV, and one table."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pandas as pd

from tests.lab.bench.validity.cells import CARDS, DRAWN, NUMBERS

DOCUMENT: Final = Path(__file__).parents[4] / "docs" / "validity.md"
ROWS: Final = DOCUMENT.with_suffix(".csv")

MOST_REJECTED, LEAST_HELD, MOST_ANY = 0.06, 0.93, 0.06
MOST_WIDTH, ENOUGH = 1.1, 240
NO_TASTES: Final = "random"
_SETS: Final = "other sets and texts"
GUARDS: Final = {
    **dict.fromkeys(("effects", "nudge_texts", "categories", "profiles", "profile_differences"), _SETS),
    **dict.fromkeys(("slopes", "curves, linear and quartic", "heterogeneity", "positions"), _SETS),
    **dict.fromkeys(("tradeoffs", "price_response", "quality", "coefficients"), "other sets"),
    **dict.fromkeys(("price_deciles", "brands", "money", "triage, exact"), "other sets"),
    **{"booked": "other cards", "mapd": "other prompts", "comparisons": "other prompts"},
    **{"coefficients, by block": "other products", "shrunken": "what is shrunken", "csvr": "rare answers"},
    **{"exact": "draws answered alike"},
}
"""Tables whose intervals are wider than the spread here needs, and the doubt that asks for it."""
_PUBLISHED: Final = "Wilson$|Wald$|Welch$|Student$|, clustered$|^willingness_to_pay|^pooling$|^triage$"
_DECIMALS: Final = {"rejected": 3, "held": 3, "worst": 3, "width": 2, "any": 3, "printed": 3}

_TEXT = """# Validity

Are the printed p values and intervals honest? `make validity` draws the answers to the shipped designs
anew, as simulated shoppers of known tastes give them, without a browser. It analyses each study as `souk
analyze` does, and writes this page and [validity.csv](validity.csv). This is its output of {date}, seed
{seed}. A cell is one table of one experiment, size (60 to 2,400 trials) and shopper; there are {cells:,},
each a row of the CSV.

* **rejected**: the share of printed p values below .05 where the true effect is 0; the cells' median and
  highest. Allowed: {rejected:.2f}.
* **held**: the share of printed 95 % intervals that contain the true effect; median and lowest. Allowed:
  {held:.2f}.
* **any**: the share of studies of the shopper without tastes (`random`) in which any adjusted p value of
  the table is below .05; highest. Allowed: {any:.2f}.
* **width**: the width of the intervals, divided by the width that the estimates' own spread asks for;
  median. Allowed from {enough} trials: {wide:.2f}, but where the table guards against a doubt.
* **guards against**: a doubt for which intervals have to be wider than the spread in these studies.
* **beyond**: the cells that are beyond an allowed number by more than two Monte-Carlo errors. That of a
  share of .05 is .010 in 500 studies and .031 in 50; that of a width is 3 % in 500 studies and 10 % in 50.

**Cells beyond an allowed share, but for published formulas: {honest}.** A *published* formula keeps its
form; the sentences of a report are made of the table beside it (shares by set, *stratified*, *robust*,
*exact*, *by block*, the paired t, `money`).

| design | table | studies | cells | rejected | held | any | width | guards against | beyond |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{table}
*Shops* are `nudges` (also with repeats), `nudges-mr`, `trios`, `profiles`, `prices` and `attributes`;
*cards* are `hotels`.
Published tables of cards are empty below 100 choice sets. `quality`, `brands`, `price_response` and
`price_deciles` are parts of `coefficients`.

## How to read the widths

* *Other sets and texts*, *cards*, *prompts*, *products*: the interval is about new ones like these, and here
  the same ones are drawn again. Tests that draw new ones judge these widths.
* *Draws answered alike* (in `prices` and `attributes`): the trials of a draw count once. An agent that
  answers them afresh has less spread.
* *Rare answers*: where fewer than ten answers differ from the others, an interval allows for what was not
  seen.
* *What is shrunken* errs by more than its spread.

## What is true

* In shops, the effect follows from the shopper's utilities. Of cards, the truth is what a model says of
  infinitely many answers to the same cards; of `money`, what the respondent's weights say.
* Of numbers and biases, it is what a table says of very many answers. Biases are analysed with `--valid`,
  since fewer than 100 answers to each question give no numbers.
* A tenth of the trials in tables of outcomes end without a choice. For a shopper that answers alike these
  trials are alike too.

## The shoppers

* `null`: `balanced` without a weight for nudges (cards: for the order; numbers: for anchors and biases).
* `random`: no tastes. `price-only`: looks at the price alone (numbers: answers the list price).
* `deterministic`: answers everything about a set alike, with new tastes in each study. The exact tests of
  crossed factors and the random effects are about the tastes of that study.
* `repeating` and `repeating-null`: answer a repeated question alike (cards: both orders).
* `98 % alike` and `90 % alike`: `null` that answers a question alike, but for this rest, which it answers
  afresh. `prompted`: no tastes but one for each question (standard deviation 1). They see `nudges, repeated`:
  20 sets and two texts, each question up to five times.

## The columns of validity.csv

`experiment`, `trials`, `shopper` and `table` name the cell, and `studies` says how many it has.
`rejected`, `held`, `width` and `any` are those above, `any` of all shoppers. `worst` is the share held in
the cell's worst row. `printed` is the share of rows that have a p value or an interval. `beyond` names
the limits that the cell is beyond. An empty number means that no row has a true 0, an interval or a
spread. pandas takes the name `null` for a missing value, unless you pass `keep_default_na=False,
na_values=[""]`.
"""


def write_document(rates: pd.DataFrame, *, seed: int) -> None:
    """Write the page and its rows. rates: as `tests.lab.bench.validity.counting.rates` makes them."""
    rows = rows_of(rates)
    rows.to_csv(ROWS, index=False)
    DOCUMENT.write_text(page(rows, date=f"{datetime.now(UTC):%Y-%m-%d}", seed=seed), encoding="utf-8")


def rows_of(rates: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the CSV: every cell that printed something, and the limits that it is beyond."""
    rates = rates[rates["printed"] > 0].rename(columns={"any_rejected": "any"})
    columns = ["experiment", "trials", "shopper", "table", *_DECIMALS, "studies"]
    return rates[columns].round(_DECIMALS).assign(beyond=beyond(rates))


def beyond(rates: pd.DataFrame) -> "pd.Series[str]":
    """Return the limits that each cell is beyond, with a space between two."""
    error = 2 * (0.05 * 0.95 / rates["studies"]) ** 0.5
    guarded = rates["table"].isin(list(GUARDS))
    guarded &= rates["table"].ne("exact") | rates["experiment"].isin(DRAWN)
    judged = ~guarded & ~published(rates) & (rates["trials"] >= ENOUGH)
    judged &= ~rates["shopper"].eq("deterministic")  # all that varies is its tastes
    limits = {
        "rejected": rates["rejected"] > MOST_REJECTED + error,
        "held": rates["held"] < LEAST_HELD - error,
        "any": rates["shopper"].eq(NO_TASTES) & (rates["any"] > MOST_ANY + error),
        "width": judged & (rates["width"] > MOST_WIDTH * (1 + (2 / rates["studies"]) ** 0.5)),
    }
    found = [" ".join(name for name, over in limits.items() if over[row]) for row in rates.index]
    return pd.Series(found, rates.index)


def published(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are of published formulas, which keep their form."""
    of_numbers = rows["experiment"].isin(NUMBERS) & rows["table"].isin(["anova", "coefficients"])
    found: pd.Series[bool] = of_numbers | rows["table"].str.contains(_PUBLISHED)
    return found


def page(rows: pd.DataFrame, *, date: str, seed: int) -> str:
    """Return the page of the rows of the CSV."""
    families = dict.fromkeys(CARDS, "cards") | {name: name for name in NUMBERS}
    family = rows["experiment"].map(families).fillna("shops")
    unfair = rows["beyond"].str.contains("rejected|held|any") & ~published(rows)
    return _TEXT.format(
        date=date,
        seed=seed,
        cells=len(rows),
        rejected=MOST_REJECTED,
        held=LEAST_HELD,
        any=MOST_ANY,
        enough=ENOUGH,
        wide=MOST_WIDTH,
        honest=int(unfair.sum()) or "none",
        table="".join(
            _line(str(name), str(table), own)
            for (name, table), own in rows.groupby([family, "table"], sort=False)
        ),
    )


def _line(family: str, table: str, cells: pd.DataFrame) -> str:
    no_tastes = cells.loc[cells["shopper"].eq(NO_TASTES), "any"]
    written = [
        family,
        f"`{table}`" + (" (published)" if published(cells).all() else ""),
        f"{cells['studies'].sum():,}",
        str(len(cells)),
        _two(cells["rejected"].median(), cells["rejected"].max()),
        _two(cells["held"].median(), cells["held"].min()),
        _number("any", no_tastes.max()),
        _number("width", cells["width"].median()),
        "" if published(cells).all() else GUARDS.get(table, ""),
        _beyond(cells),
    ]
    return f"| {' | '.join(written)} |\n"


def _two(median: float, worst: float) -> str:
    return "" if pd.isna(worst) else f"{_number('', median)}, {_number('', worst)}"


def _beyond(cells: pd.DataFrame) -> str:
    limits = cells["beyond"].str.split().explode().dropna()
    found = []
    for limit, own in limits.groupby(limits, sort=False):
        values = cells.loc[own.index, limit]
        ends = sorted({_number(limit, values.min()), _number(limit, values.max())})
        found.append(f"{limit} {' to '.join(ends)} in {len(own)}")
    return "; ".join(found)


def _number(name: str, value: float) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.2f}" if name == "width" else f"{value:.3f}".removeprefix("0")
