"""Effects by modality: what they are compared with, and who has none. The numbers are as those by profile."""

import pandas as pd
import pytest

from analysis.choice.effects.groups import modality_effects
from analysis.choice.ended.steps import modality_use
from analysis.choice.report.report import report
from analysis.choice.study import analyze_choice
from analysis.tables.choice_table import check_table
from tests.analysis.conftest import simulate_study


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """The same trials as HTML and as picture."""
    table = simulate_study(3, sets=24, nudges_per_set=2, nudges=6, categories=24).table
    pictures = table.assign(modality="screenshot", trial=table["trial"] + "/p")
    return check_table(pd.concat([table.assign(modality="html"), pictures], ignore_index=True))


def test_html_is_the_base_and_without_it_the_first_by_name(table: pd.DataFrame) -> None:
    effects, differences = modality_effects(table)
    assert effects["modality"].tolist() == ["html"] * 4 + ["screenshot"] * 4
    assert set(differences["modality"]) == {"screenshot"}
    effects, differences = modality_effects(table.assign(modality=table["modality"].replace("html", "tree")))
    assert list(dict.fromkeys(effects["modality"])) == ["screenshot", "tree"]
    assert set(differences["modality"]) == {"tree"}
    assert differences["estimate"].notna().all()


def test_an_agent_without_a_modality_is_left_out_and_one_without_html_has_no_difference(
    table: pd.DataFrame,
) -> None:
    """A program has a browser of its own; a model that looks at pictures is shown no HTML."""
    program = table[table["modality"] == "html"].assign(agent="program", modality="")
    looker = table[table["modality"] == "screenshot"].assign(agent="looker")
    effects, differences = modality_effects(check_table(pd.concat([table, program, looker])))
    assert set(effects["modality"]) == {"html", "screenshot"}
    assert set(effects["group"]) == {"balanced", "looker"}
    known = effects[effects["estimate"].notna()].groupby("group")["modality"].unique().map(list).to_dict()
    assert known == {"balanced": ["html", "screenshot"], "looker": ["screenshot"]}
    assert differences.set_index("group").loc["looker", "estimate"].isna().all()
    assert modality_effects(check_table(program))[0].empty


def test_the_section_is_there_where_there_are_modalities(table: pd.DataFrame) -> None:
    few = table[table["set"].isin(["set0", "set1", "set2", "set3"])]
    (section,) = [each for each in report(analyze_choice(few)).sections if each.title == "Modalities"]
    assert [each.name for each in section.tables] == [
        "modality_differences",
        "modalities",
        "modality_use",
    ]
    assert section.figures
    assert section.tables[0].frame.set_index("term").loc["nudged", "modality"] == "screenshot"
    alone = report(analyze_choice(few[few["modality"] == "html"]))
    assert "Modalities" not in {each.title for each in alone.sections}


def test_what_trials_take_is_told_by_modality(table: pd.DataFrame) -> None:
    used = table.assign(
        tokens_in=table["modality"].map({"html": 4000, "screenshot": 100}), tokens_out=10, steps=3, cost=0.002
    )
    first = used["trial"] == used["trial"].iloc[0]
    used.loc[first, ["outcome", "chosen", "cost"]] = ["agent_error", None, None]
    found = modality_use(check_table(used)).set_index("modality")
    trials = table.groupby("modality")["trial"].nunique()
    assert found["trials"].to_dict() == trials.to_dict()
    assert found["tokens_in"].to_dict() == {"html": 4000, "screenshot": 100}
    assert found["answered"].to_dict() == pytest.approx(
        {"html": 100 - 100 / trials["html"], "screenshot": 100}
    )
    # What is not known of each trial is not known.
    assert found["cost"].isna().to_dict() == {"html": True, "screenshot": False}
    assert modality_use(check_table(table[table["modality"] == "html"])).empty
