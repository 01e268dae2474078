"""Intervention files and batteries of cards: how they are read."""
