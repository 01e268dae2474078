"""Analyse conjoint experiments: the weights of price, quality and brand in choices between option cards."""

from analysis.conjoint.pricebench import read_pricebench
from analysis.conjoint.study import ConjointAnalysis, analyze_conjoint

__all__ = ["ConjointAnalysis", "analyze_conjoint", "read_pricebench"]
