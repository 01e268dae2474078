"""How simulated agents read pages and cards."""
