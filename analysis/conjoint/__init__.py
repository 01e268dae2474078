"""The conjoint analysis: what price, quality and brand weigh in choices between option cards."""

from analysis.conjoint.pricebench import read_pricebench
from analysis.conjoint.study import ConjointAnalysis, analyze_conjoint

__all__ = ["ConjointAnalysis", "analyze_conjoint", "read_pricebench"]
