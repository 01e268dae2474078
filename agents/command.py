"""Programs as agents: `command:PROGRAM ARGUMENTS`, and `kept:...` for one that is kept for many trials.

They act by themselves, through their trial's proxy.
"""

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, TypedDict

from agents.base import COMMAND, Call
from agents.providers.settings import SERVICES
from interventions.errors import UserError

ENVIRONMENT_VARIABLE: Final = "SOUK_PROGRAM_ENV"
"""The variable that names further variables which programs are given, with commas between them."""
MEMORY_VARIABLE: Final = "SOUK_PROGRAM_GB"
"""The variable with the memory that a program and all that it starts may have together."""
CONFINED_VARIABLE: Final = "SOUK_PROGRAM_CONFINED"
"""The variable that lets programs do what their user may, if it is `no`."""
REACH_VARIABLE: Final = "SOUK_PROGRAM_REACH"
"""The variable with addresses and ports of this machine that programs may reach; `any` for all networks."""
FILES_VARIABLE: Final = "SOUK_PROGRAM_FILES"
"""The variable with files and folders that programs may read and write besides."""
DEFAULT_GB: Final = 4.0
_SECRET: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|(?<![A-Z])AUTH(?![A-Z])|DATABASE_URL", re.IGNORECASE
)
"""What stands in the names of variables that hold secrets."""
_SHORTEST_SECRET: Final = 8
_MOST: Final = 10**9
"""More tokens or USD than any trial takes."""


class ProgramTask(TypedDict):
    """The line of JSON that a program reads from its standard input, one for each trial."""

    trial: str
    seed: int
    goal: str
    urls: list[str]
    proxy: str
    ca: str
    spki: str
    task: str
    browser: str | None
    limits: Mapping[str, float]


def command_of(name: str) -> list[str]:
    """Return the program and the arguments that an agent's name holds. Raises UserError: it holds none."""
    try:
        command = shlex.split(name.partition(":")[2])
    except ValueError as error:
        raise UserError(f'agents: "{name}": {str(error).lower()}; close the quotation') from None
    if not command:
        raise UserError(f'agents: "{name}" names no program; write it like "{COMMAND}:python my_agent.py"')
    return command


def check_command(name: str) -> None:
    """Check that the program of an agent's name is there, and its settings. Raises UserError."""
    program = command_of(name)[0]
    if shutil.which(program) is None:
        raise UserError(f'agents: "{name}": there is no program {program}; install it, or give its path')
    memory()
    reach()
    files()
    is_confined()


def is_confined() -> bool:
    """Return whether programs are to be confined. Raises UserError: the setting is neither yes nor no."""
    said = os.environ.get(CONFINED_VARIABLE) or "yes"
    if said not in ("yes", "no"):
        raise UserError(f"{CONFINED_VARIABLE}: write yes or no, not {said!r}")
    return said == "yes"


def reach() -> list[tuple[str, int]] | None:
    """Return what programs may reach beside their trials; None: the whole network.

    These are addresses of this machine, with ports. Raises UserError: the setting names something else.
    """
    said = os.environ.get(REACH_VARIABLE, "").strip()
    return None if said == "any" else [_address_in(each.strip()) for each in said.split(",") if each.strip()]


def _address_in(text: str) -> tuple[str, int]:
    address, _, port = text.rpartition(":")
    try:
        found = ip_address(address.strip("[]"))
        if not found.is_loopback or not 1024 <= int(port) < 2**16:
            raise ValueError
    except ValueError:
        raise UserError(
            f"{REACH_VARIABLE}: {text!r} is no address of this machine with a port from 1024 on; write "
            "127.0.0.1:11434, or any for all networks"
        ) from None
    return str(found), int(port)


def files() -> list[Path]:
    """Return what programs may read and write besides. Raises UserError: something is not there."""
    named = [Path(each) for each in os.environ.get(FILES_VARIABLE, "").split(os.pathsep) if each]
    for path in named:
        if not path.exists():
            raise UserError(f"{FILES_VARIABLE}: {path} is not there; make it, or name another")
    return named


def memory() -> int:
    """Return the most bytes that a program may have. Raises UserError: the setting is no number."""
    said = os.environ.get(MEMORY_VARIABLE, "")
    try:
        size = float(said) if said else DEFAULT_GB
        if not 0 < size < 1e6:
            raise ValueError
    except ValueError:
        raise UserError(f"{MEMORY_VARIABLE}: {said!r} is no size; write it in GB, like 4 or 0.5") from None
    return int(size * 2**30)


def environment(own: Mapping[str, str], told: ProgramTask | None, keeper: str) -> dict[str, str]:
    """Return the environment of a program: ours without secrets and settings of Souk, and its trial.

    `told`: None for a program that is kept, which has many trials. `keeper`: the variable by which the
    command finds what it has started.
    """
    given = _named(own)
    kept = {
        name: value
        for name, value in own.items()
        if name in given or name == keeper or not (name.startswith("SOUK_") or _SECRET.search(name))
    }
    if told is None:
        return kept
    return kept | {
        "SOUK_TRIAL": told["trial"],
        "SOUK_PROXY": told["proxy"],
        "SOUK_CA": told["ca"],
        "SOUK_SPKI": told["spki"],
        "SOUK_TASK": told["task"],
    }


def _named(own: Mapping[str, str]) -> set[str]:
    return {name.strip() for name in own.get(ENVIRONMENT_VARIABLE, "").split(",")}


def secrets_of(own: Mapping[str, str]) -> list[str]:
    """Return the values of an environment that are cut from what a program writes, the longest first."""
    found = {value for name, value in own.items() if _SECRET.search(name)}
    found |= {service.key for service in SERVICES.values()}  # they may stand in the file .env
    return sorted((each for each in found if len(each) >= _SHORTEST_SECRET), key=len, reverse=True)


def usage_in(said: Any) -> Call | None:
    """Return the request to a provider that a program tells of, from `{"usage": {...}}`; None: it is none."""
    match said:
        case {"usage": {"model": str(model), "tokens_in": int(read), "tokens_out": int(written), **more}}:
            cost = more.get("cost")
            known = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < _MOST
            if all(type(tokens) is int and 0 <= tokens < _MOST for tokens in (read, written)):  # no booleans
                return Call("", model[:200], read, written, float(str(cost)) if known else None, 0.0)
    return None
