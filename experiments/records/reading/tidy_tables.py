"""Make the tidy tables of a run, as `analysis` reads them and `souk export` writes them."""

import json
import re
from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import sqlalchemy as sql

from analysis.orders.table import ORDER_COLUMNS
from analysis.tables.choice_table import ATTRIBUTES, BADGE, COLUMNS, check_table, only_extreme
from experiments.records.errors import CHECK_IT, Unreadable, cause
from experiments.records.reading.interventions import never_received
from experiments.records.reading.people import participants_of
from experiments.records.record import BOTH, IN_VIEW, NEVER_IN_VIEW, nudge_on
from experiments.records.right_options import right_options
from experiments.records.store import Records
from experiments.records.tables import (
    answers,
    attributes,
    factors,
    metadata,
    options,
    orders,
    outcomes,
    prompts,
    questions,
    receipts,
    runs,
    same_trial,
    scores,
    trials,
    unchecked,
)
from experiments.records.whole_file import whole_file
from interventions.cards.explained import read_explained
from interventions.errors import UserError
from interventions.files.schema import Intervention
from interventions.html.currencies import signs

_TRIAL_COLUMNS: Final = (
    "run", "trial", "agent", "set", "outcome", "nudge", "nudge_text", "family", "direction", "condition",
    "match", "profile", "modality", "repeat", "ordering", "steps", "tokens_in", "tokens_out", "cost",
    "seconds",
)  # fmt: skip

_OPTION_COLUMNS: Final = (
    "trial", "option", "position", "viewed_first", "category", "price", "rating", "reviews",
    *(f"catalogue_{name}" for name in ATTRIBUTES), "nudged", "opened",
)  # fmt: skip

_ORDER_FACTS: Final = ("advertised_total", "placed_total", "currency")

_MONEY: Final = re.compile(
    r"([A-Z]{0,3}[$€£¥₩₹₽₺₴₫฿₪₱]|\b[A-Z]{3}\b)\s?\d|\d\s?([$€£¥₩₹₽₺₴₫฿₪₱]|\b[A-Z]{3}\b|zł|Kč|kr)"
)
"""What stands beside an amount of money."""

_PACKED: Final = 10_000
"""The number of rows that are packed at a time."""


def tidy_table(records: Records, run: str) -> pd.DataFrame:
    """Return a row for each option shown in the trials of a run.

    `chosen` is empty in a trial without a choice. Where letters were scored, `chance` is that of each option.
    """
    of_trials = sql.select(*(trials.c[name] for name in _TRIAL_COLUMNS), trials.c.choice, trials.c.reason)
    of_options = (
        sql.select(
            *(options.c[name] for name in _OPTION_COLUMNS),
            options.c.name.label("attr_name"),
            sql.cast(attributes.c.attributes, sql.Text).label("attributes"),
        )
        .join_from(
            options,
            attributes,
            same_trial(options, attributes) & (options.c.position == attributes.c.position),
            isouter=True,
        )
        .where(options.c.run == run)
        .order_by(options.c.trial, options.c.position)
    )
    # Joined here and not in the database, which would send all that is said of a trial with each option.
    shown = _read(records, of_options)
    frame = shown.merge(_read(records, of_trials.where(trials.c.run == run)), on="trial")
    frame["reading"] = _readings(records, run, frame)
    _divide_nudges(records, run, frame)
    frame = _with_rationales(records, run, frame)
    # Before the placebo was a condition of its own, its trials were stored as nudged.
    placebos = frame["nudge"].isin(_placebos(records, run)) & (frame["condition"] == "nudged")
    frame["condition"] = frame["condition"].mask(placebos, "placebo")
    frame["randomised"], frame["currency"] = _randomised(records, run), _currency(records, run)
    people = participants_of(records, run)
    if len(people):
        frame = frame.merge(people, on="trial", how="left")
        unseen = frame["reason"].str.startswith(NEVER_IN_VIEW) | (frame["outcome"] == "treatment_failed")
        frame["in_view"] = (~unseen).astype(int)
        told = frame["proposed"].notna()
        frame["proposed"] = (frame["option"] == frame["proposed"]).astype("Int64").where(told)
    chances = _chances(records, run)
    if len(chances):
        known = chances.rename(columns={"number": "position"}).drop(columns="value")
        frame = frame.merge(known, on=["trial", "position"], how="left")
    made = frame["outcome"] == "choice"
    frame["chosen"] = (frame["option"] == frame["choice"]).astype("Int64").where(made)
    _with_right(records, run, frame)
    if (listed := frame["attributes"].str.contains(f'"{IN_VIEW}"', na=False, regex=False)).any():
        frame = _as_listed(frame, listed)
    more = _decoded(records, frame["attributes"]).add_prefix("attr_")
    if "attr_currency" in more:
        own = more.pop("attr_currency")
        frame["currency"] = own.replace({s: c for s, c in signs("en").items() if c}).fillna(frame["currency"])
    documented = [*(column.name for column in COLUMNS), "attr_name"]
    checked = check_table(pd.concat([frame, more], axis=1)).drop(columns={"rationale"}.difference(frame))
    return checked[[*(name for name in documented if name in checked), *more]]


