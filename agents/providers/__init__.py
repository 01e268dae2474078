"""Language models behind one small protocol, each through its provider's own SDK: `PROVIDER:MODEL`."""

import importlib
from typing import Final

from agents.providers.capabilities import check_settings
from agents.providers.model import LanguageModel
from agents.providers.model_settings import NO_SETTINGS, ModelSettings, split_agent
from agents.providers.network import NetworkModel, RequestWay
from agents.providers.pricing import price_of
from agents.providers.settings import SERVICES, missing_packages
from interventions.errors import UserError

PROVIDERS: Final = (*SERVICES, "hf")

QUANTISED_BY: Final = ("bitsandbytes", "accelerate")
"""The packages by which transformers loads weights in 8 or 4 bits."""

BATCHED: Final = ("openai", "openai-responses", "anthropic", "gemini")
"""The providers that answer requests in batches."""

# Imported when needed: the SDKs take seconds to load.
_CLASSES: Final = {name: service.made_by for name, service in SERVICES.items()} | {
    "hf": ("local", "LocalModel")
}


def make_model(name: str, *, nominal: bool = False, way: RequestWay | None = None) -> LanguageModel:
    """Make the model `PROVIDER:MODEL`, cheaply and without using the network.

    `nominal`: temperatures will be on a scale of 0 to 2; a provider whose own ends at 1 is sent half.
    `way`: by which the provider is asked; None: one request at a time.

    Raises:
        UserError: there is no such provider, the model's name is missing, or a setting or package is; or the
            user's own table of prices has a mistake.
    """
    plain, settings = split_agent(name)
    provider, _, model = plain.partition(":")
    if provider not in PROVIDERS:
        raise UserError(f'agents: unknown provider "{provider}"; known providers: {", ".join(PROVIDERS)}')
    if not model:
        example = SERVICES[provider].example if provider in SERVICES else "FOLDER"
        raise UserError(f"agents: {provider}: the model is missing; write for example {provider}:{example}")
    check_settings(name)
    if problem := problem_of(
        provider, settings
    ):  # before the import: an SDK may trip over a wrong setting there
        raise UserError(f"agents: {provider}: {problem}")
    price_of(name)  # a mistake in the user's own table is found before anything is paid for
    found = _class_of(provider)
    made = found(model, temperature_scale=found.highest_temperature / 2 if nominal else 1.0)
    made.settings = settings
    if isinstance(made, NetworkModel):
        made.way = way
    return made


def longest_answer(name: str, max_tokens: int) -> int:
    """Return the most tokens that an answer may have of the model `PROVIDER:MODEL`, one that takes batches.

    A model that thinks is given more than the `max_tokens` that are asked for.
    """
    plain, settings = split_agent(name)
    provider, _, model = plain.partition(":")
    made = _class_of(provider)(model)
    made.settings = settings
    request = made.request([], None, settings.max_tokens or max_tokens, None)
    return max(int(value) for key, value in request.items() if key.startswith("max_"))


def _class_of(provider: str) -> type[LanguageModel]:
    """The class of a provider's models; its SDK is loaded."""
    module, kind = _CLASSES[provider]
    found: type[LanguageModel] = getattr(importlib.import_module(f"agents.providers.{module}"), kind)
    return found


def problem_of(provider: str, settings: ModelSettings = NO_SETTINGS) -> str:
    """Return what a provider lacks here, as `cause; fix`; empty when nothing is missing."""
    if provider in SERVICES:
        return SERVICES[provider].problem()
    return missing_packages(*QUANTISED_BY if settings.load_in else ())
