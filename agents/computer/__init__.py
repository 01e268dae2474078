"""Models that look at pictures and act at points, in their own form: `openai-computer:MODEL`."""

import importlib
from typing import Final

from agents.computer.agent import ComputerAgent, ComputerModel
from agents.computer.options import DEFAULT, ComputerOptions
from agents.providers.capabilities import check_settings
from agents.providers.pricing import price_of
from agents.providers.settings import COMPUTERS
from interventions.errors import UserError

# Imported when needed: the SDKs take seconds to load.
_CLASSES: Final = {
    "openai-computer": ("openai_computer", "OpenAIComputer"),
    "anthropic-computer": ("anthropic_computer", "AnthropicComputer"),
    "anthropic-browser": ("anthropic_browser", "AnthropicBrowser"),
    "gemini-computer": ("gemini_computer", "GeminiComputer"),
    "ui-tars-computer": ("ui_tars_computer", "UITarsComputer"),
    "qwen-computer": ("qwen_computer", "QwenComputer"),
    "fara-computer": ("qwen_computer", "FaraComputer"),
}


def make_computer_agent(
    name: str, *, acknowledges: bool = False, options: ComputerOptions = DEFAULT
) -> ComputerAgent:
    """Make the agent `PROVIDER-computer:MODEL`, cheaply and without using the network.

    acknowledges: whether a safety check of the provider is confirmed; else it ends the trial.

    Raises:
        UserError: the model's name is missing, or a setting is.
    """
    check_settings(name)
    provider, _, model = name.partition(":")
    service = COMPUTERS[provider]
    if not model:
        raise UserError(f"agents: {provider}: the model is missing; write for example {provider}:MODEL")
    if problem := service.problem():
        raise UserError(f"agents: {provider}: {problem}")
    price_of(name)
    module, kind = _CLASSES[provider]
    found: type[ComputerModel] = getattr(importlib.import_module(f"agents.computer.{module}"), kind)
    made = found(model)
    made.options = options
    return ComputerAgent(made, acknowledges=acknowledges)