def _as_listed(frame: pd.DataFrame, listed: "pd.Series[bool]") -> pd.DataFrame:
    """Leave out the products that no page showed, of trials with a choice whose lists were whole.

    listed: the products that were shown. The lowest price and the highest rating are those of products that
    show one.
    """
    whole = listed.groupby(frame["trial"]).transform("any") & frame["chosen"].eq(0).fillna(False)
    frame = frame[listed | ~whole].reset_index(drop=True)
    return frame.assign(
        cheaper=only_extreme(frame, "trial", "price", "min", complete=False).astype(int),
        higher_rated=only_extreme(frame, "trial", "rating", "max", complete=False).astype(int),
    )


def _divide_nudges(records: Records, run: str, frame: pd.DataFrame) -> None:
    """Give each option of trials with two nudges head to head its own."""
    both = frame.index[(frame["condition"] == BOTH) & frame["nudge"].str.contains(":")]
    if len(both):
        known = {each["id"]: Intervention.model_validate(each) for each in _interventions(records, run)}
        cells = frame.loc[both, ["nudge", "ordering", "position"]].itertuples(index=False)
        own = pd.Series([nudge_on(*cell) for cell in cells], both)
        frame.loc[both, "nudge"], own = own, own[own.isin(known)]
        for name, part in (("nudge_text", "text"), ("family", "family"), ("direction", "direction")):
            frame.loc[own.index, name] = [getattr(known[each], part) for each in own]


def _with_right(records: Records, run: str, frame: pd.DataFrame) -> None:
    """Add which options are right for users who have told what counts; empty for others.

    It follows from the figures that were shown, not from those of the design. Empty too in a trial in which
    a figure that counts is not known of an option.
    """
    profiles = _fact(records, run, "experiment").get("profiles") or []
    told = {each["id"]: each["right"] for each in profiles if isinstance(each, dict) and each.get("right")}
    if told:
        frame["right"] = pd.Series(pd.NA, frame.index, dtype="Int64")
    own = frame[frame["profile"].isin(told)]
    known = own[["trial", "profile", "nudge", "nudged", *ATTRIBUTES]].astype(object)
    shown: Any = known.where(known.notna(), None).to_dict("records")
    right: list[Any] = []
    for _, each in groupby(shown, itemgetter("trial")):
        options = list(each)
        fits = right_options(told[options[0]["profile"]], options, options[0]["nudge"])
        right += [pd.NA] * len(options) if fits is None else map(int, fits)
    if told:
        frame.loc[own.index, "right"] = pd.array(right, dtype="Int64")


def _randomised(records: Records, run: str) -> str:
    """The attributes that the run drew independently of the products, joined by +."""
    drawn = _fact(records, run, "experiment").get("attributes") or {}
    badges = (drawn.get("badges") or {}).get("only", ())
    return "+".join([name for name in ATTRIBUTES if drawn.get(name)] + [f"{BADGE}{name}" for name in badges])


