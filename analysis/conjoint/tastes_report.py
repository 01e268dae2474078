"""Say which model of tastes that differ describes the choices best."""

from collections.abc import Iterator

import pandas as pd

from analysis.conjoint.tastes import AGENT
from analysis.reporting.answer import number_text, sentence


def differing(models: pd.DataFrame, classes: pd.DataFrame) -> Iterator[str]:
    """Say which of the fitted models describes the choices best, by its bic."""
    for group, own in models.groupby("group", sort=False):
        best = own.sort_values("bic").iloc[0]
        yield sentence(str(group), [_best(best, classes[classes["group"] == group])])


def _best(best: "pd.Series", classes: pd.DataFrame) -> str:
    who = "agents" if best["unit"] == AGENT else "answers"
    if best["model"] == "alike":
        return (
            f"that tastes differ between {who} is not shown: the model with equal tastes has the lowest bic"
        )
    if best["model"] == "mixed":
        return (
            f"tastes differ between {who}: of the models that were fitted, the mixed logit has the lowest bic"
        )
    text = f"tastes differ between {who}: the model with {best['model']} has the lowest bic"
    if classes["class"].nunique() != int(best["model"].split()[0]) or classes["share"].isna().any():
        return text
    shares = [
        f"{number_text(100 * row['share'], 0)} % (95 %: {number_text(100 * row['share_low'], 0)} to"
        f" {number_text(100 * row['share_high'], 0)})"
        for row in classes.drop_duplicates("class").to_dict("records")
    ]
    return f"{text}, with shares of {', '.join(shares)}"
