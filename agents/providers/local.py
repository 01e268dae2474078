"""Chat models that run in this process."""

# ruff: noqa: PLC0415 - torch and transformers take seconds to load, and may be absent

import asyncio
import functools
import threading
from collections.abc import Sequence
from typing import Any, Final

from jinja2 import TemplateError

from agents.base import ActError, AgentError, ChatMessage, ProviderError
from agents.providers import local_models
from agents.providers.model import LanguageModel, Request, Schema, TextAnswer
from agents.providers.pricing import Tokens
from interventions.cards.reply import Ending, is_mark
from interventions.errors import UserError

_ROLES: Final = {"system": "Instructions", "user": "User", "assistant": "Assistant"}


class LocalModel(LanguageModel):
    """A causal language model on this machine (`agents.providers.local_models.find_model`).

    Raises:
        UserError: the model is not on this machine.
    """

    provider = "hf"

    def __init__(self, name: str, *, temperature_scale: float = 1.0) -> None:
        super().__init__(name, temperature_scale=temperature_scale)
        self._place = local_models.find_model(name)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text.

        Raises:
            UserError: the model's tokenizer cannot be loaded.
        """
        try:
            return len(_shared(self._place).tokenizer(text)["input_ids"])
        except UserError as error:
            problem = error
        raise problem

    def request(
        self, messages: list[ChatMessage], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `LanguageModel.request`."""
        if any(message.get("images") for message in messages):
            raise UserError(
                f"agents: hf:{self.name} sees no images; observe without screenshots, or name another agent"
            )
        wire = [{"role": message["role"], "content": message["content"]} for message in messages]
        return {"model": self.name, "messages": wire, "max_tokens": max_tokens, "temperature": temperature}

    async def answer(self, request: Request) -> tuple[TextAnswer | ActError | UserError, Sequence[int]]:
        """See `LanguageModel.answer`. Requests to a model wait for each other; a cancelled one stops soon."""
        shared, stop = _shared(self._place), threading.Event()
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(shared.executor, shared.generate, request, stop), ()
        finally:
            stop.set()


class _Shared:
    """What all agents that name one model share."""

    def __init__(self, place: str) -> None:
        self._local = local_models.local_model(place)
        self.executor = self._local.executor

    @property
    def tokenizer(self) -> Any:
        return self._local.tokenizer

    @property
    def _model(self) -> Any:
        return self._local.model

    @functools.cached_property
    def _sampling(self) -> Any:
        """How the model samples by its own settings."""
        return self._model.generation_config

    def generate(self, request: Request, stop: threading.Event) -> TextAnswer | ActError | UserError:
        """Answer a request, unless told to stop."""
        try:
            inputs = self._inputs(request["messages"])
            length = inputs["input_ids"].shape[1]
            longest = self._local.longest
            if longest and length + request["max_tokens"] > longest:
                return AgentError(
                    f"the prompt has {length:,} tokens and the answer may have {request['max_tokens']:,}; "
                    f"the model takes {longest:,} together"
                )
            tokens = self._generate(inputs, request["max_tokens"], request["temperature"], stop)[0, length:]
        except UserError as error:
            return error
        except RuntimeError as error:  # out of memory, for instance
            return ProviderError(f"the model failed: {(str(error).splitlines() or ['no reason'])[0][:200]}")
        ended = len(tokens) > 0 and int(tokens[-1]) in self._ends()
        special = set(self.tokenizer.all_special_ids)
        names = zip(tokens.tolist(), self.tokenizer.convert_ids_to_tokens(tokens.tolist()), strict=True)
        # What marks reasoning is kept: without it the thoughts would be part of the answer.
        kept = [token for token, name in names if token not in special or is_mark(name)]
        text = self.tokenizer.decode(kept, skip_special_tokens=False)
        if not self.tokenizer.chat_template:
            text = text.partition(f"\n{_ROLES['user']}:")[0]  # it goes on with both sides of the conversation
        ending = Ending("" if ended else "cut_off")
        return TextAnswer(text.strip(), ending, tokens=Tokens(length, len(tokens)))

    def _generate(self, inputs: Any, limit: int, temperature: float | None, stop: threading.Event) -> Any:
        import torch
        from transformers import GenerationConfig, StoppingCriteriaList

        def stopped(tokens: Any, scores: Any, **_: Any) -> Any:
            return torch.full((tokens.shape[0],), stop.is_set(), device=tokens.device)

        model, own = self._model, self._sampling
        sampling: dict[str, Any] = {"do_sample": True, "temperature": temperature} if temperature else {}
        # At 0 always the likeliest token: what generate() is given only adds to the model's own settings.
        plain = GenerationConfig(eos_token_id=own.eos_token_id, bos_token_id=own.bos_token_id)
        model.generation_config = plain if temperature == 0 else own
        with torch.inference_mode():
            return model.generate(
                **inputs.to(model.device),
                max_new_tokens=limit,
                pad_token_id=min(self._ends(), default=0),
                stopping_criteria=StoppingCriteriaList([stopped]),
                **sampling,
            )

    def _inputs(self, messages: list[dict[str, str]]) -> Any:
        """The tokens of a conversation: by the model's own template, else as a transcript."""
        if not self.tokenizer.chat_template:
            turns = [f"{_ROLES[message['role']]}: {message['content']}" for message in messages]
            return self.tokenizer("\n\n".join([*turns, f"{_ROLES['assistant']}:"]), return_tensors="pt")
        try:
            return self._templated(messages)
        except TemplateError:  # some know no system message
            return self._templated(_without_system(messages))

    def _templated(self, messages: list[dict[str, str]]) -> Any:
        return self.tokenizer.apply_chat_template(
            messages,
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
            enable_thinking=False,  # for the templates that have such a switch
        )

    def _ends(self) -> set[int]:
        found = self._sampling.eos_token_id
        return set(found) if isinstance(found, list) else set() if found is None else {found}


@functools.cache
def _shared(place: str) -> _Shared:
    return _Shared(place)


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same conversation; what the system says stands at the head of the user's first message."""
    said = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if said and rest:
        rest[0]["content"] = f"{said}\n\n{rest[0]['content']}"
    return rest
