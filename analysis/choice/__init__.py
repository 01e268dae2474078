"""The choice analysis: from a tidy table of choices in a shop to a report in sections."""

from analysis.choice.study import ChoiceAnalysis, analyze_choice

__all__ = ["ChoiceAnalysis", "analyze_choice"]
