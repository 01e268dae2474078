"""Let a model act by its provider's own tool: several actions at a time, each a step of its own."""

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agents.base import ActError, AgentError, Call, Decision, SafetyCheck, Usage, as_kept
from agents.computer.options import DEFAULT, ComputerOptions
from agents.providers.model import Request
from agents.providers.network import NetworkModel
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from interventions.errors import UserError

ANSWER_RETRIES: Final = 3
"""How often the model may answer again within a step."""
MOST_AT_ONCE: Final = 100
"""The most actions of one answer; no batch is so long."""
NAVIGATED: Final = "Not executed: an earlier action has led to another page. Look at the new picture."
FAILED: Final = "Not executed: an earlier computer action in this turn failed."


@dataclass(frozen=True, slots=True)
class RequestedAction:
    """An action that a model asks for, in its own call; `problem`: why it is none that can be taken."""

    call: str
    name: str
    action: Action | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What became of an action that was asked for: an error, or an empty text, and the picture after it."""

    asked: RequestedAction
    error: str = ""
    picture: bytes = b""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What a model has answered: what it says, and the actions that it asks for, in order.

    `checks`: what its provider asks to confirm. `ended`: whether it asks for nothing more.
    """

    said: str
    asked: tuple[RequestedAction, ...]
    checks: tuple[SafetyCheck, ...] = ()
    cut_off: bool = False

    @property
    def ended(self) -> bool:
        """Whether the model asks for no action."""
        return not self.asked


class ComputerModel(NetworkModel):
    """A model with its provider's tool; it keeps the conversation in its provider's form."""

    options: ComputerOptions = DEFAULT

    @abstractmethod
    def begin(self, observation: Observation) -> None:
        """Begin the conversation with the goal, the tabs and the picture."""

    @abstractmethod
    def report(self, done: Sequence[ActionResult], observation: Observation, *, acknowledged: bool) -> None:
        """Add what became of the actions, and the picture that is there now."""

    @abstractmethod
    def conversation(self) -> Request:
        """Return the request with the whole conversation."""

    @abstractmethod
    def read(self, parts: Sequence[dict[str, Any]], *, cut_off: bool) -> ModelTurn:
        """Read an answer, and add it to the conversation."""


class ComputerAgent:
    """A model in one episode. Its batches stop where a page is left, and at the first action that fails."""

    def __init__(self, model: ComputerModel, *, acknowledges: bool = False) -> None:
        self._model, self._acknowledges = model, acknowledges
        self._begun = False
        self._waiting: deque[RequestedAction] = deque()
        self._done: list[ActionResult] = []
        self._acted: RequestedAction | None = None
        self._said = ""
        self._acknowledged = False

    async def act(self, observation: Observation) -> Decision:
        """Take the next action of the batch; ask the model where there is none, or the batch has to stop.

        Raises:
            AgentError: no usable answer came, the model refuses, or its provider asks to confirm an action.
            ProviderError, UserError: see `agents.base`.
        """
        if not (observation.screenshot and observation.pointer):
            raise UserError(
                f"agents: {self._model.provider}:{self._model.name} looks at pictures; write observation: "
                "screenshot (or marks, or both)"
            )
        if self._acted:
            self._done.append(ActionResult(self._acted, observation.error, observation.screenshot))
            self._acted = None
        if self._waiting and not observation.error and not observation.arrived:
            return self._take(looked=False)
        skipped = FAILED if observation.error else NAVIGATED
        self._done += [ActionResult(asked, skipped) for asked in self._waiting]
        self._waiting.clear()
        return await self._ask(observation)

    async def _ask(self, observation: Observation) -> Decision:
        calls: list[Call] = []
        checks: list[SafetyCheck] = []
        reason = ""
        if not self._begun:
            self._model.begin(observation)
            self._begun = True
        else:
            self._model.report(self._done, observation, acknowledged=self._acknowledged)
        for _ in range(1 + ANSWER_RETRIES):
            try:
                answer, call = await self._model.exchange(self._model.conversation())
            except ActError as error:
                error.calls = (*calls, *error.calls)
                raise
            turn = self._model.read(answer.parts, cut_off=answer.ending.how == "cut_off")
            raw = as_kept(turn.said or answer.ending.said or str(answer.parts))
            checks += [replace(check, acknowledged=self._acknowledges) for check in turn.checks]
            if answer.ending.how == "refused":
                calls.append(replace(call, error="unusable answer: refused", answer=raw))
                raise AgentError(f"invalid answer: refused: {turn.said[:300]}", tuple(calls), tuple(checks))
            if turn.checks and not self._acknowledges:
                said = "; ".join(f"{check.code}: {check.message}" for check in turn.checks)
                raise AgentError(
                    f"the provider asks to confirm an action ({said[:300]}), and safety_checks says refuse",
                    (*calls, call),
                    tuple(checks),
                )
            problem = next((f"unclear: {each.problem}" for each in turn.asked if each.action is None), "")
            if turn.ended and (turn.cut_off or not turn.said.strip()):
                problem = "cut_off" if turn.cut_off else "empty"
            elif len(turn.asked) > MOST_AT_ONCE:
                problem = f"unclear: it asks for {len(turn.asked)} actions at once"
            if not problem:
                return self._begin_batch(turn, (*calls, call), tuple(checks))
            reason = problem
            calls.append(replace(call, error=f"unusable answer: {problem}", answer=raw))
            done = [ActionResult(asked, asked.problem or FAILED) for asked in turn.asked]
            self._model.report(done, observation, acknowledged=bool(turn.checks))
        told = f"invalid answer: {reason} (the last of {len(calls)})"
        raise AgentError(told, tuple(calls), tuple(checks))

    def _begin_batch(
        self, turn: ModelTurn, calls: tuple[Call, ...], checks: tuple[SafetyCheck, ...]
    ) -> Decision:
        """Take the first action of an answer. checks: of this answer, and of those that were not usable."""
        self._said, self._done = turn.said, []
        self._acknowledged = bool(turn.checks)
        self._waiting.extend(turn.asked)
        if turn.ended:
            action = Action("give_up", (turn.said[:500],))
            return Decision(turn.said, "", action, Usage.of(calls), calls, checks=checks)
        return replace(self._take(looked=True), usage=Usage.of(calls), calls=calls, checks=checks)

    def _take(self, *, looked: bool) -> Decision:
        self._acted = self._waiting.popleft()
        if self._acted.action is None:
            raise AssertionError("what cannot be taken does not wait")
        return Decision(self._said if looked else "", "", self._acted.action, looked=looked)
