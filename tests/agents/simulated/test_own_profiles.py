"""A shopper's file: what it says is what the agent is, and no two shoppers have one name."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from agents.registry import check_agent, check_name, make_agent, make_respondent
from agents.simulated import own_profiles
from agents.simulated.own_profiles import known_as, profile_of, take
from agents.simulated.own_profiles import own_profiles as known
from agents.simulated.tab_shopper import ShopperProfile, shipped
from agents.simulated.utility import ATTRIBUTES
from interventions.errors import UserError

weights = st.dictionaries(st.sampled_from(ATTRIBUTES), st.floats(-100, 100).map(lambda x: round(x, 3)))
tastes = st.builds(
    lambda own, brand, spread, more: {**own, **({"brand": brand} if brand else {}), "spread": spread, **more},
    weights,
    st.dictionaries(st.text("abcXYZ &'\"#:é", min_size=1).filter(str.strip), st.integers(-9, 9), max_size=3),
    st.dictionaries(st.sampled_from(ATTRIBUTES), st.floats(0, 9).map(lambda x: round(x, 3)), max_size=3),
    st.fixed_dictionaries({}, optional={"noise": st.floats(0, 5), "determinism": st.floats(0, 1)}),
)
profiles = st.fixed_dictionaries(
    {"taste": tastes}, optional={"anchoring": st.floats(0, 1), "bias": st.just(0)}
)


def written(folder: Path, name: str, data: dict[str, Any], **style: Any) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(data, allow_unicode=True, **style), encoding="utf-8")
    return f"simulated:{path}"


@given(one=profiles, other=profiles)
def test_a_file_is_known_by_what_it_says(
    one: dict[str, Any], other: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("shoppers")
    first = known_as(written(folder, "mine.yaml", one))
    second = known_as(written(folder / "elsewhere", "mine.yaml", other))
    again = known_as(written(folder / "third", "mine.yaml", one, sort_keys=False, default_flow_style=True))
    same = ShopperProfile.model_validate(one) == ShopperProfile.model_validate(other)
    assert first == again and (first == second) == same
    assert re.fullmatch(r"simulated:mine@[0-9a-f]{8}", first)
    assert profile_of(first) == ShopperProfile.model_validate(one)
    assert profile_of(second) == ShopperProfile.model_validate(other)


def test_no_file_takes_the_place_of_a_shipped_profile(tmp_path: Path) -> None:
    name = known_as(written(tmp_path, "balanced.yaml", {"taste": {"nudge": 9}}))
    assert name.startswith("simulated:balanced@") and profile_of(name).taste.nudge == 9
    assert profile_of("simulated:balanced") == shipped().agents["balanced"]


def test_it_acts_and_answers_and_other_processes_are_given_it(tmp_path: Path, monkeypatch) -> None:
    path = written(tmp_path, "my own, 2nd.yaml", {"taste": {"log_price": -3}})
    check_name(path)
    check_agent(path)
    name = known_as(path)
    assert name.startswith("simulated:my-own-2nd@")
    given_away = known([name, "simulated:balanced"])
    monkeypatch.setattr(own_profiles, "_read", {})
    with pytest.raises(UserError, match=r"its file was not read; name the file, simulated:my-own-2nd\.yaml"):
        make_agent(name, seed=0)
    take(given_away)
    make_agent(name, seed=0)
    make_respondent(name, seed=0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("taste: {log_prise: -5}", r':1:9: taste.log_prise: unknown key; did you mean "log_price"\?'),
        ("taste:\n  spread: {rating: -1}", r":2:12: taste.spread.rating: must be greater than or equal to 0"),
        ("taste:\n  spread: {colour: 1}", r':2:12: taste.spread.colour: unknown value "colour"; use one of'),
        ("taste: {determinism: 1.5}", r":1:9: taste.determinism: must be less than or equal to 1"),
        ("taste: {nudge: 1e9}", r":1:9: taste.nudge: must be less than or equal to 1000000"),
        ("taste: {noise: .nan}", r":1:9: taste.noise: "),
        ("taste: {brand: {'': 1}}", r":1:9: taste.brand: a brand has no name"),
        ("invalid: 2", r":1:1: invalid: "),
        ("anchoring: much", r':1:1: anchoring: expected a number, found "much"'),
        (
            "agents:\n  mine: {}",
            r":1:1: agents: unknown key; known keys: anchoring, bias, checkout, invalid, sight, taste",
        ),
        ("", r":1:1: the file is empty"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(str(path)) + problem) as found:
        check_agent(f"simulated:{path}")
    assert "\n" not in str(found.value)


def test_a_file_that_is_not_there_and_a_name_that_is_none() -> None:
    with pytest.raises(UserError, match=r"nowhere/mine\.yaml: no such file; check the path"):
        check_name("simulated:nowhere/mine.yaml")
    with pytest.raises(UserError, match=r'unknown simulated agent "mine".*a file\'s name ends in \.yaml'):
        check_name("simulated:mine")
