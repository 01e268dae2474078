"""Write the conjoint report: which tables and figures answer which question."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.conjoint import figures
from analysis.conjoint.study import ERRORS, ConjointAnalysis
from analysis.conjoint.tables import where_alike
from analysis.conjoint.tastes_report import differing, taste_sections
from analysis.conjoint.triage import takes
from analysis.reporting.answer import Wording, claimed, clauses, number_text, sample_text, sentence, uneven
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section, named_tables
from analysis.tables.frame import counted, label
from analysis.tables.readings import CAPTION

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
            *differing(found.taste_models, found.classes),
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
        yield f"all at the median price, {at} ({FORMS[form]} fits)"


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


def _checked(found: ConjointAnalysis) -> str:
    missing = int(found.triage["n_missing"].sum())
    agents = ", ".join(f"{n} {verdict}" for verdict, n in _verdicts(found.triage).items())
    return f"{'Every' if not missing else 'Not every'} trial ended in a choice; agents: {agents}."


def _verdicts(triage: pd.DataFrame) -> "pd.Series[int]":
    return triage["verdict"].replace("", "without a choice").value_counts()


def _sections(analysis: ConjointAnalysis) -> list[Section]:
    """One section per question."""
    frames, notes = analysis.frames, analysis.notes
    money = analysis.currency or figures.UNITS

    def table(name: str, caption: str) -> NamedTable:
        return NamedTable(name, caption, frames[name])

    found = [
        Section(
            TRIAGE,
            "Who looks at the options at all? positions has the share of choices at each position. If the"
            " whole interval of one lies above 85 %, the agent is position-locked: its choices say where"
            " options stood and little else, so the models below leave it out. Undecided: an interval reaches"
            " over this limit.\n\nThe rate in triage is the published one: in tables with pairs the share of"
            " the option that stood first, of the first two alternatives of a set of any size. With every set"
            " shown in both orders an agent that weighs the attributes comes near 50 %. The score interval is"
            " that of the sets shown in both orders, whose answers need not be independent. Of larger sets"
            " alone it is the share of the first position.",
            (
                table("triage", "First-shown rate (share), with both intervals, tests, verdict."),
                table("positions", "Share of choices at each position, beside that of a chooser at random."),
                table("attributes", "How each attribute of the table was read."),
                *named_tables(
                    readings=(CAPTION, frames["readings"]),
                    attrition_by_factor=(
                        "Do choices go missing evenly? Largest difference between levels (points)",
                        frames["attrition_by_factor"],
                    ),
                ),
            ),
            (
                NamedFigure(
                    "triage",
                    "First-shown rate of each agent with its 95 % Wilson interval.",
                    partial(figures.triage_figure, frames["triage"]),
                ),
            ),
        )
    ]
    if frames["coefficients"].empty:
        return [*found, *_notes(notes)]
    found += [
        Section(
            "Price",
            "How much does a higher price put an agent off? In pairs the model is a logit on the differences"
            " between the two options with an intercept; for any set size it is McFadden's conditional logit."
            " A log-price coefficient of -5 means that a price 10 % higher multiplies the odds by 1.1 to the"
            " power of -5, which is 0.62. The dots take the price by deciles and so assume no curve; a curve"
            " that runs through them describes the agent well. Of the two curves the one with the lower AIC"
            " fits better.",
            (
                table(
                    "functional_form", "AIC of the linear less the log price. Negative: linear fits better."
                ),
                table("price_response", f"Coefficients of log price (log_price) and of the price ({money})."),
                table("price_deciles", "Utility against the first decile, and the two fitted curves."),
            ),
            (
                NamedFigure(
                    "price_deciles",
                    "Utility by price decile with 95 % intervals, and the fitted log and linear curves.",
                    partial(figures.price_figure, where_alike(frames["price_deciles"]), money),
                ),
                NamedFigure(
                    "functional_form",
                    "AIC of the linear less the log price, by agent.",
                    partial(figures.form_figure, frames["functional_form"]),
                ),
            ),
        ),
        Section(
            "Quality",
            "What does one unit of each attribute weigh, or a level against its base, the log price held?"
            " Of an opt-out, none is its constant. Colours compare agents within a column only.",
            (table("quality", "Coefficients of the log-price model, pairs where there are any."),),
            (
                NamedFigure(
                    "quality",
                    "Quality coefficients by agent and attribute.",
                    partial(figures.quality_figure, where_alike(frames["quality"])),
                ),
            ),
        ),
        Section(
            "Personality map",
            "Each agent by how strongly it minds the price and how much it values reviews, in one model.",
            (
                table(
                    "personality", "Log-price coefficient with its sign turned, and review-score coefficient."
                ),
            ),
            (
                NamedFigure(
                    "personality",
                    "Price sensitivity against the weight of the review score, with 95 % intervals.",
                    partial(figures.personality_figure, where_alike(frames["personality"])),
                ),
            ),
        ),
        Section(
            WORTH,
            "What one unit of an attribute is worth: its part-worth over that of the price, sign turned, at"
            f" the median price, in {money} and in percent of that price. The model also holds the chains and"
            " which option was shown first. The price has the form that fits: a form is enough if the other"
            " one adds nothing to it, and if neither is, a curve holds both. The interval has all values that"
            " the data do not refute. Where the price coefficient is not clearly below 0, or two forms that"
            " fit give different signs, there is no value, and the row says why.\n\n"
            "willingness_to_pay is as published studies have it: without chains and order, and with the price"
            " form of the lower AIC.",
            (
                NamedTable("money", f"Worth of one unit in {money}, and in percent.", frames["money"], TWO),
                table("price_forms", "Is the form of the price enough? A small p says no."),
                NamedTable(
                    "willingness_to_pay",
                    f"Worth of one unit ({money}), with delta-method and Krinsky-Robb intervals.",
                    frames["willingness_to_pay"],
                    TWO,
                    detail=True,
                ),
            ),
            (
                NamedFigure(
                    "money",
                    "Worth of one unit of each attribute by agent, with 95 % intervals.",
                    partial(figures.money_figure, frames["money"], money),
                ),
            ),
        ),
        Section(
            "Prediction",
            "Does the model say what an agent chooses from cards that it was not fitted to? The choice sets"
            " are put into five parts, and each part is predicted by a model of the others. pseudo_r2 is"
            " McFadden's on the cards of the fit, held_out_r2 the same on the others.",
            (table("held_out", "Hit rate and log-likelihood per choice, beside those of chance."),),
        ),
        *_common(frames),
        *taste_sections(frames),
        Section(
            "Set size",
            "Does a third option change how the price counts? The coefficients come from conditional logits"
            " of each set size. The pooling tests ask whether one model fits all sizes, both orders, and all"
            " agents; a small p says no. p_robust holds where answers depend on each other. p_value, of a"
            " chi-square test, rejects too often where they do and choice sets are few.",
            (
                table(
                    "set_size", "Log-price coefficient by set size; Spearman's rank correlation over agents."
                ),
                table("pooling", "Tests of one model for all set sizes, both orders, all agents."),
            ),
            (
                NamedFigure(
                    "set_size",
                    "Log-price coefficients of two set sizes; on the dotted line they are equal.",
                    partial(figures.block_figure, where_alike(frames["set_size"])),
                ),
            ),
        ),
        Section(
            "Price sensitivity and model size",
            "Do larger models mind the price more? Sizes are given, or read from labels such as 27b.",
            (table("model_size", "Price sensitivity, billions of parameters, and their rank correlation."),),
            (
                NamedFigure(
                    "model_size",
                    "Price sensitivity against the number of parameters.",
                    partial(figures.size_figure, frames["model_size"]),
                ),
            ),
        ),
        Section(
            "Brand",
            "Do chains attract, the price deciles and all quality attributes held? The base are independent"
            " hotels. The permutation test asks whether agents of one provider like the same chains.",
            (
                table("brands", "Coefficients of the chain families."),
                table("brand_permutation", "Correlation within less between providers, with permutation p."),
            ),
            (
                NamedFigure(
                    "brands",
                    "Chain coefficients by agent.",
                    partial(figures.brand_figure, where_alike(frames["brands"])),
                ),
            ),
        ),
        Section(
            "What was booked",
            "The options that were chosen in the smallest sets, beside everything that was offered there,"
            " which is what a chooser at random would book. Position-locked agents are included.",
            (table("booked", f"Mean and median price ({money}), mean stars, share of each chain (%)."),),
            (
                NamedFigure(
                    "booked",
                    "Mean price booked with its 95 % interval, and mean price offered.",
                    partial(figures.booked_figure, frames["booked"], money),
                ),
            ),
        ),
        Section(
            "All models",
            "Every coefficient of every model. logit: pairs, A less B, with an intercept; clogit: conditional"
            " logit, one group per trial. Adjusted p values are Benjamini-Hochberg within one model.",
            (
                table("fit_statistics", "Log-likelihood, AIC, pseudo R2 and sizes."),
                table("coefficients", "Coefficients."),
            ),
        ),
    ]
    return [*found, *_notes(notes)]


def _common(frames: Mapping[str, pd.DataFrame]) -> list[Section]:
    """What agents have in common; nothing where there is one."""
    if frames["heterogeneity"].empty:
        return []
    return [
        Section(
            "Agents in common",
            "What do agents weigh on average, how far do they differ (sd), and where would the part-worth of"
            " a new agent lie? Random effects by REML. A shrunken part-worth draws an agent's own estimate"
            " towards the mean, the further the less certain it is; ranks go by it.",
            (
                NamedTable("heterogeneity", "Part-worths over agents (log price).", frames["heterogeneity"]),
                NamedTable(
                    "shrunken", "Part-worth of each agent, own and shrunken.", frames["shrunken"], detail=True
                ),
            ),
        )
    ]


def _notes(notes: Sequence[str]) -> list[Section]:
    return [Section("Notes", " ".join(notes))] if notes else []
