"""The options of models that look at pictures: what a name does not tell, what a provider lets one set."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

Coordinates = Literal["pixels", "grid1000", "smart_resize28"]
Policy = Literal[
    "FINANCIAL_TRANSACTIONS",
    "SENSITIVE_DATA_MODIFICATION",
    "COMMUNICATION_TOOL",
    "ACCOUNT_CREATION",
    "DATA_MODIFICATION",
    "USER_CONSENT_MANAGEMENT",
    "LEGAL_TERMS_AND_AGREEMENTS",
]


class ComputerOptions(BaseModel):
    """The options of an agent. What is left out follows from its name, or is left to the provider."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    coordinates: Coordinates | None = None
    """In what an open model gives points: pixels of the picture, thousandths of it, or pixels of the picture
    as models that descend from Qwen2.5-VL resize it."""
    disabled_safety_policies: tuple[Policy, ...] | None = None
    """The policies of Google by which it asks to confirm an action, or refuses it, that are switched off."""
    prompt_injection_detection: bool | None = None
    """Whether Google looks for instructions in pictures."""


DEFAULT: Final = ComputerOptions()
_TAKEN: Final = {
    "gemini-computer": ("disabled_safety_policies", "prompt_injection_detection"),
    **dict.fromkeys(("ui-tars-computer", "qwen-computer", "fara-computer"), ("coordinates",)),
}
"""The options that each provider's agents take; others take none."""


def misfit(agent: str, options: ComputerOptions) -> str:
    """Return why an agent takes none of these options, by its name; empty where it takes them."""
    provider, _, model = agent.partition(":")
    taken = _TAKEN.get(provider, ())
    if not taken or not model:
        return f'"{agent}" takes no options; agents that do: {", ".join(f"{name}:MODEL" for name in _TAKEN)}'
    if wrong := sorted(options.model_fields_set - set(taken)):
        return f"{agent} takes no {wrong[0]}; it takes {' and '.join(taken)}"
    return ""
