"""Fitting: make a simulated shopper of the choices of an agent or of people."""
