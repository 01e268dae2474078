"""Analyse choices in a shop: from a tidy table to a report in sections."""

from analysis.choice.study import ChoiceAnalysis, analyze_choice

__all__ = ["ChoiceAnalysis", "analyze_choice"]
