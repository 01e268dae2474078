"""Score how likely a language model holds given answers: log-probabilities, without sampling."""

from typing import Final

from agents.providers import problem_of
from agents.providers.capabilities import check_settings
from agents.providers.model_settings import ModelSettings, split_agent
from agents.scoring.score import Scorer, TargetScore, score_choices
from interventions.errors import UserError

__all__ = ["SCORERS", "Scorer", "TargetScore", "is_local", "make_scorer", "score_choices"]

LOCAL: Final = "hf"
SCORERS: Final = (LOCAL, "compatible", "openai")
"""The providers whose models can be scored."""


def is_local(name: str) -> bool:
    """Return whether the model `PROVIDER:MODEL` runs on this machine, at no cost."""
    return name.partition(":")[0] == LOCAL


def make_scorer(name: str, *, legacy: bool = False, chat: bool = False) -> Scorer:
    """Make the scorer of the model `PROVIDER:MODEL`, cheaply and without using the network.

    `legacy`: targets are scored as in the published study, for `hf` only. `chat`: they are answers in a
    conversation, where the model has a form for that; else they go on with the text.

    Raises:
        UserError: the model cannot be scored, is not there, or a setting or package is missing.
    """
    plain, settings = split_agent(name)
    provider, _, model = plain.partition(":")
    if provider not in SCORERS:
        raise UserError(
            f"agents: {name} gives no log-probabilities; name a model of one of {', '.join(SCORERS)}, "
            "such as hf:FOLDER"
        )
    if settings != ModelSettings(load_in=settings.load_in):
        raise UserError(f"agents: {name}: log-probabilities depend on load_in alone; leave the others out")
    if not model:
        raise UserError(f"agents: {provider}: the model is missing; write {provider}:MODEL")
    check_settings(name)
    if problem := problem_of(provider, settings):
        raise UserError(f"agents: {provider}: {problem}")
    # Imported when needed: the SDK takes seconds to load.
    if provider == LOCAL:
        from agents.scoring.local import LocalScorer  # noqa: PLC0415

        return LocalScorer(model, legacy=legacy, chat=chat, load_in=settings.load_in)
    if legacy:
        raise UserError(f"agents: {name}: the legacy convention needs a local model; name hf:FOLDER")
    from agents.scoring.server import ServerScorer  # noqa: PLC0415

    return ServerScorer(provider, model, chat=chat)
