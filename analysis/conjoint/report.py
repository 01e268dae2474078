"""Write the conjoint report; the words of its sections are in `report.yaml`."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.conjoint import figures
from analysis.conjoint.study import ERRORS, ConjointAnalysis
from analysis.conjoint.tables import where_alike
from analysis.conjoint.tastes import AGENT
from analysis.conjoint.triage import takes
from analysis.reporting.answer import Wording, claimed, clauses, number_text, sample_text, sentence, uneven
from analysis.reporting.sections import Report, Section, written_sections
from analysis.tables.frame import counted, label

WORDS = Path(__file__).with_name("report.yaml")
TWO = 2
"""Decimals of an amount."""
WORDING = Wording(
    names={
        "cancel": "free cancellation",
        "breakfast": "breakfast",
        "review_score": "a point of review score",
        "review_count_100": "100 reviews",
        "stars": "a star",
        "bed_rank": "a better bed",
        "none": "none of the options",
    },
    first="{name} is worth {estimate}{unit} (95 %: {interval})",
    others="{name} {estimate} ({interval})",
    decimals=TWO,
)
WEIGHTS = Wording(WORDING.names, "{name} adds {estimate} to utility (95 %: {interval})", WORDING.others)
"""Where nothing has a price."""
VARIED = Wording(
    {
        **WORDING.names,
        "log_price": "log price",
        "pseudo_r2": "R²",
        "first_shown": "the share of the first option",
    },
    "{name} differs from base by {estimate} (95 %: {interval})",
    WORDING.others,
)
DEARER = 1.1
"""The price whose effect on the odds is told: 10 % higher."""

FORMS = {
    "log": "the logarithm of the price",
    "linear": "the linear price",
    "curved": "a curve between the logarithm of the price and the linear price",
}

TRIAGE, WORTH, PARTS = "Position triage", "Willingness to pay", "Quality"
"""Titles of the sections that may come first."""


def report(found: ConjointAnalysis) -> Report:
    """Make the report: what the attributes are worth first, or the triage where no agent has a model."""
    made = _sections(found)
    if found.coefficients.empty:
        first = [section for section in made if section.title == TRIAGE]
    else:
        first = [section for section in made if section.title == (PARTS if found.money.empty else WORTH)]
    return Report(
        sections=tuple([*first, *(section for section in made if section not in first)]),
        answer=(
            *(sentence(row["group"], _answer(found, row)) for row in found.triage.to_dict("records")),
            *_differing(found.taste_models, found.classes),
            *_varied(found),
        ),
        checked=_checked(found),
        problems=(
            *(note for note in found.notes if note not in ERRORS.values()),
            *uneven(found.attrition_by_factor, "choices"),
        ),
    )


def _answer(found: ConjointAnalysis, triaged: dict[Any, Any]) -> Iterator[str]:
    """Whether the agent looks at the options, what a higher price does, and what the attributes are worth."""
    agent, verdict = triaged["group"], triaged["verdict"]
    if not verdict:
        yield f"nothing is estimated ({triaged['note']})"
        return
    yield f"{verdict}, {_first_taken(found, triaged)}"
    price = found.personality[found.personality["group"] == agent]
    if price.empty:
        little = "its choices say where options stood and little else, so it has no models"
        yield little if verdict.startswith("locked") else "options have no price and no attribute: no models"
        return
    if found.money.empty:
        parts = found.quality[found.quality["group"] == agent]
        by_set = parts["p_by_set_adjusted"]
        told = where_alike(parts).assign(p_adjusted=by_set.fillna(parts["p_adjusted"]))
        yield from clauses(_ordered(told), _worded(WEIGHTS, "", told), _sample(found, told))
        return
    own = price[price["term"] == "price_sensitivity"]
    if by_set := bool(own["by_set_low"].notna().all()):
        own = where_alike(own).assign(p_adjusted=own["p_by_set_adjusted"])
    how = ", by leaving out each choice set" if by_set else ""
    yield from _price(own.iloc[0], bool(claimed(own).iloc[0]), _sample(found, own), how)
    worth = found.money[found.money["group"] == agent]
    said = _ordered(worth[~worth["term"].str.startswith(("chain_", "shown_first", "none"))])
    yield from clauses(said, _worded(WORDING, found.currency, said), _sample(found, worth))
    if said["estimate"].notna().any():
        form, price = worth[["price_form", "at_price"]].iloc[0]
        at = f"{number_text(price, TWO)}{_unit(found.currency)}"
        yield f"all at {found.valued_at}, {at} ({FORMS[form]} fits)"


def _first_taken(found: ConjointAnalysis, triaged: dict[Any, Any]) -> str:
    """How often the agent takes the option shown first, with the interval, and chance where it is no half."""
    agent = triaged["group"]
    places = found.positions[(found.positions["group"] == agent) & (found.positions["options"] == "")]
    if places.empty:
        return str(triaged["note"])
    first = places.iloc[0]
    pairs = bool(first["chance"] == 0.5) and not math.isnan(triaged["exact_low"])
    ends = triaged["exact_low"], triaged["exact_high"]
    low, high = ends if pairs else (first["conf_low"], first["conf_high"])
    how = f"95 %{', score interval' * pairs}: {number_text(100 * low, 1)} to {number_text(100 * high, 1)}"
    chance = "" if first["chance"] == 0.5 else f"; by chance {number_text(100 * first['chance'], 1)} %"
    return f"{takes(found.positions, agent, triaged['verdict'])} ({how}{chance})"


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one agent: hotels' attributes in the order of the names, then the others."""
    place = {term: at for at, term in enumerate(WORDING.names)}
    return rows.sort_values("term", key=lambda terms: terms.map(place).fillna(len(place)), kind="stable")


