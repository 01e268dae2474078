"""Chat models that run in this process."""

# ruff: noqa: PLC0415 - torch and transformers take seconds to load, and may be absent

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, Final

from jinja2 import TemplateError

from agents.base import ActError, AgentError, ChatMessage, ProviderError
from agents.providers.local_models import LoadedModel, find_model, local_model
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
        self._place = find_model(name)

    @property
    def _local(self) -> LoadedModel:
        return local_model(self._place, self.settings.load_in)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text.

        Raises:
            UserError: the model's tokenizer cannot be loaded.
        """
        try:
            return len(self._local.tokenizer(text)["input_ids"])
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
        request = {"model": self.name, "messages": wire, "max_tokens": max_tokens, "temperature": temperature}
        return request | self.settings.sent(top_p="top_p", top_k="top_k", seed="seed")

    async def answer(self, request: Request) -> tuple[TextAnswer | ActError | UserError, Sequence[int]]:
        """See `LanguageModel.answer`. Requests to a model wait for each other; a cancelled one stops soon."""
        stop, loop = threading.Event(), asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._local.executor, _generate, self._local, request, stop), ()
        finally:
            stop.set()


def _generate(
    local: LoadedModel, request: Request, stop: threading.Event
) -> TextAnswer | ActError | UserError:
    """Answer a request, unless told to stop."""
    try:
        inputs = _inputs(local.tokenizer, request["messages"])
        length = inputs["input_ids"].shape[1]
        longest = local.longest
        if longest and length + request["max_tokens"] > longest:
            return AgentError(
                f"the prompt has {length:,} tokens and the answer may have {request['max_tokens']:,}; "
                f"the model takes {longest:,} together"
            )
        tokens = _tokens(local, inputs, request, stop)[0, length:]
    except UserError as error:
        return error
    except RuntimeError as error:  # out of memory, for instance
        return ProviderError(f"the model failed: {(str(error).splitlines() or ['no reason'])[0][:200]}")
    ended = len(tokens) > 0 and int(tokens[-1]) in _ends(local)
    special = set(local.tokenizer.all_special_ids)
    names = zip(tokens.tolist(), local.tokenizer.convert_ids_to_tokens(tokens.tolist()), strict=True)
    # What marks reasoning is kept: without it the thoughts would be part of the answer.
    kept = [token for token, name in names if token not in special or is_mark(name)]
    text = local.tokenizer.decode(kept, skip_special_tokens=False)
    if not local.tokenizer.chat_template:
        text = text.partition(f"\n{_ROLES['user']}:")[0]  # it goes on with both sides of the conversation
    ending = Ending("" if ended else "cut_off")
    return TextAnswer(text.strip(), ending, tokens=Tokens(length, len(tokens)))


def _tokens(local: LoadedModel, inputs: Any, request: Request, stop: threading.Event) -> Any:
    import torch
    from transformers import GenerationConfig, StoppingCriteriaList

    def stopped(tokens: Any, scores: Any, **_: Any) -> Any:
        return torch.full((tokens.shape[0],), stop.is_set(), device=tokens.device)

    model, own, temperature = local.model, local.sampling, request["temperature"]
    sampling: dict[str, Any] = {"do_sample": True, "temperature": temperature} if temperature else {}
    if temperature != 0:  # there nothing is drawn
        sampling |= {name: request[name] for name in ("top_p", "top_k") if name in request}
        sampling |= {"do_sample": True} if sampling else {}
    if "seed" in request:
        torch.manual_seed(request["seed"])
    # At 0 always the likeliest token: what generate() is given only adds to the model's own settings.
    plain = GenerationConfig(eos_token_id=own.eos_token_id, bos_token_id=own.bos_token_id)
    model.generation_config = plain if temperature == 0 else own
    with torch.inference_mode():
        return model.generate(
            **inputs.to(model.device),
            max_new_tokens=request["max_tokens"],
            pad_token_id=min(_ends(local), default=0),
            stopping_criteria=StoppingCriteriaList([stopped]),
            **sampling,
        )


def _inputs(tokenizer: Any, messages: list[dict[str, str]]) -> Any:
    """The tokens of a conversation: by the model's own template, else as a transcript."""
    if not tokenizer.chat_template:
        turns = [f"{_ROLES[message['role']]}: {message['content']}" for message in messages]
        return tokenizer("\n\n".join([*turns, f"{_ROLES['assistant']}:"]), return_tensors="pt")
    try:
        return _templated(tokenizer, messages)
    except TemplateError:  # some know no system message
        return _templated(tokenizer, _without_system(messages))


def _templated(tokenizer: Any, messages: list[dict[str, str]]) -> Any:
    return tokenizer.apply_chat_template(
        messages,
        add_generation_prompt=True,
        return_dict=True,
        return_tensors="pt",
        enable_thinking=False,  # for the templates that have such a switch
    )


def _ends(local: LoadedModel) -> set[int]:
    found = local.sampling.eos_token_id
    return set(found) if isinstance(found, list) else set() if found is None else {found}


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same conversation; what the system says stands at the head of the user's first message."""
    said = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    rest = [dict(message) for message in messages if message["role"] != "system"]
    if said and rest:
        rest[0]["content"] = f"{said}\n\n{rest[0]['content']}"
    return rest
