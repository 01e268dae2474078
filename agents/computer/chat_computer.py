"""What open models share that act at points of pictures, at any server that speaks chat completions."""

import json
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import openai
from openai import AsyncOpenAI

from agents.computer import tools
from agents.computer.agent import ActionResult, ComputerModel, ModelTurn, RequestedAction
from agents.providers.model import THINKING, Request, TextAnswer
from agents.providers.network import Failure
from agents.providers.openai_chat import Completion, connect, data_url
from agents.providers.sdk import receive
from environments.protocol.observation import Observation

GRID: Final = (1_000, 1_000)
"""The width and height of every picture for models whose points are thousandths of it."""
_LONGEST: Final = 2_048
_PATCH: Final = 28


class ChatComputer(ComputerModel):
    """A model that writes its actions as text, in the form of its family. The server need know no tools."""

    pictures: ClassVar[int] = 3
    """How many pictures are sent: the last ones."""
    fewest: ClassVar[int] = 4
    """The fewest squares of 28 pixels to which a picture is resized."""
    form: ClassVar[str]
    """What an answer has to hold, in words for the model."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._messages: list[dict[str, Any]] = []
        self._size = self._units = (1, 1)
        self._pointer = (0.0, 0.0)

    def connect(self, base_url: str, key: str) -> AsyncOpenAI:
        """See `NetworkModel.connect`."""
        return connect(base_url, key or "none")  # the SDK insists on one

    @abstractmethod
    def units(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return the width and height that a picture of this size has in the units of the model's points.

        They follow from the model's name; the agent's options outweigh them.
        """

    @abstractmethod
    def prompt(self, goal: str) -> tuple[str, str]:
        """Return the system's message, empty where there is none, and the text of the first of the user."""

    @abstractmethod
    def parse(self, text: str) -> tuple[str, list[RequestedAction]]:
        """Return what an answer says, and the actions that it asks for, in order; it may be any text."""

    def kept(self, text: str) -> str:
        """Return an answer as it goes back with the conversation."""
        return text

    def begin(self, observation: Observation) -> None:
        """See `ComputerModel.begin`."""
        self._see(observation)
        self._pointer = self._size[0] / 2, self._size[1] / 2
        system, text = self.prompt(observation.goal)
        self._messages = [{"role": "system", "content": system}] if system else []
        self._show(observation, f"{text}\n\n{tools.tabs_text(observation)}")

    def report(self, done: Sequence[ActionResult], observation: Observation, *, acknowledged: bool) -> None:
        """See `ComputerModel.report`."""
        self._see(observation)
        problems = dict.fromkeys(f"{each.asked.name}: {each.error}" for each in done if each.error)
        self._show(observation, "\n".join([tools.tabs_text(observation), *problems]))

    def conversation(self) -> Request:
        """See `ComputerModel.conversation`: older pictures are left out, their texts are not."""
        shown = [message for message in self._messages if isinstance(message["content"], list)]
        old = {id(message) for message in shown[: -self.pictures]}
        messages = [
            message | {"content": message["content"][:1]} if id(message) in old else message
            for message in self._messages
        ]
        longest = _LONGEST + (THINKING if "thinking" in self.name.lower() else 0)
        return {"model": self.name, "messages": messages, "max_tokens": longest, "temperature": 0.0}

    async def send(self, client: AsyncOpenAI, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`. The first part of the answer is its text."""
        sent = client.chat.completions.with_raw_response.create(**request)
        body = await receive(openai, sent, Completion)
        if isinstance(body, Failure):
            return body
        return replace(body.answer, parts=({"text": body.answer.text}, *body.answer.parts))

    def read(self, parts: Sequence[dict[str, Any]], *, cut_off: bool) -> ModelTurn:
        """See `ComputerModel.read`. Thoughts before `</think>` are not sent again."""
        text = "\n".join(_text(part) for part in parts).rpartition("</think>")[2].strip()
        self._messages.append({"role": "assistant", "content": self.kept(text) or "(empty)"})
        if cut_off:
            return ModelTurn(text, (), cut_off=True)
        said, asked = self.parse(text)
        if text and not asked:
            asked = [RequestedAction("", "answer", None, f"it holds no action; {self.form}")]
        return ModelTurn(said, tuple(asked))

    def point(self, x: object, y: object) -> tuple[float, float] | None:
        """Return a point of the model's in pixels of the picture that was sent; None where it is none."""
        across, down = tools.number(x), tools.number(y)
        if across is None or down is None:
            return None
        return (
            round(across * self._size[0] / self._units[0], 2),
            round(down * self._size[1] / self._units[1], 2),
        )

    def _see(self, observation: Observation) -> None:
        self._size = tools.size_of(observation.screenshot)
        match self.options.coordinates:
            case "pixels":
                self._units = self._size
            case "grid1000":
                self._units = GRID
            case "smart_resize28":
                self._units = resized(self._size, fewest=self.fewest)
            case None:
                self._units = self.units(self._size)

    def _show(self, observation: Observation, text: str) -> None:
        url = data_url(tools.in_base64(observation.screenshot))
        content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
        self._messages.append({"role": "user", "content": content})


def resized(size: tuple[int, int], *, fewest: int = 4, most: int = 16_384) -> tuple[int, int]:
    """Return the width and height to which models that descend from Qwen2.5-VL resize a picture.

    Both are multiples of 28 pixels, the nearest ones; a picture of fewer or more such squares than allowed is
    enlarged or made smaller first, without changing its shape.
    """
    width, height = size
    across, down = (max(1, round(side / _PATCH)) for side in size)
    if across * down > most:
        shrink = math.sqrt(width * height / most)
        across, down = (max(1, math.floor(side / shrink)) for side in size)
    elif across * down < fewest:
        enlarge = math.sqrt(fewest / (width * height))
        across, down = (math.ceil(side * enlarge) for side in size)
    return across * _PATCH, down * _PATCH


def _text(part: dict[str, Any]) -> str:
    """The text of an answer, or a call that the server has read out of it, as the model wrote it."""
    if "text" in part:
        return str(part["text"])
    function = part.get("function")
    function = function if isinstance(function, dict) else {}
    name, arguments = json.dumps(function.get("name")), function.get("arguments")
    given = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return f'<tool_call>\n{{"name": {name}, "arguments": {given}}}\n</tool_call>'
