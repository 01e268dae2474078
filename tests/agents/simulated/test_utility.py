import csv
import itertools
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.simulated.tab_shopper import shipped
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities, choose, draw, source_for

DATA = Path(__file__).parents[4] / "shared/data/abxlab"
PLAIN = DisplayedOption(price=20.0, rating=80.0, reviews=12)

tastes = st.builds(Taste, **{
    name: st.floats(-50, 50) for name in ("log_price", "rating", "log_reviews", "position", "nudge")
})  # fmt: skip
alternatives = st.builds(
    DisplayedOption,
    price=st.none() | st.floats(0, 1e9),
    rating=st.none() | st.floats(0, 100),
    reviews=st.integers(0, 10**9),
    cue=st.sampled_from([-1, 0, 1]),
    viewed_first=st.booleans(),
)


def _logit(difference: float) -> float:
    return 1 / (1 + math.exp(-difference))


@pytest.mark.parametrize(
    ("taste", "better", "difference"),
    [
        (Taste(log_price=-5), DisplayedOption(10.0, 80.0, 12), 5 * math.log(2)),
        (Taste(rating=1.5), DisplayedOption(20.0, 90.0, 12), 1.5),
        (Taste(log_reviews=0.5), DisplayedOption(20.0, 80.0, 25), 0.5 * math.log(2)),
        (Taste(position=0.7), DisplayedOption(20.0, 80.0, 12, viewed_first=True), 0.7),
        (Taste(nudge=0.6), DisplayedOption(20.0, 80.0, 12, cue=1), 0.6),
        (Taste(nudge=0.6), DisplayedOption(20.0, 80.0, 12, cue=-1), -0.6),
        (Taste(brand={"Arvo": 0.9}), DisplayedOption(20.0, 80.0, 12, brand="ARVO"), 0.9),
        (Taste(cancellation=0.8), DisplayedOption(20.0, 80.0, 12, cancellation=True), 0.8),
        (Taste(breakfast=0.3), DisplayedOption(20.0, 80.0, 12, breakfast=True), 0.3),
        (Taste(bed=0.2), DisplayedOption(20.0, 80.0, 12, bed=3), 0.6),
        (Taste(stars=0.4), DisplayedOption(20.0, 80.0, 12, stars=5), 0.0),  # where only one has them
    ],
)
def test_each_weight_acts_in_its_documented_unit(
    taste: Taste, better: DisplayedOption, difference: float
) -> None:
    assert choice_probabilities(taste, [better, PLAIN])[0] == pytest.approx(_logit(difference))


def test_stars_act_by_their_difference() -> None:
    pair = [DisplayedOption(20.0, 80.0, 12, stars=5), DisplayedOption(20.0, 80.0, 12, stars=3)]
    assert choice_probabilities(Taste(stars=0.4), pair)[0] == pytest.approx(_logit(0.8))


@pytest.mark.parametrize("others", [1, 2, 7])
def test_the_locked_take_the_first_with_a_fixed_probability(others: int) -> None:
    offered = [DisplayedOption(90.0, 10.0, 0, viewed_first=True), *[DisplayedOption(10.0, 90.0, 9)] * others]
    taste = Taste(log_price=-5, locked=0.9)
    np.testing.assert_allclose(choice_probabilities(taste, offered), [0.9, *[0.1 / others] * others])
    np.testing.assert_allclose(choice_probabilities(taste, offered[:1]), [1])
    np.testing.assert_allclose(choice_probabilities(taste, offered[1:]), [1 / others] * others)


def test_what_is_not_displayed_counts_as_the_mean_of_what_is() -> None:
    taste = Taste(log_price=-2, rating=1)
    shown = [DisplayedOption(10.0, 60.0, 0), DisplayedOption(40.0, 80.0, 0)]
    hidden, mean = DisplayedOption(None, None, 0), DisplayedOption(20.0, 70.0, 0)
    np.testing.assert_allclose(
        choice_probabilities(taste, [*shown, hidden]), choice_probabilities(taste, [*shown, mean])
    )
    np.testing.assert_allclose(choice_probabilities(taste, [hidden, hidden]), [0.5, 0.5])


@given(tastes, st.lists(alternatives, max_size=5))
def test_probabilities_are_a_distribution_for_any_page(taste: Taste, offered: list[DisplayedOption]) -> None:
    probabilities = choice_probabilities(taste, offered)
    assert probabilities.shape == (len(offered),)
    assert (probabilities >= 0).all()
    assert not offered or probabilities.sum() == pytest.approx(1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6).filter(any), st.floats(0, 1, exclude_max=True))
def test_draw_inverts_the_cumulative_distribution(weights: list[float], uniform: float) -> None:
    probabilities = np.array(weights) / sum(weights)
    index = draw(probabilities, uniform)
    assert probabilities[:index].sum() <= uniform + 1e-12
    assert uniform < probabilities[: index + 1].sum() + 1e-12


