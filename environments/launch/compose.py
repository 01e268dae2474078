"""Run shops and servers in containers: docker/compose.yaml, driven through docker or podman."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

from environments.launch.launchable import PASSWORD_VARIABLE, Launchable, launchable
from interventions.errors import UserError

COMPOSE_FILE: Final = Path(__file__).parents[2] / "docker" / "compose.yaml"
PROJECT: Final = "souk"
PROJECT_VARIABLE: Final = "COMPOSE_PROJECT_NAME"
ENGINE_VARIABLE: Final = "SOUK_DOCKER"
POLL_SECONDS: Final = 0.5
ATTEMPTS: Final = 3
"""How often a command inside a container is tried: its services do not all start at the same time."""

Progress = Callable[[str, float, float], None]
"""A function that is told what is awaited, the seconds that have passed, and the most that may pass."""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an environment. With several containers, state and health are those of the worst."""

    name: str
    state: str
    """The state in the engine's words (`running`, `exited`, ...), or `absent` when there is no container."""
    health: str
    """`healthy`, `starting` or `unhealthy`; empty unless it runs."""
    url: str
    """The address of the environment; empty unless it runs."""


def reset(name: str) -> str:
    """Bring an environment back to how it was when first launched.

    Returns:
        Its URL.

    Raises:
        UserError: there is no such environment, no engine, or it does not come up again.
    """
    return Compose.find().reset(launchable(name))


class Compose:
    """docker/compose.yaml under an engine, docker or podman; `command` is its compose.

    Its project is what `COMPOSE_PROJECT_NAME` names, as for compose by hand, else `souk`.
    """

    def __init__(self, engine: str, command: Sequence[str]) -> None:
        self.engine = engine
        self.project = os.environ.get(PROJECT_VARIABLE) or PROJECT
        self.command = (*command, "--project-name", self.project, "--file", str(COMPOSE_FILE))

    @classmethod
    def find(cls) -> "Compose":
        """Find the engine that `SOUK_DOCKER` names, else docker, else podman.

        Raises:
            UserError: there is none, it does not run, or it has no compose.
        """
        if not COMPOSE_FILE.exists():
            raise UserError(f"{COMPOSE_FILE}: no such file; run souk from a checkout of its repository")
        engine = os.environ.get(ENGINE_VARIABLE) or next(filter(shutil.which, ("docker", "podman")), None)
        if engine is None:
            raise UserError("neither docker nor podman is installed; install one of them")
        if shutil.which(engine) is None:
            raise UserError(f"{ENGINE_VARIABLE}: {engine} is no program; set it to docker or podman")
        asked = run(engine, "ps", "--quiet")
        if asked.returncode:
            raise UserError(
                f"{engine} does not answer ({_last_line(asked)}); "
                "start its daemon, or get the right to use it"
            )
        for command in ((engine, "compose"), (f"{engine}-compose",)):
            if shutil.which(command[0]) and run(*command, "version").returncode == 0:
                return cls(engine, command)
        raise UserError(f"{engine} has no compose; install its compose plugin, or {engine}-compose")

    def status(self, target: Launchable) -> Status:
        """Return the current state of an environment. Raises UserError when the engine does not tell it."""
        containers = self._containers(target)
        if not containers:
            return Status(target.name, "absent", "", "")
        states = [container["State"] for container in containers]
        for state in states:
            if state["Status"] != "running":
                return Status(target.name, state["Status"], "", "")
        # A container whose image has lost its health check is as healthy as one can know.
        health = {(state.get("Health") or {}).get("Status") or "healthy" for state in states}
        if len(containers) < len(target.services):
            health.add("starting")
        worst = next(name for name in ("unhealthy", "starting", "healthy") if name in health)
        return Status(target.name, "running", worst, target.url.format(port=_published_port(containers)))

    def up(
        self,
        target: Launchable,
        port: int | None = None,
        timeout: float | None = None,
        progress: Progress = lambda *_: None,
        *,
        build: bool = True,
    ) -> str:
        """Launch an environment, wait until it is healthy and make it ready to be used.

        Args:
            target: what to launch.
            port: to be published on 127.0.0.1; by default the target's own.
            timeout: seconds to wait once its images are there; by default the target's patience.
            progress: told about the waiting.
            build: make its images anew where their sources have changed.

        Returns:
            Its URL.

        Raises:
            UserError: an image or a password is missing, the port is taken, or it does not become healthy.
        """
        port = port or target.port
        self._check(target, port)
        options = ["--build"] if build else []
        self._compose(target, "up", "--detach", *options, **{target.port_variable: str(port)})
        wait = Wait(target.name, timeout or target.patience, progress)
        while (status := self.status(target)).health != "healthy":
            if status.state not in ("running", "created", "restarting"):
                raise UserError(f"{target.name} has ended; `souk env status {target.name}` shows why")
            wait.pause(status.health or status.state)
        for command in target.commands(status.url):
            self._configure(target, command, wait)
        if status.url.startswith("http"):
            while not answers(status.url):
                wait.pause("no page yet")
        return status.url

    def reset(
        self, target: Launchable, timeout: float | None = None, progress: Progress = lambda *_: None
    ) -> str:
        """Remove the containers and launch the environment again on the same port; return its URL.

        What is in volumes stays: the records in postgres. Raises UserError as `up` does.
        """
        port = _published_port(self._containers(target))
        self.down(target)
        return self.up(target, port, timeout, progress, build=False)

    def down(self, target: Launchable) -> None:
        """Stop and remove the containers. Raises UserError when that fails.

        Not by compose's `down`: with compose 1.29 that ends what other profiles have launched, too.
        """
        ids = [container["Id"] for container in self._containers(target)]
        if ids:
            self._ask("stop", *ids)
            self._ask("rm", "--volumes", *ids)
            run(self.engine, "network", "rm", f"{self.project}_default")  # refused while others are in it

    def logs(self, target: Launchable, *, follow: bool) -> int:
        """Let compose print the logs to stdout; return its exit status.

        Raises UserError when there are none.
        """
        if not self._containers(target):
            raise UserError(f"{target.name} is not up; launch it: souk env up {target.name}")
        options = ["--follow"] if follow else []
        command = [*self.command, "--profile", target.name, "logs", *options, *target.services]
        return subprocess.run(command, check=False).returncode  # noqa: S603

    def _containers(self, target: Launchable) -> list[dict[str, Any]]:
        """The containers of its services as `inspect` describes them, running or not."""
        ids: list[str] = []
        for service in target.services:
            labels = (f"com.docker.compose.project={self.project}", f"com.docker.compose.service={service}")
            filters = [f"--filter=label={label}" for label in labels]
            ids += self._ask("ps", "--all", "--quiet", *filters).split()
        containers: list[dict[str, Any]] = json.loads(self._ask("inspect", *ids)) if ids else []
        return containers

    def _check(self, target: Launchable, port: int) -> None:
        """What would make compose fail with many lines, or only once the container runs."""
        if target.image and run(self.engine, "image", "inspect", target.image).returncode:
            raise UserError(
                f"the image {target.image} is not loaded; load it: {self.engine} load --input "
                f"{target.image}.tar (docs/environments.md says where the file comes from)"
            )
        if target.needs_password:
            password = os.environ.get(PASSWORD_VARIABLE, "")
            if not password:
                raise UserError(f"{PASSWORD_VARIABLE} is not set; choose one: export {PASSWORD_VARIABLE}=...")
            if quote(password, safe="") != password:
                raise UserError(f"{PASSWORD_VARIABLE}: it must stand in a URL; use letters, digits, - and _")
        if self.status(target).url != target.url.format(port=port):
            _check_free(port)

    def _configure(self, target: Launchable, command: Sequence[str], wait: "Wait") -> None:
        name = Path(command[0]).name
        for _ in range(ATTEMPTS):
            done = run(*self.command, "exec", "-T", target.services[0], *command)
            if done.returncode == 0:
                return
            wait.pause(f"{name} failed")
        raise UserError(
            f"{target.name}: {name} failed: {_last_line(done)}; try again: souk env up {target.name} --anew"
        )

    def _compose(self, target: Launchable, *arguments: str, **environment: str) -> None:
        """Run compose for one profile; all that it prints goes to stderr."""
        command = [*self.command, "--profile", target.name, *arguments]
        done = subprocess.run(command, env={**os.environ, **environment}, stdout=2, check=False)  # noqa: S603
        if done.returncode:
            raise UserError(
                f"`{shlex.join(command)}` ended with status {done.returncode}; its own message is above"
            )

    def _ask(self, *arguments: str) -> str:
        done = run(self.engine, *arguments)
        if done.returncode:
            raise UserError(f"`{self.engine} {shlex.join(arguments)}` failed: {_last_line(done)}")
        return done.stdout


