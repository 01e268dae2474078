"""The exact tests against the exchanges of the design itself, each of them made and counted."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.choice.exact.exact import NO_STRATA, REPEATED, exact_tests
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import shown
from tests.analysis.estimators.test_randomisation import effect
from tests.support import size

TEXTS = {"best": "Best seller", "late": "Sold out soon"}


def design(
    seed: int,
    options: int = 2,
    sets: int = 2,
    texts: tuple[str, ...] = ("best",),
    profiles: tuple[str, ...] = ("none",),
    repeats: int = 1,
    placebo: bool = False,
) -> pd.DataFrame:
    """A full crossing: each option carries each text, in both orders, under each profile; random choices."""
    rng, rows = np.random.default_rng(seed), []
    cells = product(range(sets), profiles, range(repeats), (False, True), (*texts, *["plain"] * placebo))
    for at, profile, repeat, reverse, text in cells:
        names = [f"o{number}" for number in range(options)]
        for carrier in ("", *names):
            if text == "plain" and not carrier:
                continue
            order = names[::-1] if reverse else names
            rows += shown(
                f"{at}/{profile}/{repeat}/{reverse}/{text}/{carrier}",
                order,
                order[int(rng.integers(options))],
                set=f"s{at}",
                category=f"c{at}",
                price={name: 10 + int(name[1:]) for name in names},
                rating={name: 60 + 5 * int(name[1:]) for name in names},
                nudged={name: int(name == carrier and text != "plain") for name in names},
                placebo={name: int(name == carrier and text == "plain") for name in names},
                nudge=text,
                nudge_text=TEXTS.get(text, "A product"),
                family="f",
                condition="control" if not carrier else "placebo" if text == "plain" else "nudged",
                profile=profile,
                repeat=repeat,
            )
    return check_table(pd.DataFrame(rows))


def repeated(table: pd.DataFrame, times: int) -> pd.DataFrame:
    """Every trial so many times, answered alike."""
    copies = [
        table.assign(trial=table["trial"].str.replace("/0/", f"/{each}/"), repeat=each)
        for each in range(times)
    ]
    return pd.concat(copies, ignore_index=True).drop(columns="trial_id")


def row(frame: pd.DataFrame, term: str, part: str = "", level: str = "") -> pd.Series:
    return frame.set_index(["term", "part", "level"]).loc[(term, part, level)]


def trials(table: pd.DataFrame) -> Iterator[dict[str, str]]:
    """What the oracle knows of a trial."""
    for name, rows in table.groupby("trial", sort=False):
        at, profile, repeat, reverse, text, carrier = str(name).split("/")
        yield {
            "set": at,
            "profile": profile,
            "repeat": repeat,
            "order": reverse,
            "text": text,
            "carrier": carrier,
            "first": rows.loc[rows["position"] == 0, "option"].item(),
            "chosen": rows.loc[rows["chosen"] == 1, "option"].item(),
        }


def exchanged(table: pd.DataFrame, mark: str, same: tuple[str, ...]) -> tuple[float, float, int]:
    """Mean effect, p value by all exchanges within strata, and the number of strata."""
    strata = defaultdict(list)
    for trial in trials(table):
        strata[tuple(trial[name] for name in same)].append((trial[mark], trial["chosen"]))
    cells = [tuple(zip(*each, strict=True)) for each in strata.values() if len(each) > 1]
    observed = sum(effect(*cell) for cell in cells)
    sums = [
        sum(effect(order, cell[1]) for order, cell in zip(orders, cells, strict=True))
        for orders in product(*(permutations(cell[0]) for cell in cells))
    ]
    as_far = float(np.mean([abs(each) >= abs(observed) - 1e-9 for each in sums]))
    return 100 * observed / len(cells), as_far, len(cells)


def says(found: pd.Series, truth: tuple[float, float, int]) -> None:
    assert (found["estimate"], found["p_value"], found["strata"]) == pytest.approx(truth, abs=1e-9)
    assert found["conf_low"] <= found["estimate"] <= found["conf_high"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("options", "sets"), [(2, 3), (3, 1)])
def test_the_nudge_and_the_order(seed: int, options: int, sets: int) -> None:
    table = design(seed, options, sets)
    found = exact_tests(table)
    nudged = table[table["trial"].str.split("/").str[-1] != ""]
    says(row(found, "nudged"), exchanged(nudged, "carrier", ("set", "order")))
    says(row(found, "viewed_first"), exchanged(table, "first", ("set", "carrier")))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_by_text_category_and_profile(seed: int) -> None:
    table = design(seed, sets=2, texts=("best", "late"), profiles=("none", "thrifty"))
    found = exact_tests(table)
    nudged = table[table["trial"].str.split("/").str[-1] != ""]
    same = ("set", "order", "text", "profile")
    for part, column in (("nudge_text", "nudge_text"), ("category", "category"), ("profile", "profile")):
        for level, own in nudged.groupby(column):
            says(row(found, "nudged", part, str(level)), exchanged(own, "carrier", same))
    assert not (found["part"] == "family").any(), "there is only one"
    for _, family in found.groupby("part"):
        told = multipletests(family["p_value"], method="fdr_bh")[1]
        assert family["p_adjusted"].tolist() == pytest.approx(told)


@pytest.mark.parametrize("seed", range(3))
def test_what_a_profile_changes(seed: int) -> None:
    """The same trials with and without the profile; either of the two answers could have been the other's."""
    table = design(seed, sets=2, profiles=("none", "thrifty"))
    found = row(exact_tests(table), "cheaper", "profile_difference", "thrifty")
    answers = defaultdict(dict)
    for trial in trials(table):
        key = trial["set"], trial["order"], trial["carrier"]
        # The cheaper one is o0; controls of both profiles are pairs, too.
        answers[key][trial["profile"]] = 1 if trial["chosen"] == "o0" else -1
    differences = [each["thrifty"] - each["none"] for each in answers.values()]
    sums = [np.dot(signs, differences) for signs in product((-1, 1), repeat=len(differences))]
    as_far = float(np.mean([abs(each) >= abs(sum(differences)) for each in sums]))
    says(found, (100 * float(np.mean(differences)), as_far, len(differences)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_nudge_less_its_placebo(seed: int) -> None:
    table = design(seed, sets=1, texts=("best", "late"), placebo=True)
    found = row(exact_tests(table), "nudged_less_placebo")
    carried = table["trial"].str.split("/").str[-2:].str.join("/")
    plain = table[carried.str.startswith("plain/")]
    says(row(exact_tests(table), "placebo"), exchanged(plain, "carrier", ("set", "order")))
    cells = defaultdict(list)
    for trial in trials(table):
        if trial["carrier"]:
            won = 1.0 if trial["chosen"] == trial["carrier"] else -1.0
            cells[trial["order"], trial["carrier"]].append((trial["text"] == "plain", won))
    units = [[won for _, won in sorted(each)] for each in cells.values()]  # the placebo's is the last

    def less(unit: list[float], at: int) -> float:
        return float(np.mean([won for place, won in enumerate(unit) if place != at])) - unit[at]

    observed = sum(less(unit, 2) for unit in units)
    sums = [
        sum(less(unit, at) for unit, at in zip(units, places, strict=True))
        for places in product(range(3), repeat=len(units))
    ]
    as_far = float(np.mean([abs(each) >= abs(observed) - 1e-9 for each in sums]))
    says(found, (100 * observed / len(units), as_far, len(units)))


@pytest.mark.slow
def test_repeats_that_are_answered_alike_count_once() -> None:
    """Else a question could be asked until its answer is significant."""
    table = design(3, sets=3)
    first = exact_tests(table)
    found = exact_tests(check_table(repeated(table, 40)))
    for column in ("estimate", "p_value", "conf_low", "conf_high", "strata"):
        pd.testing.assert_series_equal(found[column], first[column])
    assert (found["note"] == REPEATED).all() and (first["note"] == "").all()


@pytest.mark.parametrize(("options", "repeats", "seed"), [(2, 2, 0), (2, 3, 1), (3, 2, 2)])
def test_repeats_of_a_question_are_exchanged_together(options: int, repeats: int, seed: int) -> None:
    """All moves of the carrier round the options, the same in all repeats of a question, are counted."""
    table = design(seed, options, sets=3, repeats=repeats)
    cells = defaultdict(dict)
    for trial in trials(table):
        if trial["carrier"]:
            cells[trial["set"], trial["order"], trial["repeat"]][trial["carrier"]] = trial["chosen"]
    questions = defaultdict(list)
    for (at, order, _), chosen in cells.items():
        marks = sorted(chosen)
        answers = tuple(chosen[mark] for mark in marks)
        moves = [effect((*marks[by:], *marks[:by]), answers) for by in range(options)]
        questions[at, order].append(moves)
    moved = [np.mean(rounds, axis=0) for rounds in questions.values()]
    sums = [sum(each) for each in product(*moved)]
    as_far = float(np.mean([abs(each) >= abs(sums[0]) - 1e-9 for each in sums]))
    says(row(exact_tests(table), "nudged"), (100 * sums[0] / len(moved), as_far, len(moved)))


@pytest.mark.slow
@pytest.mark.parametrize("repeats", [6, 9, 11])
def test_an_interval_holds_its_estimate_at_any_number_of_repeats(repeats: int) -> None:
    """Nine ninths add up to more than 1 by rounding, and yet no effect of a question is beyond an end."""
    table, rng = repeated(design(0, sets=8), repeats), np.random.default_rng(0)
    names = table["trial"].unique()
    turned = table["trial"].isin(rng.choice(names, len(names) // 20, replace=False))
    table["chosen"] = table["chosen"].mask(turned, 1 - table["chosen"])
    found = exact_tests(check_table(table))
    assert (found["conf_low"].between(-100, found["estimate"])).all()
    assert (found["conf_high"].between(found["estimate"], 100)).all()


def test_a_nudge_that_pushes_away_counts_the_other_way() -> None:
    table = design(5, sets=3)
    turned = exact_tests(table.assign(direction=-1.0))
    for term, sign in (("nudged", -1), ("viewed_first", 1)):
        one, other = row(exact_tests(table), term), row(turned, term)
        assert other["estimate"] == sign * one["estimate"] and other["p_value"] == one["p_value"]
        ends = (one["conf_low"], one["conf_high"])
        assert (other["conf_low"], other["conf_high"]) == pytest.approx(
            ends if sign > 0 else (-ends[1], -ends[0])
        )


@pytest.mark.slow
def test_what_the_design_does_not_exchange_has_no_row_or_says_so() -> None:
    table = design(1, sets=2)
    alone = table[(table["trial"].str.endswith("/o0")) & (table["trial"].str.contains("/False/"))]
    found = exact_tests(check_table(alone.drop(columns="trial_id")))
    assert found["term"].tolist()[:2] == ["viewed_first", "nudged"]
    assert (
        (found["note"] == NO_STRATA).all() and found["estimate"].isna().all() and (found["strata"] == 0).all()
    )
    both = table.assign(nudged=1)  # no option is the carrier
    assert row(exact_tests(both), "nudged")["strata"] == 0 < row(exact_tests(both), "viewed_first")["strata"]
    few = table[["trial", "agent", "set", "option", "position", "chosen", "outcome"]]
    assert exact_tests(check_table(few))["strata"].tolist() == [2, 0]  # what else differed is not known
    none = table.assign(chosen=pd.NA, outcome="no_choice")
    assert exact_tests(none).empty


def test_nothing_ever_moves() -> None:
    """An agent that always takes the same product: that is a finding, with an interval."""
    table = design(1, sets=20)
    same = table.assign(chosen=(table["option"] == "o0").astype("Int64"))
    found = row(exact_tests(same), "nudged")
    assert (found["estimate"], found["p_value"], found["strata_for"], found["strata_against"]) == (0, 1, 0, 0)
    assert -11 < found["conf_low"] < 0 < found["conf_high"] < 11


def drawn_design(seed: int, options: int, sets: int) -> pd.DataFrame:
    """Sets that are shown with two drawn prices each, which may get other answers; one trial is lost."""
    rng, rows = np.random.default_rng(seed), []
    for at, hand, reverse in product(range(sets), range(2), (False, True)):
        names = [f"o{number}" for number in range(options)]
        prices = dict(zip(names, np.roll(np.arange(10.0, 10 + options), hand), strict=True))
        for carrier in names:
            order = names[::-1] if reverse else names
            chosen = order[int(rng.integers(options))]
            if (at, hand, reverse, carrier) == (0, 0, False, "o0"):
                continue
            rows += shown(
                f"{at}/{hand}/{reverse}/{carrier}",
                order,
                chosen,
                set=f"s{at}",
                price=prices,
                randomised="price",
                nudged={name: int(name == carrier) for name in names},
                nudge="best",
                nudge_text="Best seller",
                direction=1,
            )
    return check_table(pd.DataFrame(rows))


@pytest.mark.parametrize(("options", "sets", "seed"), [(2, 3, 0), (2, 3, 1), (2, 2, 2), (3, 2, 3)])
def test_draws_of_a_question_are_exchanged_together(options: int, sets: int, seed: int) -> None:
    """All moves of the carrier round the options, the same in all displays of a question, are counted."""
    table = drawn_design(seed, options, sets)
    chosen = table[table["chosen"] == 1].groupby("trial")["option"].first()
    strata = defaultdict(list)
    for trial, choice in chosen.items():
        at, hand, reverse, carrier = str(trial).split("/")
        strata[at, reverse, hand].append((carrier, choice))
    questions = defaultdict(list)
    for (at, reverse, _), own in strata.items():
        if len(own) > 1:
            questions[at, reverse].append(sorted(own))

    def effect(own: list[tuple[str, str]], by: int) -> float:
        marks = [carrier for carrier, _ in own]
        moved = [marks[(place - by) % len(marks)] for place in range(len(marks))]
        differences = []
        for mark in marks:
            takes = [choice == mark for _, choice in own]
            at = moved.index(mark)
            others = [take for place, take in enumerate(takes) if place != at]
            differences.append(takes[at] - sum(others) / len(others))
        return sum(differences) / len(differences)

    each = list(questions.values())
    possible = [
        [np.mean([effect(own, by) for own in displays]) for by in range(6 if options == 3 else 2)]
        for displays in each
    ]
    means = [np.mean(values) for values in product(*possible)]
    (row,) = exact_tests(table).query("term == 'nudged' and part == ''").to_dict("records")
    assert row["strata"] == len(each) == 2 * sets
    assert row["estimate"] == pytest.approx(100 * means[0])
    assert row["p_value"] == pytest.approx(np.mean([abs(mean) >= abs(means[0]) - 1e-9 for mean in means]))


@pytest.mark.slow
def test_displays_that_are_answered_alike_count_once() -> None:
    """An agent that answers a question alike, whatever prices are shown, has no more strata."""
    table = drawn_design(5, 2, 8)
    known = table["set"] + table["viewed_first"].astype(str) + table["nudged"].astype(str)
    rng = np.random.default_rng(1)
    taste = {name: rng.random() for name in sorted(known.unique())}
    best = known.map(taste) + table["viewed_first"] * 1e-3
    alike = table.assign(chosen=(best == best.groupby(table["trial"]).transform("max")).astype("Int64"))
    once = alike[alike["trial"].str.contains("/1/")]
    both, one = (exact_tests(each).query("part == '' and term == 'nudged'").iloc[0] for each in (alike, once))
    for name in ("strata", "estimate", "p_value", "conf_low", "conf_high"):
        assert both[name] == pytest.approx(one[name]), name
    assert both["n"] > one["n"]


@pytest.mark.slow
def test_the_interval_of_a_drawn_level_is_right_and_says_what_its_test_says() -> None:
    """In lists of eight, each shown in eight orders, by an agent of a known taste."""
    rng, names, rows = np.random.default_rng(6), [f"o{number}" for number in range(8)], []
    for at, turn in product(range(24), range(8)):
        order = [*names[turn:], *names[:turn]]
        prices = dict(zip(names, rng.permutation([10.0] * 7 + [20.0]).tolist(), strict=True))
        rows += shown(f"{at}/{turn}", order, "o0", set=f"s{at}", price=prices, randomised="price")
    table = check_table(pd.DataFrame(rows))
    top = table["price"].eq(20).to_numpy().reshape(-1, 8)
    chance = np.exp(top) / np.exp(top).sum(axis=1, keepdims=True)
    share = chance[top].mean()
    truth, studies, missed, contradicted = 100 * (share - (1 - share) / 7), size(20, 200), 0, 0
    for _ in range(studies):
        picked = (rng.random((len(top), 1)) > chance.cumsum(axis=1)).sum(axis=1)
        chosen = (np.arange(8) == picked[:, None]).ravel()
        row = exact_tests(table.assign(chosen=pd.array(chosen.astype(int)))).set_index("term").loc["price"]
        missed += not row["conf_low"] <= truth <= row["conf_high"]
        contradicted += row["p_value"] < 0.001 and row["conf_low"] <= 0 <= row["conf_high"]
    assert missed <= stats.binom.ppf(0.999, studies, 0.06), missed / studies
    assert contradicted == 0
