"""An answer with its reason, as one JSON object: `{"answer": "A", "reason": "It is cheaper."}`."""

import re
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from interventions.cards.reply import InvalidAnswer, without_reasoning

_FENCED: Final = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


class _Explained(BaseModel):
    model_config = ConfigDict(extra="forbid")

    answer: Annotated[str, Field(coerce_numbers_to_str=True)]
    reason: str


def read_explained(text: str) -> _Explained | None:
    """Return the answer, as text, and its reason; None where the reply is no such object and nothing else."""
    try:
        left = without_reasoning(text)
        fenced = _FENCED.fullmatch(left)
        return _Explained.model_validate_json(fenced[1] if fenced else left)
    except (InvalidAnswer, ValidationError):
        return None