def _currency(records: Records, run: str) -> str:
    """The currency of the prices on a run's choice cards, or of what is asked for; empty: of none.

    In a shop of one's own products it is the one that the experiment names.
    """
    if named := (_fact(records, run, "experiment").get("options") or {}).get("currency"):
        return str(named)
    made_of = _fact(records, run, "inputs").get("cards") or []
    cards = [card for part in made_of for card in (part if isinstance(part, list) else [part])]
    told = [card for card in cards if "alternatives" in card]
    shown: dict[str, Any] = next((card["alternatives"][0] for card in told if card["alternatives"]), {})
    found = next((found for _, text in shown.get("facts", []) if (found := _MONEY.search(text))), None)
    units = [(card.get("answer") or {}).get("unit", "") for card in told]
    sign = next(filter(None, found.groups() if found else units), "")
    return "" if sign == "%" else signs("en").get(sign) or sign


def _placebos(records: Records, run: str) -> list[str]:
    """The ids of the run's interventions that are placebos."""
    return [item["id"] for item in _interventions(records, run) if item["kind"] == "placebo"]


def _interventions(records: Records, run: str) -> list[dict[str, Any]]:
    """The interventions of a run as plain data."""
    return [item for item, *_ in _fact(records, run, "inputs").get("interventions", [])]


def _fact(records: Records, run: str, name: str) -> dict[str, Any]:
    """A fact of a run; empty where it has none."""
    return records.value(sql.select(runs.c.facts[name]).where(runs.c.run == run)) or {}


def _decoded(records: Records, texts: "pd.Series[str]") -> pd.DataFrame:
    """The JSON objects in a column as columns; each text, of which there may be few, is read once."""
    codes, known = pd.factorize(texts)
    try:
        rows = [dict(json.loads(text)) for text in known]
    except (ValueError, TypeError) as error:
        raise Unreadable(f"--db {records.url}: attributes: {error}; {CHECK_IT}") from None
    rows += [{}] * bool((codes < 0).any())  # the last: of none
    return pd.DataFrame(rows).iloc[codes].set_axis(texts.index)


_RESPONSE_COLUMNS: Final = (
    "run", "trial", "agent", "item", "condition", "repeat", "response", "reason", "reference", "low", "high",
    "scenario", "temperature", "outcome", "tokens_in", "tokens_out", "cost", "seconds",
)  # fmt: skip


def response_table(records: Records, run: str) -> pd.DataFrame:
    """Return a row for each question of a run, which is a trial.

    `response` is empty where there is no valid one. Where letters were scored, `chance` is that of the biased
    answer.
    """
    query = (
        sql.select(
            *((trials if name in trials.c else questions).c[name] for name in _RESPONSE_COLUMNS),
        )
        .join_from(trials, questions, same_trial(trials, questions))
        .where(trials.c.run == run)
        .order_by(trials.c.trial)
    )
    frame = _read(records, query)
    chances = _chances(records, run).dropna(subset="value")
    if len(chances):
        biased = (chances["chance"] * chances["value"]).groupby(chances["trial"]).sum()
        frame["chance"] = frame["trial"].map(biased)
    frame = frame.assign(reading=_readings(records, run, frame), currency=_currency(records, run))
    return _with_rationales(records, run, frame)


def orders_table(records: Records, run: str) -> pd.DataFrame:
    """Return a row for each trial of a run that is to end with an order, as `analysis.orders` reads it."""
    names = [column.name for column in ORDER_COLUMNS if column.name in trials.c]
    of_trials = (
        sql.select(*(trials.c[name] for name in names), *(orders.c[name] for name in _ORDER_FACTS))
        .join_from(trials, orders, same_trial(trials, orders))
        .where(trials.c.run == run)
        .order_by(trials.c.trial)
    )
    came = sql.select(outcomes.c.trial, outcomes.c.name, outcomes.c.value).where(outcomes.c.run == run)
    flags = _read(records, came).pivot(index="trial", columns="name", values="value").astype("Int64")
    found = _read(records, of_trials).merge(flags, left_on="trial", right_index=True)
    for key in ("dose", "combines"):
        if said := {each["id"]: each[key] for each in _interventions(records, run) if each.get(key)}:
            found[key] = found["nudge"].map(said)
    if "combines" in found:
        found["combines"] = found["combines"].str.join(" ")
    return found[[column.name for column in ORDER_COLUMNS if column.name in found]]


