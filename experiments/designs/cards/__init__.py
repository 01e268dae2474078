"""Designs with choice cards: conjoint choices, willingness to pay by condition, and bias batteries."""
