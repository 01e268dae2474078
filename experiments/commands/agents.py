"""souk agents: list the agents that can be asked, and check that they answer."""

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from experiments.commands.common import AsJson
from experiments.runs.interrupts import run_until_stopped
from interventions.errors import UserError

if TYPE_CHECKING:
    from agents.base import Reply
    from agents.providers.model import LanguageModel

LONGEST_WAIT: Final = 60.0
"""The longest wait for an answer, in seconds, retries included; a local model is loaded in this time, too."""


def agents(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Ask this agent for one word, e.g. openai:gpt-6-luna."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the known agents, what each needs, and whether it is there; or ask one, and print what that took.

    Only a language model that is named is asked.

    Examples:

      souk agents

      souk agents openai:gpt-6-luna

      souk agents simulated:mine.yaml
    """
    if name:
        _check(name)
    else:
        _list(as_json=as_json)


def _list(*, as_json: bool) -> None:
    from rich.markup import escape

    from agents.registry import known_agents
    from experiments.console.terminal import new_table, stdout_console

    known = known_agents()
    if as_json:
        typer.echo(json.dumps([{**asdict(agent), "ready": not agent.problem} for agent in known], indent=2))
        return
    table = new_table("", "", "agent", "needs", "problem")
    for agent in known:
        mark = "[yellow]--[/yellow]" if agent.problem else "[green]ok[/green]"
        table.add_row(mark, escape(agent.name), escape(agent.needs), escape(agent.problem))
    stdout_console().print(table)


def _check(name: str) -> None:
    from agents.providers import PROVIDERS
    from agents.simulated.own_profiles import known_as

    if name.partition(":")[0] not in PROVIDERS:
        check_name(name)
        typer.echo(f"{known_as(name)} is there; it is not asked")
    else:
        typer.echo(run_until_stopped(ask(name)))


def check_name(name: str) -> None:
    """Check that a simulated agent, or one of a package, can be made. Raises UserError."""
    from agents.registry import check_agent

    try:
        check_agent(name, mode="page")
    except UserError:  # it may be one that only answers
        check_agent(name, mode="text")


async def ask(name: str) -> str:
    """Ask a language model for one word; return what that took.

    Raises UserError when it did not answer: why, and what to do.
    """
    from agents.providers import make_model
    from agents.providers.network import close_connections

    try:
        call = (await _answer(make_model(name), name)).call
    finally:
        await close_connections()
    if call is None:
        return f"{name} answers"
    cost = "cost unknown" if call.cost is None else f"{call.cost:.6f} USD"
    tokens = f"{call.tokens_in:,} tokens in, {call.tokens_out:,} out"
    return f"{name} answers: model {call.model}, {call.seconds:.1f} s, {tokens}, {cost}"


async def _answer(model: "LanguageModel", name: str) -> "Reply":
    from agents.base import ActError, ChatMessage

    question: ChatMessage = {"role": "user", "content": "Answer with one word: ready"}
    try:
        async with asyncio.timeout(LONGEST_WAIT):
            return await model.ask([question], temperature=None, max_tokens=16)
    except TimeoutError:
        problem = f"no answer within {LONGEST_WAIT:.0f} s; check the network and the provider's status"
    except ActError as error:
        problem = f"{error}; check the model's name, the network and the provider's status"
    raise UserError(f"agents: {name}: {problem}")
