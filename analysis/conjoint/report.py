"""Write the conjoint report: which tables and figures answer which question."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.conjoint import figures
from analysis.conjoint.study import ERRORS, ConjointAnalysis
from analysis.conjoint.tables import where_alike
from analysis.conjoint.tastes_report import differing, taste_sections
from analysis.reporting.answer import Wording, claimed, clauses, number_text, sample_text, sentence, uneven
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section, named_tables
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
    },
    first="{name} is worth {estimate} USD (95 %: {interval})",
    others="{name} {estimate} ({interval})",
    decimals=TWO,
)
DEARER = 1.1
"""The price whose effect on the odds is told: 10 % higher."""

FORMS = {
    "log": "the logarithm of the price",
    "linear": "the linear price",
    "curved": "a curve between the logarithm of the price and the linear price",
}

TRIAGE, WORTH = "Position triage", "Willingness to pay"
"""Titles of the sections that may come first."""


def report(found: ConjointAnalysis) -> Report:
    """Make the report: what the attributes are worth first, or the triage where no agent has a model."""
    made = _sections(found)
    if found.coefficients.empty:
        first = [section for section in made if section.title == TRIAGE]
    else:
        first = [section for section in made if section.title == WORTH]
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
    exact = not math.isnan(triaged["exact_low"])
    ends = ("exact_low", "exact_high") if exact else ("conf_low", "conf_high")
    share, low, high = (number_text(100 * triaged[name], 1) for name in ("estimate", *ends))
    how = f"95 %{', exact' * exact}"
    yield f"{verdict}, takes the option shown first in {share} % of its choices ({how}: {low} to {high})"
    price = found.personality[found.personality["group"] == agent]
    if price.empty:
        yield "its choices say where options stood and little else, so it has no models"
        return
    own = price[price["term"] == "price_sensitivity"]
    if by_set := bool(own["by_set_low"].notna().all()):
        own = where_alike(own).assign(p_adjusted=own["p_by_set_adjusted"])
    how = ", by leaving out each choice set" if by_set else ""
    yield from _price(own.iloc[0], bool(claimed(own).iloc[0]), sample_text(own, "choice"), how)
    worth = found.money[found.money["group"] == agent]
    ordered = worth.set_index("term").reindex([term for term in WORDING.names if term in set(worth["term"])])
    yield from clauses(ordered.reset_index(), WORDING, sample_text(worth, "choice"))
    if ordered["estimate"].notna().any():
        form, price = worth[["price_form", "at_price"]].iloc[0]
        yield f"all at the median price, {number_text(price, TWO)} USD ({FORMS[form]} fits)"


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

    def table(name: str, caption: str) -> NamedTable:
        return NamedTable(name, caption, frames[name])

    found = [
        Section(
            TRIAGE,
            "Who looks at the options at all? The rate is the share of choices of the option that stood"
            " first, of the first two alternatives of the set. With every set shown in both orders an agent"
            " that weighs the attributes comes near 50 %. If the whole interval lies outside 15 to 85 % it is"
            " position-locked: its choices say where options stood and little else, so the models below leave"
            " it out. Undecided: the interval reaches over one of these limits. The exact interval is that of"
            " the sets shown in both orders, whose answers need not be independent.",
            (
                table(
                    "triage",
                    "First-shown rate (share), with both intervals, tests against a half, verdict.",
                ),
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
                table("price_response", "Coefficients of log price (log_price) and of USD (price) by model."),
                table("price_deciles", "Utility against the first decile, and the two fitted curves."),
            ),
            (
                NamedFigure(
                    "price_deciles",
                    "Utility by price decile with 95 % intervals, and the fitted log and linear curves.",
                    partial(figures.price_figure, where_alike(frames["price_deciles"])),
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
            "What do a star, a better bed, free cancellation, breakfast, a point of review score and a"
            " hundred reviews weigh, the log price held? Colours compare agents within a column only.",
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
            " the median price, in USD and in percent of that price. The model also holds the chains and"
            " which option was shown first. The price has the form that fits: a form is enough if the other"
            " one adds nothing to it, and if neither is, a curve holds both. The interval has all values that"
            " the data do not refute. Where the price coefficient is not clearly below 0, or two forms that"
            " fit give different signs, there is no value, and the row says why.\n\n"
            "willingness_to_pay is as published studies have it: without chains and order, and with the price"
            " form of the lower AIC.",
            (
                NamedTable("money", "Worth of one unit in USD, and in percent.", frames["money"], TWO),
                table("price_forms", "Is the form of the price enough? A small p says no."),
                NamedTable(
                    "willingness_to_pay",
                    "USD for one unit, with delta-method and Krinsky-Robb intervals.",
                    frames["willingness_to_pay"],
                    TWO,
                    detail=True,
                ),
            ),
            (
                NamedFigure(
                    "money",
                    "Worth of one unit of each attribute by agent, with 95 % intervals.",
                    partial(figures.money_figure, frames["money"]),
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
            (table("booked", "Mean and median price (USD), mean stars, share of each chain (%)."),),
            (
                NamedFigure(
                    "booked",
                    "Mean price booked with its 95 % interval, and mean price offered.",
                    partial(figures.booked_figure, frames["booked"]),
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
