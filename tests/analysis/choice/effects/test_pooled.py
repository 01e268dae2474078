"""Random effects of texts, categories and families: which levels take part, and in which model."""

import numpy as np
import pytest
from scipy import stats

from agents.simulated.tab_shopper import shipped_taste
from analysis.choice.effects.effects import main_effects
from analysis.choice.effects.pooled import LEAST_STRATA, heterogeneity
from analysis.choice.exact.exact import exact_tests
from analysis.estimators.random_effects import fit_random_effects
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.simulation import simulated_trials
from tests.simulated_choices import with_choices


@pytest.mark.parametrize("limit", [60, 240])
def test_levels_with_few_strata_are_left_out(limit: int) -> None:
    made = simulated_trials(load_shop_design("nudges", ""), shipped_taste("balanced"), limit)
    table = with_choices(made, made.drawn(np.random.default_rng(0), 1)[:, 0])
    exact = exact_tests(table)
    common, levels = heterogeneity(main_effects(table), exact)
    assert set(common["part"]) == {"nudge_text", "category", "family"}
    for row in common.to_dict("records"):
        own = exact[exact["part"] == row["part"]]
        enough = own[own["strata"] >= LEAST_STRATA]
        assert (row["n"], row["n_missing"]) == (len(enough), len(own) - len(enough))
        shown = levels[levels["part"] == row["part"]].set_index("level")
        for level, strata in zip(own["level"], own["strata"], strict=True):
            few = strata < LEAST_STRATA
            assert few == ("not pooled: fewer than 5 strata" in shown.loc[level, "note"])
            assert few <= np.isnan(shown.loc[level, "shrunken"])
        if len(enough) < 2:
            assert np.isnan(row["estimate"]) and np.isnan(row["p_value"])
            continue
        errors = (enough["conf_high"] - enough["conf_low"]) / (2 * stats.norm.ppf(0.975))
        assert row["estimate"] == pytest.approx(fit_random_effects(enough["estimate"], errors).mean)
