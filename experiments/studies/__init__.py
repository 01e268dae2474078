"""The kinds of study, as the analyses know them, and their printed tables."""
