"""Hold the values of people that stand beside those of agents, and the publications that they are from."""

from typing import Final, NamedTuple


class Publication(NamedTuple):
    """Who published a value, when, and where it can be read."""

    authors: str
    year: int
    link: str

    def __str__(self) -> str:
        return f"{self.authors} ({self.year}), {self.link}"


CHEREP: Final = Publication("Cherep et al.", 2026, "https://arxiv.org/abs/2509.25609")
HUMAN_EFFECTS: Final = {"viewed_first": 4.0, "higher_rated": 5.0, "cheaper": 9.4, "nudged": 9.9}
"""Effects on the choices of human shoppers by term, in percentage points: of `CHEREP`."""

ARIELY: Final = Publication(
    "Ariely, Loewenstein and Prelec", 2003, "https://doi.org/10.1162/00335530360535153"
)
HUMAN_CORRELATION: Final = 0.388
"""The correlation of willingness to pay with two digits of the social security number: of `ARIELY`."""
