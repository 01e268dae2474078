"""Simulated shoppers and respondents with known tastes."""
