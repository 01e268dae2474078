"""What estimates and answers mean: Monte-Carlo willingness to pay, and batteries of cognitive biases.

One row per asked question in; tidy frames, figures and sections of a report out.
"""

from analysis.responses.biases import BiasAnalysis, analyze_biases
from analysis.responses.montecarlo import MonteCarloAnalysis, analyze_montecarlo
from analysis.responses.table import check_responses, read_responses

__all__ = [
    "BiasAnalysis",
    "MonteCarloAnalysis",
    "analyze_biases",
    "analyze_montecarlo",
    "check_responses",
    "read_responses",
]
