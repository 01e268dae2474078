"""Analyse cognitive biases: from batteries of questions to effect sizes and a report in sections."""

from analysis.biases.study import BiasAnalysis, analyze_biases

__all__ = ["BiasAnalysis", "analyze_biases"]
