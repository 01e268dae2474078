"""Run many trials: which are wanted, when the next may start, what has ended."""
