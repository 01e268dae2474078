"""The power of studies of orders: that of the binomial distribution, and of the analysis of such tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from agents.simulated.customer import CheckoutHabits
from agents.simulated.own_profiles import profile_of
from analysis.orders.study import effects, mid_p
from analysis.orders.table import check_orders
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.power.orders import EXACT, MID_P, OrdersRehearsal, chance_of
from experiments.power.rehearsal import Studies
from experiments.power.results import TestedEffect
from experiments.power.splits import with_keys
from interventions.errors import UserError
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map
from tests.analysis.conftest import order_trial
from tests.support import size

CARELESS = profile_of("simulated:careless")


def design(name: str, **keys: object) -> ShopDesign:
    made = with_keys(ShopDesign(experiment_source(name)), keys)
    assert isinstance(made, ShopDesign)
    return made


def told(made: OrdersRehearsal, trials: int, studies: int) -> dict[tuple[str, str], TestedEffect]:
    return {
        (each.feature, test.about): test
        for each in made.of(Studies(trials, studies))
        for test in each.targets
    }


def test_the_chances_are_those_of_what_the_simulated_customer_reads() -> None:
    """As tests/journeys/test_orders.py finds them in a browser."""
    every = load_interventions("checkout", load_site_map("embedded")).interventions
    found = {
        item.id: round(chance_of(item, CheckoutHabits(reads_boxes=0.4, reads_sums=0.2)), 9) for item in every
    }
    fees = {"service-fee-cart", "service-fee-checkout", "service-share-checkout"}
    nothing = {name for name in found if name.endswith("opt-in")} | {
        "suggested-item",
        "extras-offered",
        "service-fee-announced",
        "total-announced",
    }
    for name, chance in found.items():
        # It adds up no lines, and reads what was ordered too late.
        forced = name in ("account-forced", "phone-required", "total-plus-20", "service-fee-order")
        assert chance == (1.0 if forced else 0.8 if name in fees else 0.0 if name in nothing else 0.48), name
    assert chance_of(None, CheckoutHabits(reads_boxes=0)) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("protection-opt-out", 25.0),
        pytest.param("service-fee-checkout", 0.0, marks=pytest.mark.thorough),
    ],
)
def test_the_power_is_that_of_the_binomial_distribution(name: str, effect: float) -> None:
    pairs, studies = 20, size(300, 4_000)
    made = OrdersRehearsal(design("dark-patterns", repeats=1), CARELESS, {name: effect}, 0.0)
    share = effect / 100  # its control never deceives
    b = np.arange(pairs + 1)
    chance = stats.binom.pmf(b, pairs, share)
    own = told(made, made.size, studies)
    for about, p_of in (
        (EXACT, lambda n: stats.binomtest(n, n).pvalue if n else 1),
        (MID_P, lambda n: mid_p(n, 0)),
    ):
        expected = float(chance[[p_of(int(n)) < 0.05 for n in b]].sum())
        error = np.sqrt(max(expected * (1 - expected), 1e-3) / studies)
        assert own[name, about].power == pytest.approx(expected, abs=4 * error), about
    # The smallest effect of the mid-p: the share of which a binomial is significant in 80 %.
    least = own[name, MID_P].detectable
    assert least is not None
    needed = min(n for n in b if mid_p(int(n), 0) < 0.05)
    assert stats.binom.sf(needed - 1, pairs, least / 100) == pytest.approx(0.8, abs=0.1)


@pytest.mark.slow
def test_the_power_is_that_of_the_analysis_of_such_tables() -> None:
    """Two repeats of a question, which count once; sets that do not differ."""
    name, studies, rng = "sneaked-item", size(80, 1_000), np.random.default_rng(5)
    own = told(OrdersRehearsal(design("dark-patterns"), CARELESS, {name: 30.0}, 0.0), 480, size(200, 2_000))
    hits = 0
    for _ in range(studies):
        rows = [
            order_trial(number, condition, deceived=int(rng.random() < rate), repeat=repeat)
            | {"trial": f"{number}-{condition}-{repeat}"}
            for number in range(20)
            for repeat in range(2)
            for condition, rate in (("nudged", 0.3), ("control", 0.0))
        ]
        found = effects(check_orders(pd.DataFrame(rows))).set_index("term")
        hits += found.loc["deceived", "p_value"] < 0.05
    power = own[name, EXACT].power
    assert power is not None
    error = np.sqrt(power * (1 - power) * (1 / studies + 1 / size(200, 2_000)) + 1e-4)
    assert hits / studies == pytest.approx(power, abs=4 * error)


def test_a_pattern_without_a_control_has_no_test_and_that_is_said() -> None:
    made = OrdersRehearsal(design("drip"), CARELESS, {}, 0.5)
    own = told(made, 240, 20)
    assert own["service-fee-cart", EXACT] == TestedEffect(EXACT, None, None, None, None)
    assert own["service-fee-order", EXACT].power is not None
    assert "no test of service-fee-cart: the control shows nothing that could deceive" in made.assumptions
    assert told(made, 1, 20)["service-fee-order", EXACT].power is None
    fewer = made.again(design("drip", repeats=1))
    assert fewer.size == made.size // 2 and fewer.told == made.told


def test_an_effect_that_cannot_be_is_one_line() -> None:
    with pytest.raises(UserError, match="in its control 0 % are deceived; give 0 to 100"):
        OrdersRehearsal(design("drip"), CARELESS, {"service-fee-order": -5.0}, 0.5)
    with pytest.raises(UserError, match="without control trials nothing is compared"):
        OrdersRehearsal.features(design("drip", **{"factors.nudge.on": ["shop"]}))
