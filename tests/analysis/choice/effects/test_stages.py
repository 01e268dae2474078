"""The stages of attention against a simulation whose truth is known, and what they refuse to say."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy import stats as distributions

from analysis.choice import analyze_choice
from analysis.choice.effects.stages import ALWAYS, NONE_KNOWN, stages
from analysis.choice.report.report import report
from analysis.tables.choice_table import check_table
from tests.support import size

Floats = npt.NDArray[np.float64]
OPTIONS = 3


class Attention:
    """Trios of which each product is viewed by chance; the nudge moves what is viewed, or chosen of it."""

    def __init__(self, sets: int, views: float, chooses: float, seed: int = 0) -> None:
        tastes = np.random.default_rng(seed).normal(size=(sets, OPTIONS))
        cells = [*product(range(sets), (-1, *range(OPTIONS)), range(OPTIONS))]
        rows = [(*cell, option) for cell in cells for option in range(OPTIONS)]
        number, nudged, first, option = np.array(rows).T
        carries = (option == nudged).astype(int)
        self.table = pd.DataFrame(
            {
                "run": "r",
                "agent": "a",
                "trial": np.repeat([f"t{each}" for each in range(len(cells))], OPTIONS),
                "set": [f"set{each}" for each in number],
                "category": [f"category{each}" for each in number],
                "option": [f"product{each}" for each in option],
                "position": (option - first) % OPTIONS,
                "outcome": "choice",
                "nudged": carries,
                "nudge": np.where(nudged < 0, "", "n"),
                "nudge_text": np.where(nudged < 0, "", "text"),
                "condition": np.where(nudged < 0, "none", "nudged"),
            }
        )
        shape = (len(cells), OPTIONS)
        chance = 1 / (1 + np.exp(-(0.2 + views * carries + 0.5 * (option == first)))).reshape(shape)
        odds = np.exp(tastes[number, option] + chooses * carries).reshape(shape)
        self.subsets = np.array([*product((0, 1), repeat=OPTIONS)][1:])
        own = np.where(self.subsets, chance[:, None], 1 - chance[:, None]).prod(axis=2)
        self.of_subset = own / own.sum(axis=1, keepdims=True)
        among = odds[:, None] * self.subsets
        self.of_option = among / among.sum(axis=2, keepdims=True)

    def drawn(self, rng: np.random.Generator) -> pd.DataFrame:
        which = np.array([rng.choice(len(self.subsets), p=own) for own in self.of_subset])
        chosen = [rng.choice(OPTIONS, p=own[at]) for at, own in zip(which, self.of_option, strict=True)]
        picked = np.eye(OPTIONS, dtype=int)[chosen].ravel()
        return self.table.assign(opened=2 * self.subsets[which].ravel(), chosen=picked)

    def truth(self) -> dict[str, float]:
        """The effect of the nudge on each stage: its carriers less the others, where there is one."""
        share = self.of_subset[:, :, None]
        viewed = (share * self.subsets).sum(axis=1).ravel()
        luck = (share * self.subsets / self.subsets.sum(axis=1, keepdims=True)).sum(axis=1).ravel()
        total = (share * self.of_option).sum(axis=1).ravel()
        of = {"viewed": viewed, "by_viewing": luck, "by_choosing": total - luck, "total": total}
        nudged, shown = self.table["nudged"].eq(1), self.table["condition"].eq("nudged")
        return {
            name: 100 * float(each[nudged].mean() - each[shown & ~nudged].mean()) for name, each in of.items()
        }


@pytest.mark.slow
@pytest.mark.parametrize(("views", "chooses"), [(1.5, 0.0), (0.0, 1.5), (1.0, 1.0)])
def test_each_stage_has_its_own_truth_in_its_interval(views: float, chooses: float) -> None:
    made, studies, missed = Attention(24, views, chooses), size(40, 500), {}
    truth, rng = made.truth(), np.random.default_rng(1)
    for _ in range(studies):
        found = stages(check_table(made.drawn(rng)))
        own = found[found["term"] == "nudged"].set_index("stage")
        for stage, value in truth.items():
            inside = own.loc[stage, "conf_low"] <= value <= own.loc[stage, "conf_high"]
            missed[stage] = missed.get(stage, 0) + (not inside)
        parts = own.loc[["by_viewing", "by_choosing"], "estimate"]
        assert own.loc["total", "estimate"] == pytest.approx(parts.sum())
    if not (views and chooses):
        assert truth["viewed" if chooses else "by_choosing"] == pytest.approx(0, abs=1e-9)
    for stage, count in missed.items():
        assert count <= distributions.binom.ppf(0.999, studies, 0.06), (stage, count / studies)


def test_of_what_is_always_viewed_nothing_is_said() -> None:
    table = Attention(12, 1.0, 1.0).drawn(np.random.default_rng(0))
    always = stages(check_table(table.assign(opened=1)))
    assert set(always["note"]) == {ALWAYS} and always["estimate"].isna().all()
    assert (always["n"] == table["trial"].nunique()).all()
    unknown = analyze_choice(table.drop(columns="opened"))
    assert unknown.stages is None and '"stages"' not in unknown.to_json()
    unseen = stages(check_table(table.assign(opened=1 - table["chosen"])))
    assert set(unseen["note"]) == {NONE_KNOWN} and (unseen["n"] == 0).all()


def test_a_product_was_viewed_on_its_page_or_in_a_list() -> None:
    table = Attention(12, 1.0, 1.0).drawn(np.random.default_rng(0))
    seen = table["opened"].gt(0).astype(int)
    in_lists = table.assign(opened=table["chosen"], attr_in_view=seen)
    once = stages(check_table(table))
    pd.testing.assert_frame_equal(once, stages(check_table(in_lists)))
    # A trial of which one product's view is not known, or whose choice was not viewed, is left out.
    lost = table.assign(opened=table["opened"].astype(float).mask(table["trial"] == "t0"))
    lost.loc[(lost["trial"] == "t1") & lost["chosen"].eq(1), "opened"] = 0
    without = stages(check_table(lost)).set_index(["stage", "term"])
    row, whole = (
        without.loc[("viewed", "nudged")],
        once.set_index(["stage", "term"]).loc[("viewed", "nudged")],
    )
    assert (row["n"], row["n_missing"]) == (whole["n"] - 2, whole["n_missing"] + 2)
    among = once.set_index(["stage", "term"]).loc[("chosen_if_viewed", "nudged"), "n"]
    assert among == seen.groupby(table["trial"]).sum().gt(1).sum()


def test_the_report_parts_an_effect() -> None:
    found = analyze_choice(Attention(12, 1.0, 1.0).drawn(np.random.default_rng(0)))
    section = next(each for each in report(found).sections if each.title == "Stages of attention")
    assert [each.name for each in section.tables] == ["stages"]
    assert list(section.tables[0].frame)[:3] == ["group", "stage", "term"]
