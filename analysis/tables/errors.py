"""The one exception of this room."""


class AnalysisError(ValueError):
    """A table that cannot be analysed: one line that names the source, the column and the fix."""
