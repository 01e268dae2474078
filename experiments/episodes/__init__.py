"""One trial, from its start to its outcome."""