@pytest.mark.parametrize(
    ("probabilities", "uniform", "index"),
    [([0.25, 0.75], 0.2499, 0), ([0.25, 0.75], 0.25, 1), ([0.0, 1.0], 0.0, 1), ([0.1] * 10, 1 - 2**-53, 9)],
)
def test_draw_at_the_edges(probabilities: list[float], uniform: float, index: int) -> None:
    assert draw(np.array(probabilities), uniform) == index


def test_balanced_reacts_to_everything_in_the_range_of_people_and_models() -> None:
    """The exact effects over published pairs of products, each in every order and nudged in turn."""
    path = DATA / "product_pairs.csv"
    if not path.exists():
        pytest.skip(f"{path} is absent: the public pairs are not part of the repository")
    taste = shipped().agents["balanced"].taste
    effects: dict[str, list[float]] = {"cheaper": [], "higher rated": [], "viewed first": [], "nudged": []}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            facts = [
                (float(row[f"product{i}_price"]), float(row[f"product{i}_rating"]),
                 int(float(row[f"product{i}_reviews"] or 0)))
                for i in (1, 2)
            ]  # fmt: skip
            for first, nudged in itertools.product((0, 1), (None, 0, 1)):
                pair = [
                    DisplayedOption(*fact, cue=1 if i == nudged else 0, viewed_first=i == first)
                    for i, fact in enumerate(facts)
                ]
                advantage = np.subtract(*choice_probabilities(taste, pair))
                (price_a, rating_a, _), (price_b, rating_b, _) = facts
                if price_a != price_b:
                    effects["cheaper"].append(advantage * (1 if price_a < price_b else -1))
                if rating_a != rating_b:
                    effects["higher rated"].append(advantage * (1 if rating_a > rating_b else -1))
                effects["viewed first"].append(advantage * (1 if first == 0 else -1))
                if nudged is not None:
                    effects["nudged"].append(advantage * (1 if nudged == 0 else -1))
    means = {name: float(np.mean(values)) for name, values in effects.items()}
    assert all(0.10 <= effect <= 0.35 for effect in means.values()), means


@given(tastes, st.lists(alternatives, min_size=1, max_size=4), st.floats(0.1, 10))
def test_noise_is_the_unit_of_the_weights(taste: Taste, shown: list[DisplayedOption], noise: float) -> None:
    scaled = {name: getattr(taste, name) / noise for name in ("log_price", "rating", "log_reviews")}
    scaled |= {"position": taste.position / noise, "nudge": taste.nudge / noise}
    noisy = choice_probabilities(taste.model_copy(update={"noise": noise}), shown)
    assert noisy == pytest.approx(choice_probabilities(Taste(**scaled), shown), abs=1e-9)


@given(tastes, st.lists(alternatives, min_size=1, max_size=4))
def test_without_noise_the_best_is_taken(taste: Taste, shown: list[DisplayedOption]) -> None:
    found = choice_probabilities(taste.model_copy(update={"noise": 0.0}), shown)
    assert found.sum() == pytest.approx(1)
    usual = choice_probabilities(taste, shown)
    assert (usual[found > 0] >= usual.max() - 1e-12).all()


def test_drawn_weights_are_averaged_over() -> None:
    """Against a sum over the grid of a normal distribution, and against the choices of many shoppers."""
    taste = Taste(log_price=-4, rating=1, spread={"log_price": 3, "position": 1.0, "stars": 2})
    shown = [DisplayedOption(20.0, 80.0, 12), DisplayedOption(22.0, 90.0, 3, viewed_first=True)]
    z = np.linspace(-7, 7, 281)
    density = np.exp(-(z**2) / 2)
    price, position = (-4 + 3 * z)[:, None], z[None, :]
    chance = 1 / (1 + np.exp(-(price * math.log(20 / 22) - 1 - position)))
    exact = float((chance * np.outer(density, density)).sum() / density.sum() ** 2)
    assert choice_probabilities(taste, shown)[0] == pytest.approx(exact, abs=0.005)
    source = random.Random(5)
    count = 4_000
    share = sum(choose(taste, shown, source) == 0 for _ in range(count)) / count
    assert share == pytest.approx(exact, abs=4 * math.sqrt(0.25 / count))


@given(tastes, st.lists(alternatives, min_size=1, max_size=4), st.integers(0, 2**40))
def test_what_is_not_asked_for_draws_nothing(taste: Taste, shown: list[DisplayedOption], seed: int) -> None:
    source = source_for(taste, "a prompt", random.Random(seed))
    expected = draw(choice_probabilities(taste, shown), random.Random(seed).random())
    assert choose(taste, shown, source) == expected


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_so_many_choices_follow_from_the_prompt(share: float) -> None:
    """Two answers agree where both follow from the prompt, else by chance."""
    taste, shown = Taste(determinism=share), [PLAIN, PLAIN]
    agree, prompts = 0, 3_000
    for number in range(prompts):
        answers = [
            choose(taste, shown, source_for(taste, f"prompt {number}", random.Random(f"{number} {again}")))
            for again in range(2)
        ]
        agree += answers[0] == answers[1]
    expected = share**2 + (1 - share**2) / 2
    assert agree / prompts == pytest.approx(expected, abs=4 * math.sqrt(0.25 / prompts))
