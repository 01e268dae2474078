"""Effects by modality against a shopper that is blind in pictures: the truth is known."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from analysis.choice.effects.effects import TERMS, choice_effects
from analysis.choice.effects.groups import modality_effects
from analysis.choice.report.report import report
from analysis.choice.study import analyze_choice
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import draw
from tests.support import size
from tests.true_effects import true_effects

Simulate = Callable[..., Any]
Chances = npt.NDArray[np.float64]


def both(simulate: Simulate, seed: int, *, blind: bool) -> tuple[pd.DataFrame, Chances]:
    """The same trials as HTML and as picture, with the true chance of each row.

    A blind shopper sees no nudge in a picture: there it chooses as in the control trial with the same order.
    """
    study = simulate(seed, sets=24, nudges_per_set=2, nudges=6, categories=24)
    cell = [study.table[name] for name in ("set", "option", "viewed_first")]
    unseen = pd.Series(study.probabilities).where(study.table["condition"] == "none").groupby(cell)
    in_pictures = unseen.transform("mean").to_numpy() if blind else study.probabilities
    table = pd.concat(
        [
            study.table.assign(modality="html"),
            study.table.assign(modality="screenshot", trial=study.table["trial"] + "/p"),
        ],
        ignore_index=True,
    )
    return check_table(table), np.concatenate([study.probabilities, in_pictures])


def true_differences(table: pd.DataFrame, chances: Chances) -> "pd.Series[float]":
    """The effects in pictures less those in HTML, of the true chances."""
    pictures = (table["modality"] == "screenshot").to_numpy()
    seen, read = (true_effects(table[each], chances[each]) for each in (pictures, ~pictures))
    return seen.set_index("term")["estimate"] - read.set_index("term")["estimate"]


def test_the_effects_in_a_modality_are_those_of_its_trials(simulate: Simulate) -> None:
    table, _ = both(simulate, 3, blind=True)
    effects, differences = modality_effects(table)
    assert effects["modality"].tolist() == ["html"] * 4 + ["screenshot"] * 4
    assert differences["term"].tolist() == list(TERMS)
    for modality, rows in effects.groupby("modality"):
        alone = choice_effects(table[table["modality"] == modality])
        assert rows["estimate"].tolist() == pytest.approx(alone["estimate"].tolist(), abs=1e-8)
    html, pictures = (effects.set_index("modality").loc[name, "estimate"] for name in ("html", "screenshot"))
    apart = pictures.to_numpy() - html.to_numpy()
    assert differences["estimate"].tolist() == pytest.approx(apart.tolist(), abs=1e-8)


def test_without_html_the_first_by_name_is_the_base(simulate: Simulate) -> None:
    table, _ = both(simulate, 3, blind=True)
    effects, differences = modality_effects(table.assign(modality=table["modality"].replace("html", "tree")))
    assert list(dict.fromkeys(effects["modality"])) == ["screenshot", "tree"]
    assert set(differences["modality"]) == {"tree"}
    assert differences["estimate"].notna().all()


def test_an_agent_without_a_modality_is_left_out_and_one_without_html_has_no_difference(
    simulate: Simulate,
) -> None:
    """A program has a browser of its own; a model that looks at pictures is shown no HTML."""
    table, _ = both(simulate, 3, blind=True)
    program = table[table["modality"] == "html"].assign(agent="program", modality="")
    looker = table[table["modality"] == "screenshot"].assign(agent="looker")
    effects, differences = modality_effects(check_table(pd.concat([table, program, looker])))
    assert set(effects["modality"]) == {"html", "screenshot"}
    assert set(effects["group"]) == {"balanced", "looker"}
    known = effects[effects["estimate"].notna()].groupby("group")["modality"].unique().map(list).to_dict()
    assert known == {"balanced": ["html", "screenshot"], "looker": ["screenshot"]}
    assert differences.set_index("group").loc["looker", "estimate"].isna().all()
    assert modality_effects(check_table(program))[0].empty


@pytest.mark.thorough
@pytest.mark.slow
def test_differences_hold_the_truth_and_none_is_seldom_found(simulate: Simulate) -> None:
    studies, rng = size(12, 300), np.random.default_rng(8)
    held: list[bool] = []
    rejected: list[bool] = []
    for blind in (True, False):
        table, chances = both(simulate, 5, blind=blind)
        truth = true_differences(table, chances)
        assert (truth["nudged"] < -5) == blind
        assert blind or (truth.abs() < 1e-9).all()
        for _ in range(studies):
            _, found = modality_effects(table.assign(chosen=draw(table["trial"], chances, rng)))
            rows = found.set_index("term")
            held += ((rows["conf_low"] <= truth) & (truth <= rows["conf_high"])).tolist()
            rejected += [] if blind else (rows["p_value"] < 0.05).tolist()
    print(f"{np.mean(held):.3f} held, {np.mean(rejected):.3f} rejected")
    assert np.mean(held) >= 0.95 - 3 * (0.05 * 0.95 / (2 * studies)) ** 0.5
    assert np.mean(rejected) <= 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5


def test_the_section_is_there_where_there_are_modalities(simulate: Simulate) -> None:
    table, _ = both(simulate, 3, blind=True)
    table = table[table["set"].isin([f"set{number}" for number in range(4)])]
    (section,) = [each for each in report(analyze_choice(table)).sections if each.title == "Modalities"]
    assert [each.name for each in section.tables] == ["modality_differences", "modalities"]
    assert section.figures
    nudged = section.tables[0].frame.set_index("term").loc["nudged"]
    assert nudged["modality"] == "screenshot"
    alone = report(analyze_choice(table[table["modality"] == "html"]))
    assert "Modalities" not in {each.title for each in alone.sections}
