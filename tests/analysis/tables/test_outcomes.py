from typing import get_args

from analysis.tables.outcomes import OUTCOMES, Outcome, outcome_facts


def test_every_outcome_has_its_facts_and_an_unknown_one_a_name() -> None:
    assert list(OUTCOMES) == [*get_args(Outcome)]
    assert outcome_facts("agent_limit") is OUTCOMES["agent_limit"]
    assert (outcome_facts("lost_at_sea").said, outcome_facts("lost_at_sea").failed) == ("lost_at_sea", False)