def _sample(found: ConjointAnalysis, rows: pd.DataFrame) -> str:
    """What the estimates of one agent rest on; where sets have several sizes, the smallest of them."""
    own = found.fit_statistics[found.fit_statistics["group"].isin(rows["group"])]
    every = int(own["n"].max())
    n = sample_text(rows, "choice")
    return (
        n
        if n == counted(every, "choice")
        else f"{n.split()[0]} of {counted(every, 'choice')}, in the smallest sets"
    )


def _worded(wording: Wording, currency: str, rows: pd.DataFrame) -> Wording:
    names = {term: label(term) for term in rows["term"]} | dict(wording.names)
    return replace(wording, names=names, first=wording.first.replace("{unit}", _unit(currency)))


def _unit(currency: str) -> str:
    """The unit of money after a number; nothing where it is not known."""
    return f" {currency}" if currency else ""


def _price(row: Any, told: bool, sample: str, how: str) -> Iterator[str]:
    """What a price 10 % higher does to the odds of being chosen, from the coefficient of its logarithm.

    how: what the interval is by, where that is not the usual one.
    """
    if math.isnan(row["estimate"]):
        yield f"its price: not estimated ({row['note']})"
    elif math.isnan(row["conf_low"]):
        yield f"its price: no interval, so nothing is claimed ({row['note']})"
    elif not told:
        yield f"its price: not told apart from 0 with {sample}{how}"
    else:
        # The sensitivity is the coefficient with its sign turned, so the ends change places.
        times, low, high = np.exp(-np.log(DEARER) * row[["estimate", "conf_high", "conf_low"]].astype(float))
        yield (
            f"a price 10 % higher multiplies the odds of being chosen by {number_text(times, 2)}"
            f" (95 %{how}: {number_text(low, 2)} to {number_text(high, 2)})"
        )


def _differing(models: pd.DataFrame, classes: pd.DataFrame) -> Iterator[str]:
    """Say which of the fitted models describes the choices best, by its bic."""
    for group, own in models.groupby("group", sort=False):
        best = own.sort_values("bic").iloc[0]
        yield sentence(str(group), [_best(best, classes[classes["group"] == group])])


def _varied(found: ConjointAnalysis) -> Iterator[str]:
    """Say what the variants of the prompt change, a sentence for each agent."""
    for group, own in found.variants.groupby("group", sort=False):
        told, said = own[claimed(own)], []
        for variant, rows in told.groupby("variant", sort=False):
            clause = clauses(rows, _worded(VARIED, "", rows), sample_text(rows, "choice"))
            said.append(f"{variant}: {', '.join(clause)}")
        others = own[~own["variant"].isin(told["variant"])]
        bounded = others["conf_low"].notna().groupby(others["variant"]).transform("any").astype(bool)
        for rows, what in (
            (others[bounded], "nothing is told apart from base with {}"),
            (others[~bounded], "no interval with {}, see the table"),
        ):
            if len(rows):
                names = ", ".join(rows["variant"].unique())
                said.append(f"{names}: {what.format(sample_text(rows, 'choice'))}")
        yield sentence(f"{group}, variants of the prompt", said)


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


def _checked(found: ConjointAnalysis) -> str:
    missing = int(found.triage["n_missing"].sum())
    agents = ", ".join(f"{n} {verdict}" for verdict, n in _verdicts(found.triage).items())
    return f"{'Every' if not missing else 'Not every'} trial ended in a choice; agents: {agents}."


def _verdicts(triage: pd.DataFrame) -> "pd.Series[int]":
    return triage["verdict"].replace("", "without a choice").value_counts()


def _sections(found: ConjointAnalysis) -> list[Section]:
    """One section per question; without a model there is the triage only."""
    money = found.currency or figures.UNITS
    may_lack = (
        *(
            "readings",
            "attrition_by_factor",
            "coefficients",
            "heterogeneity",
            "taste_models",
            "ranking",
            "one_task",
        ),
        *("variants", "variant_orders", "variant_money", "robustness", "larger_sets"),
    )
    tables = found.frames | {name: None for name in may_lack if found.frames[name].empty}
    drawn = {
        "triage": partial(figures.triage_figure, found.triage),
        "price_deciles": partial(figures.price_figure, where_alike(found.price_deciles), money),
        "functional_form": partial(figures.form_figure, found.functional_form),
        "quality": partial(figures.quality_figure, where_alike(found.quality)),
        "personality": partial(figures.personality_figure, where_alike(found.personality)),
        "money": partial(figures.money_figure, found.money, money, found.valued_at),
        "set_size": partial(figures.block_figure, where_alike(found.set_size)),
        "model_size": partial(figures.size_figure, found.model_size),
        "brands": partial(figures.brand_figure, where_alike(found.brands)),
        "variants": partial(figures.variant_figure, found.variants),
        "booked": partial(figures.booked_figure, found.booked, money),
    }
    made = written_sections(WORDS, tables, drawn, money=money, valued_at=found.valued_at)
    return [*made, *([Section("Notes", " ".join(found.notes))] if found.notes else [])]
