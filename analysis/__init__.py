"""Estimate what choices mean: from tidy tables to estimates, figures and a report.

Imports nothing else of Souk, so that any study's table in the documented columns can be analysed.
"""
