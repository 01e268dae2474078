"""Analyse repeated answers: from willingness to pay to a report in sections."""

from analysis.montecarlo.study import MonteCarloAnalysis, analyze_montecarlo

__all__ = ["MonteCarloAnalysis", "analyze_montecarlo"]
