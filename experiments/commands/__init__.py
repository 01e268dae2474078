"""The commands of the command line, a module for each group. Each command imports what it needs."""
