"""The Monte-Carlo analysis: from repeated answers to willingness to pay, and a report in sections."""

from analysis.montecarlo.study import MonteCarloAnalysis, analyze_montecarlo

__all__ = ["MonteCarloAnalysis", "analyze_montecarlo"]
