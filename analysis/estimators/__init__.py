"""Estimators that several kinds of study use."""
