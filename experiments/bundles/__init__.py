"""A run in one file, for others to check and to build on."""