def _chances(records: Records, run: str) -> pd.DataFrame:
    """The chance of each letter of the cards that were scored: trial, number, value, chance."""
    query = (
        sql.select(*(scores.c[name] for name in ("trial", "number", "value", "logprob")))
        .join_from(scores, questions, same_trial(scores, questions))
        .where(scores.c.run == run, questions.c.mode == "logprobs")
    )
    found = _read(records, query)
    chance = np.exp(found["logprob"].fillna(-np.inf).to_numpy(float))
    return found.assign(chance=chance).drop(columns="logprob")


def _readings(records: Records, run: str, frame: pd.DataFrame) -> "pd.Series[str]":
    """How the last answer of each row's trial was read; empty where none was, nor was one invalid."""
    query = sql.select(answers.c.trial, answers.c.rule).where(answers.c.run == run).order_by(answers.c.number)
    rules = _read(records, query).drop_duplicates("trial", keep="last").set_index("trial")["rule"]
    said = frame["reason"].str.extract(r"^(invalid) answer(: \w+)").fillna("")
    invalid = said[0] + said[1]
    return invalid.where(invalid != "", frame["trial"].map(rules).astype(object).fillna(""))


def _with_rationales(records: Records, run: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the reasons that were given beside the last answers, where the run asked for them."""
    experiment = records.value(sql.select(runs.c.facts["experiment"]).where(runs.c.run == run)) or {}
    if not experiment.get("rationale"):
        return frame
    query = (
        sql.select(answers.c.trial, answers.c.text)
        .where(answers.c.run == run, answers.c.value.is_not(None))
        .order_by(answers.c.number)
    )
    last = _read(records, query).drop_duplicates("trial", keep="last").set_index("trial")["text"]
    said = last.map(lambda text: found.reason if (found := read_explained(text)) else "").astype(object)
    return frame.assign(rationale=frame["trial"].map(said).fillna(""))


def score_table(records: Records, run: str) -> pd.DataFrame:
    """Return a row for each prompt and target of a run, with its score.

    `analysis.anchoring` reads this table. `varied`: the field that differs, where it is no anchor.
    """
    inputs = records.value(sql.select(runs.c.facts["inputs"]).where(runs.c.run == run)) or {}
    varied = (inputs.get("stimuli") or {}).get("varied")
    query = (
        sql.select(
            trials.c.run,
            trials.c.trial,
            trials.c.agent,
            trials.c.set.label("stimulus"),
            prompts.c.anchor,
            trials.c.condition,
            prompts.c.fields,
            *(scores.c[name] for name in ("target", "value", "logprob", "tokens", "shifted", "note")),
        )
        .join_from(trials, scores, same_trial(trials, scores))
        .join(prompts, same_trial(trials, prompts))
        .where(trials.c.run == run)
        .order_by(trials.c.agent, trials.c.set, trials.c.condition, prompts.c.fields, scores.c.number)
    )
    frame = _read(records, query)
    return frame.assign(varied=varied) if varied else frame


def receipts_table(records: Records, run: str, agents: Collection[str] = ()) -> pd.DataFrame:
    """Count the receipts of a run by intervention, edit, role and page type.

    Columns: trials, receipts, matches, and `not_checked`, the trials in which it was not looked for in the
    browser whether the edit stood at its place. Only these agents count; none named: all. A nudge without
    any receipt has a row of its own, with 0 receipts in the trials that it was planned in, and no edit.
    """
    group = ("intervention", "edit", "role", "page_type")
    by = [receipts.c[name] for name in group]
    wanted = trials.c.agent.in_(agents) if agents else sql.true()
    of_agents = sql.select(trials.c.trial).where(trials.c.run == run, wanted)
    unproven = (
        sql.select(*(unchecked.c[name] for name in group), sql.func.count().label("not_checked"))
        .where(unchecked.c.run == run, unchecked.c.trial.in_(of_agents))
        .group_by(*(unchecked.c[name] for name in group))
        .subquery()
    )
    query = (
        sql.select(
            *by,
            sql.func.count(receipts.c.trial.distinct()).label("trials"),
            sql.func.count().label("receipts"),
            sql.func.sum(receipts.c.matches).label("matches"),
            sql.func.coalesce(sql.func.max(unproven.c.not_checked), 0).label("not_checked"),
        )
        .join(unproven, sql.and_(*(each == unproven.c[each.name] for each in by)), isouter=True)
        .where(receipts.c.run == run, receipts.c.trial.in_(of_agents))
        .where(receipts.c.intervention != "")  # the observer of guests, in every condition
        .group_by(*by)
        .order_by(*by)
    )
    table, lost = _read(records, query), never_received(records, run, agents=agents)
    rows = [dict.fromkeys(group, "") | {"intervention": name, "trials": n} for name, n in lost.items()]
    counts = dict.fromkeys(("receipts", "matches", "not_checked"), 0)
    more = pd.DataFrame([row | counts for row in rows], columns=list(table))
    return pd.concat([table, more], ignore_index=True) if len(table) and rows else more if rows else table


def factors_table(records: Records, run: str) -> pd.DataFrame | None:
    """Return the deciding factors of a run; None where it was not judged."""
    query = (
        sql.select(factors.c.trial, trials.c.agent, factors.c.factor, factors.c.judge, factors.c.reason)
        .join_from(factors, trials, same_trial(factors, trials))
        .where(factors.c.run == run)
        .order_by(factors.c.trial, factors.c.number)
    )
    with records.reading() as connection:
        found = pd.read_sql(query, connection)
    return None if found.empty else found


def stored_rows(records: Records, run: str, name: str, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return the rows of a run in the table of this name, in the order of their key.

    Without `columns`, all columns are returned.
    """
    table = metadata.tables[name]
    wanted = [table.c[column] for column in columns] or list(table.c)
    query = sql.select(*wanted).where(table.c.run == run).order_by(*table.primary_key.columns)
    with records.reading() as connection:
        return pd.read_sql(query, connection)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write Parquet or CSV, by the file's suffix; through a temporary file, so never half a table.

    Raises:
        UserError: another suffix, or a folder that cannot be written.
    """
    if path.suffix not in (".parquet", ".csv"):
        raise UserError(f"--out {path}: the suffix must be .parquet or .csv")
    with whole_file(path) as partial:
        if path.suffix == ".parquet":
            frame.to_parquet(partial, index=False)
        else:
            frame.to_csv(partial, index=False)


def _read(records: Records, query: sql.Select[Any]) -> pd.DataFrame:
    """The answer, its columns typed as the query's are. Rows are packed as they come: they are many."""
    schema = pa.schema([(column.name, _packed(column.type)) for column in query.selected_columns])
    packed = []
    with records.reading() as connection:
        for rows in connection.execute(query).partitions(_PACKED):
            columns = zip(zip(*rows, strict=True), schema, strict=True)
            values = [_array(records, cells, column) for cells, column in columns]
            packed.append(pa.record_batch(values, schema=schema))
    frame: pd.DataFrame = pa.Table.from_batches(packed, schema).to_pandas()
    return frame


def _array(records: Records, cells: tuple[Any, ...], column: pa.Field) -> pa.Array:
    try:
        return pa.array(cells, column.type)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise Unreadable(f"--db {records.url}: {column.name}: {cause(error)}; {CHECK_IT}") from None


def _packed(kind: sql.types.TypeEngine[Any]) -> pa.DataType:
    if isinstance(kind, sql.Float):
        return pa.float64()
    return pa.int64() if isinstance(kind, sql.Integer) else pa.string()
