"""Experiments: their files, designs and trials, the runner, the records, the command line."""
