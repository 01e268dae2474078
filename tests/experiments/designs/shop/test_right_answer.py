"""Users who tell what counts: which products are right follows from what was shown."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from analysis.choice.effects.right_answers import right_answers
from analysis.tables.choice_table import check_table
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.tables import options
from interventions.errors import UserError
from tests.experiments.designs.make import AGENT, shop, source
from tests.ground_truth import carry_out

FILE = experiment_source("instructions").data
Fits = Callable[[Any, Any, bool], bool]
OWN: dict[str, Fits] = {
    "cheapest": lambda each, others, _: all(each.price <= other.price for other in others),
    "best-rated": lambda each, others, _: all(each.rating >= other.rating for other in others),
    "budget": lambda each, _, __: each.price <= 15.5,
    "rated-80": lambda each, others, _: (
        each.rating >= 80 and all(each.price <= other.price for other in others if other.rating >= 80)
    ),
    "colour": lambda _, __, carries: carries,
    "two-rules": lambda each, _, carries: carries and each.price <= 18.5,
    "too-dear": lambda _, __, ___: False,
}
"""What the sentences of the shipped profiles mean where one product is turquoise, read by a person."""


@pytest.mark.browser
async def test_the_right_products_are_those_that_a_reader_of_the_plan_finds(tmp_path: Path) -> None:
    nudge = {"interventions": "instructions", "only": ["colour"], "on": ["random"]}
    profiles = [each for each in FILE["profiles"] if each["id"] != "brand"]
    factors = {"nudge": nudge, "order": "latin-square"}
    file = source("instructions", options={**FILE["options"], "sets": 1}, profiles=profiles, factors=factors)
    done = await carry_out(tmp_path, file, AGENT, 14, 4)
    assert (done.table["outcome"] == "choice").all()
    told = done.table.set_index(["trial", "option"])
    wrong = dict.fromkeys(OWN, 0)
    for trial in done.trials.values():
        fitting = {
            each.key
            for each in trial.products
            if OWN[trial.profile](each, trial.products, each.key == trial.carrier)
        }
        rows = told.loc[trial.id]
        assert set(rows.index[rows["right"] == 1]) == fitting, trial.profile
        wrong[trial.profile] += rows.index[rows["chosen"] == 1][0] not in fitting
    table = right_answers(check_table(done.table))
    questions = table[table["part"] == "question"].assign(level=lambda t: t["level"].str.partition(":")[0])
    assert questions.groupby("level")["wrong"].sum().to_dict() == wrong
    assert questions["trials"].sum() == 14
    # As in an experiment that draws nothing, with a price on each page that could not be read.
    facts = done.design.facts([AGENT])
    plain = replace(facts, experiment={**facts.experiment, "attributes": None})
    done.records.begin_run(done.design.run_id, "plain", plain)
    with done.records.engine.begin() as connection:
        connection.execute(sql.update(options).where(options.c.position == 3).values(price=None))
    again = tidy_table(done.records, done.design.run_id).groupby("profile")["right"]
    assert again.apply(lambda right: right.isna().all()).to_dict() == {
        profile: profile not in ("best-rated", "colour") for profile in OWN
    }
    never = set(table.loc[table["level"].str.endswith(": none fits"), "level"])
    assert "too-dear: none fits" in never


@pytest.mark.parametrize(
    "right, problem",
    [
        ({}, "profiles[0].right: nothing is right; write at_most, at_least, carries, lowest or highest"),
        ({"lowest": "price", "highest": "rating"}, "one figure is extreme; write lowest or highest"),
        ({"carries": "brnd"}, 'no product ever carries "brnd"; did you mean "brand"?'),
        ({"lowest": "colour"}, "profiles[0].right.lowest"),
    ],
)
def test_a_rule_that_makes_nothing_right_is_refused(right: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError) as told:
        shop("instructions", profiles=[{"id": "own", "text": "Mind.", "right": right}])
    assert problem in str(told.value)
