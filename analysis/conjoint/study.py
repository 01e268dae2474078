"""Run the whole conjoint analysis: triage first, then the models of the engaged agents."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.conjoint import across, tables
from analysis.conjoint.cards import encode
from analysis.conjoint.fits import Fits, fit_models
from analysis.conjoint.full_models import full_models
from analysis.conjoint.held_out import held_out
from analysis.conjoint.heterogeneity import heterogeneity
from analysis.conjoint.larger_sets import larger_sets
from analysis.conjoint.money import money, money_orders, price_forms
from analysis.conjoint.poolable import robust_pooling
from analysis.conjoint.robustness import robustness, without_one
from analysis.conjoint.tastes import tastes
from analysis.conjoint.triage import positions, positions_by_order, takes, triage
from analysis.conjoint.variants import BASE, of_variant, variant_money, variants, variants_of
from analysis.estimators.choice_sets import Covariance
from analysis.estimators.evenness import by_factor
from analysis.reporting.to_json import to_json
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.families import multiplicity
from analysis.tables.readings import invalid_text, readings

FACTORS = ("ordering", "options", "set", "repeat")
"""What may make choices go missing."""

ERRORS: Mapping[Covariance, str] = {
    "classical": "Standard errors are classical: they take every answer as independent of all others.",
    "robust": "Standard errors are robust: they take every answer as independent of all others.",
    "clustered": "Standard errors are clustered by choice set: answers to one set may be alike.",
}


@dataclass(frozen=True)
class ConjointAnalysis:
    """The frames of an analysis, each documented by the function of its name in this package."""

    triage: pd.DataFrame
    readings: pd.DataFrame
    positions: pd.DataFrame
    positions_by_order: pd.DataFrame
    attributes: pd.DataFrame
    attrition_by_factor: pd.DataFrame
    price_response: pd.DataFrame
    price_deciles: pd.DataFrame
    functional_form: pd.DataFrame
    quality: pd.DataFrame
    willingness_to_pay: pd.DataFrame
    personality: pd.DataFrame
    set_size: pd.DataFrame
    pooling: pd.DataFrame
    model_size: pd.DataFrame
    brands: pd.DataFrame
    brand_permutation: pd.DataFrame
    booked: pd.DataFrame
    coefficients: pd.DataFrame
    fit_statistics: pd.DataFrame
    multiplicity: pd.DataFrame
    money: pd.DataFrame
    price_forms: pd.DataFrame
    money_orders: pd.DataFrame
    held_out: pd.DataFrame
    larger_sets: pd.DataFrame
    without_one: pd.DataFrame
    robustness: pd.DataFrame
    heterogeneity: pd.DataFrame
    shrunken: pd.DataFrame
    ranking: pd.DataFrame
    told_apart: pd.DataFrame
    one_task: pd.DataFrame
    mixed: pd.DataFrame
    classes: pd.DataFrame
    class_members: pd.DataFrame
    taste_models: pd.DataFrame
    variants: pd.DataFrame
    variant_orders: pd.DataFrame
    variant_money: pd.DataFrame
    currency: str
    valued_at: str
    notes: tuple[str, ...]

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The frames by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, pd.DataFrame)}

    def to_json(self) -> str:
        """Return a JSON object with a list of records per frame; undefined values are null."""
        return to_json(vars(self))


def analyze_conjoint(
    table: pd.DataFrame,
    *,
    sizes: Mapping[str, float] | None = None,
    providers: Mapping[str, str] | None = None,
    cov: Covariance | None = None,
    locked: bool = False,
    mixed: bool = False,
    classes: int = 0,
    attributes: Mapping[str, str] | None = None,
    currency: str = "",
    condition: str = BASE,
    at_price: float | None = None,
    robust: bool = False,
) -> ConjointAnalysis:
    """Analyse a tidy table of choices between cards (see `encode` for its columns).

    sizes: billions of parameters by agent, and providers: names by agent, where their labels do not tell.
    cov: standard errors; `clustered` is by choice set. By default they are so where an agent is shown a set
    more than once, in another order or with other prices: it may answer it alike each time; and where options
    have chances, which vary from set to set alone. locked: fit the models of position-locked agents too.
    mixed, classes: say how tastes differ, see `tastes`. attributes: how they are read, by name, where their
    values do not tell (`numbers`, `levels`, `none`). currency: of the prices, where the table has no column
    of it. condition: where a table has `base` and variants of it, the one that all tables but those of
    variants are of. at_price: the price at which attributes have values in `money`, by default the median.
    robust: fit the models of `robustness`.

    Raises AnalysisError for a table that `encode` refuses, and an unknown condition.
    """
    whole = encode(table, attributes, currency)
    named = variants_of(whole)
    cards = of_variant(whole, condition) if named or condition != BASE else whole
    verdicts, places = triage(cards), positions(cards)
    fitted = verdicts["verdict"] != "" if locked else verdicts["verdict"].isin(["engaged", "undecided"])
    engaged = [str(agent) for agent in verdicts.loc[fitted & (cards.priced or bool(cards.controls)), "group"]]
    cov = cov or ("clustered" if cards.repeated or cards.scored else "classical")
    fits = fit_models(cards, engaged, cov=cov)
    coefficients = tables.coefficients(fits)
    personality = across.personality(coefficients, fits)
    brands = tables.brands(coefficients, fits)
    full = full_models(cards, engaged, cov, at_price)
    ranking, told_apart = across.rankings(fits, cards, full)
    read = readings(whole.rows.drop_duplicates(TRIAL_ID))
    compared, orders = variants(whole, engaged)
    common, shrunken = heterogeneity(full)
    differing = tastes(full, cards.controls, mixed=mixed, classes=classes)
    families = {
        "price_response": tables.price_response(coefficients),
        "quality": tables.quality(coefficients, fits, cards.controls),
        "brands": brands,
        "willingness_to_pay": tables.willingness_to_pay(fits, cards),
        "money": money(full),
        "robustness": robustness(full if robust else []),
        "variants": compared,
    }
    return ConjointAnalysis(
        triage=verdicts,
        readings=read,
        positions=places,
        positions_by_order=positions_by_order(cards),
        attributes=cards.attributes,
        attrition_by_factor=_attrition(whole.rows, ("condition", *FACTORS) if named else FACTORS),
        price_deciles=tables.price_deciles(coefficients, fits, cards),
        functional_form=tables.functional_form(fits),
        personality=personality,
        set_size=across.set_size(coefficients, cards),
        pooling=robust_pooling(fits, cards),
        model_size=across.model_size(personality, sizes),
        brand_permutation=across.brand_permutation(brands, providers),
        booked=tables.booked(cards),
        coefficients=coefficients,
        fit_statistics=tables.fit_statistics(fits),
        price_forms=price_forms(full),
        money_orders=money_orders(full),
        held_out=held_out(full),
        larger_sets=larger_sets(full, cards),
        without_one=without_one(full),
        heterogeneity=common,
        shrunken=shrunken,
        ranking=ranking,
        told_apart=told_apart,
        one_task=across.one_task(cards),
        **differing._asdict(),
        **families,
        multiplicity=multiplicity({name: tables.where_alike(each) for name, each in families.items()}),
        variant_orders=orders,
        variant_money=variant_money(whole, engaged, cov, at_price),
        currency=cards.currency,
        valued_at="the median price" if at_price is None else "the chosen price",
        notes=(
            *_triage_notes(verdicts, places, locked, invalid_text(read)),
            *_variant_notes(condition, named),
            *cards.notes,
            *_scored_notes(cards.scored, asked=mixed or classes > 0),
            *_fit_notes(fits),
            ERRORS[cov],
        ),
    )


def _attrition(rows: pd.DataFrame, factors: Sequence[str]) -> pd.DataFrame:
    """Do choices go missing evenly over the orders, the sizes of the sets, the sets and their repeats?"""
    trials = rows.drop_duplicates(TRIAL_ID)
    trials = trials.assign(options=trials["size"])
    chosen = set(rows.loc[rows["chosen"] > 0, TRIAL_ID])
    return by_factor(trials, ~trials[TRIAL_ID].isin(chosen), factors, "set")


def _variant_notes(condition: str, names: list[str]) -> list[str]:
    if not names:
        return []
    return [
        f"There are variants of the prompt ({', '.join([BASE, *names])}): tables are of {condition} alone,"
        " but for those that compare variants, or say how answers were read or missing."
    ]


def _triage_notes(verdicts: pd.DataFrame, places: pd.DataFrame, locked: bool, invalid: str) -> list[str]:
    kept = "has models because they were asked for" if locked else "is left out of the models"
    notes = []
    for row in verdicts.to_dict("records"):
        agent, verdict = row["group"], row["verdict"]
        said = takes(places, agent, verdict)
        if verdict.startswith("locked"):
            notes.append(f"{agent} {kept}: {verdict}, it {said}.")
        elif verdict == "undecided":
            why = (
                f"it {said}, and the 95 % interval reaches over a limit of 15 to 85 %"
                if said
                else row["note"]
            )
            notes.append(f"{agent} is undecided: {why}; it stays in the models.")
        elif not verdict:
            notes.append(f"{agent} is left out of the models: {row['note']}.")
    if missing := int(verdicts["n_missing"].sum()):
        notes.append(
            f"{missing:,} trials have no choice; they are left out of every estimate and counted{invalid}."
        )
    return notes


def _scored_notes(scored: list[str], *, asked: bool) -> list[str]:
    notes = [
        f"{agent}: letters were scored, so the chance of each option counts, not a choice."
        for agent in scored
    ]
    if scored and asked:
        notes.append("How tastes differ is not told from chances; it needs answers that were drawn.")
    return notes


def _fit_notes(fits: Fits) -> list[str]:
    counts = Counter(spec.agent for spec, fit in fits.items() if fit.notes)
    return [
        f"{agent}: the choices are separated in {count} of its models, where some coefficients have no finite"
        " value and are empty; the notes of fit_statistics say by what."
        for agent, count in counts.items()
    ]