class Wait:
    """Waits for several things with one limit of time over all of them."""

    def __init__(self, name: str, limit: float, progress: Progress) -> None:
        self._name = name
        self._limit = limit
        self._progress = progress
        self._began = time.monotonic()

    def pause(self, awaited: str) -> None:
        """Wait a moment. Raises UserError when the time is over."""
        passed = time.monotonic() - self._began
        if passed >= self._limit:
            raise UserError(
                f"{self._name} is not ready after {self._limit:g} s ({awaited}); "
                f"look at `souk env status {self._name}`, or give it more time with --timeout"
            )
        self._progress(awaited, passed, self._limit)
        time.sleep(POLL_SECONDS)


def _published_port(containers: Sequence[dict[str, Any]]) -> int | None:
    """Return the port of this machine that leads, or led, into one of the containers."""
    for container in containers:
        for bindings in (container["HostConfig"]["PortBindings"] or {}).values():
            if bindings:
                return int(bindings[0]["HostPort"])
    return None


def _check_free(port: int) -> None:
    """Check that nothing listens on this port of 127.0.0.1. Raises UserError."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UserError(f"port {port}: {error.strerror}; choose another port with --port") from None


def answers(url: str) -> bool:
    """Return whether there is a page at the address, and not a redirect to somewhere else."""
    try:
        return httpx.get(url, timeout=30, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end and keep what it prints."""
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line that a failed program printed."""
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1] if lines else f"status {done.returncode}"
