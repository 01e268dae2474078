"""Anchoring in log-probabilities: expected answers, paired tests, attribution to prompt fields, ABSS."""
