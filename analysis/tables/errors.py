"""The exception that this room raises."""


class AnalysisError(ValueError):
    """A table that cannot be analysed: one line that names the source, the column and the fix."""
