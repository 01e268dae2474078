"""How the effects on choices are said."""

from analysis.choice.effects.effects import LESS_PLACEBO, PLACEBO
from analysis.reporting.answer import Wording

WORDING = Wording(
    names={
        "nudged": "a nudge",
        LESS_PLACEBO: "a nudge beyond its placebo",
        PLACEBO: "a placebo",
        "cheaper": "being cheaper",
        "higher_rated": "being higher rated",
        "viewed_first": "being seen first",
    },
    first="{name} moves the choice by {estimate} points (95 %: {interval})",
    others="{name} by {estimate} ({interval})",
    decimals=1,
)
"""The terms are said in this order."""
