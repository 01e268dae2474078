"""Report how evenly a design spreads what it shows."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations

import pandas as pd

from experiments.designs.cards.trial import CardTrial

COLUMNS = ["check", "attribute", "level", "group", "value", "n"]


def balance(trials: Iterable[CardTrial]) -> pd.DataFrame:
    """Compute the balance of these trials, one row per figure.

    `check` says what the figure is:

    * `trials`: how many trials each condition, ordering, item, scenario and temperature (`attribute`,
      `level`) has, by condition (`group`);
    * `position`, `condition`: the distribution of each attribute of the options by their position from 0, or
      by condition (`group`): the mean of a number (`level` is "mean"), the share of each text (`level`);
    * `correlation`: Pearson's r of two numeric attributes (`attribute`, `level`) within choice sets: of their
      deviations from the mean of what is shown together; empty where one does not vary;
    * `shows`: how often each option (`level`) is shown.

    Returns:
        Columns `check`, `attribute`, `level`, `group`, `value` and `n`, the observations behind the value.
    """
    counts = Counter[tuple[str, str, str]]()
    shown: list[dict[str, object]] = []
    for number, trial in enumerate(trials):
        for name in ("condition", "ordering", "item", "scenario", "temperature"):
            counts[name, str(getattr(trial, name)), trial.condition] += 1
        shown += (
            {
                "trial": number,
                "position": position,
                "condition": trial.condition,
                "option": option.option,
                "price": option.price,
                "rating": option.rating,
                "reviews": option.reviews,
                **option.attributes,
            }
            for position, option in enumerate(trial.options)
        )
    rows = [["trials", name, level, group, n, n] for (name, level, group), n in counts.items()]
    if shown:
        rows += _of_options(pd.DataFrame(shown))
    return pd.DataFrame(rows, columns=COLUMNS)


def _of_options(shown: pd.DataFrame) -> Iterator[list[object]]:
    attributes = shown.drop(columns=["trial", "position", "condition", "option"]).dropna(axis=1, how="all")
    numeric = attributes.select_dtypes("number")
    texts = attributes.drop(columns=numeric.columns)
    for group in ("position", "condition"):
        keys = shown[group]
        for name in numeric:
            for key, values in numeric[name].groupby(keys):
                yield [group, name, "mean", str(key), values.mean(), values.count()]
        for name in texts:
            for key, values in texts[name].groupby(keys):
                shares = values.value_counts(normalize=True).sort_index()
                for level, share in shares.items():
                    yield [group, name, level, str(key), share, len(values)]
    within = numeric - numeric.groupby(shown["trial"]).transform("mean")
    correlations = within.corr().to_numpy()
    for (i, one), (j, other) in combinations(enumerate(within), 2):
        r = correlations[i, j]
        yield ["correlation", one, other, "", None if pd.isna(r) else r, len(within)]
    for option, n in shown["option"].value_counts().sort_index().items():
        yield ["shows", "option", option, "", n, n]
