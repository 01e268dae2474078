"""`souk env`, with a program in docker's place that runs the real shop; and what compose.yaml promises."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from agents.providers.settings import SERVICES
from environments.launch.compose import COMPOSE_FILE, answers
from environments.launch.launchable import LAUNCHABLE
from tests.experiments.command_line import Ended, forked_souk
from tests.support import pages

FAKE = Path(__file__).parent / "fake_docker.py"
COMPOSE = yaml.safe_load(COMPOSE_FILE.read_text())
SHOPPING = "shopping_final_0712"


class Machine:
    """A machine with these programs on its path, each a fake docker, and with this one's settings."""

    def __init__(self, folder: Path, *programs: str, **settings: Any) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name in programs:
            program = self.bin / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {self.bin}/.{name}/{name} "$@"\n')
            program.chmod(0o755)
            (self.bin / f".{name}").mkdir()
            (self.bin / f".{name}" / name).symlink_to(FAKE)
        self.set(**settings)

    def set(self, **settings: Any) -> None:
        (self.folder / "settings.json").write_text(json.dumps(settings))

    def souk(self, *arguments: str, **env: str) -> Ended:
        own = {"PATH": f"{self.bin}:/usr/bin:/bin", "FAKE_DOCKER": str(self.folder), "SOUK_DOCKER": None}
        return forked_souk("env", *arguments, cwd=self.folder, env={**own, "POSTGRES_PASSWORD": None, **env})

    def error(self, *arguments: str, **env: str) -> str:
        """The last line of a command that fails as a user's mistake does."""
        ended = self.souk(*arguments, **env)
        assert ended.status == 2, ended
        assert ended.out == ""
        assert "Traceback" not in ended.err
        last = ended.err.splitlines()[-1]
        assert last.startswith("error: ")
        return last.removeprefix("error: ")

    def calls(self) -> list[list[str]]:
        """The commands so far, without what looks at things only, and without compose's own options."""
        found = []
        for line in (self.folder / "calls.jsonl").read_text().splitlines():
            program, *rest = json.loads(line)
            if "--file" in rest:
                found.append([program, *rest[rest.index("--file") + 2 :]])
        return found

    def stop(self) -> None:
        containers = self.folder / "containers.json"
        for container in json.loads(containers.read_text()) if containers.exists() else []:
            if container["process"]:
                os.kill(container["process"], 9)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path, "docker", images=[SHOPPING])
    yield machine
    machine.stop()


@pytest.fixture
def port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.mark.slow
def test_the_shop_from_up_to_down(machine: Machine, port: str) -> None:
    url = f"http://127.0.0.1:{port}/"
    up = machine.souk("up", "shop", "--port", port)
    assert (up.status, up.out) == (0, f"{url}\n"), up.err
    assert "shop: starting, waiting at most" in up.err
    assert httpx.get(url).status_code == 200

    status = machine.souk("status")
    assert re.search(rf"shop +running +healthy +{url}", status.out)
    assert re.search(r"onestopmarket +absent", status.out)
    found = {each["name"]: each for each in json.loads(machine.souk("status", "--json").out)}
    assert found["shop"] == {"name": "shop", "state": "running", "health": "healthy", "url": url}
    assert found["ray"] == {"name": "ray", "state": "absent", "health": "", "url": ""}

    before = json.loads((machine.folder / "containers.json").read_text())[0]["process"]
    reset = machine.souk("up", "shop", "--anew")
    assert (reset.status, reset.out) == (0, f"{url}\n"), reset.err
    after = json.loads((machine.folder / "containers.json").read_text())[0]["process"]
    assert before != after
    assert httpx.get(url).status_code == 200

    assert machine.souk("status", "shop", "--follow").out == "a line of the log\n"
    down = machine.souk("down", "shop")
    assert (down.status, down.out) == (0, "")
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
    assert machine.calls() == [
        ["docker", "--profile", "shop", "up", "--detach", "--build"],
        ["docker", "--profile", "shop", "up", "--detach"],
        ["docker", "--profile", "shop", "logs", "--follow", "shop"],
    ]


@pytest.mark.thorough
@pytest.mark.slow
def test_onestopmarket_is_told_its_address(machine: Machine, port: str) -> None:
    url = f"http://127.0.0.1:{port}/"
    machine.set(images=[SHOPPING], failures=1)
    up = machine.souk("up", "onestopmarket", "--port", port)
    assert (up.status, up.out) == (0, f"{url}\n"), up.err
    magento = "/var/www/magento2/bin/magento"
    base = [magento, "setup:store-config:set", f"--base-url={url.rstrip('/')}"]
    statement = f'UPDATE core_config_data SET value="{url}" WHERE path = "web/secure/base_url";'
    assert [call[4:] for call in machine.calls() if call[1] == "exec"] == [
        base,
        base,  # the first time it failed
        ["mysql", "-umagentouser", "-pMyPassword", "magentodb", f"--execute={statement}"],
        [magento, "indexer:set-mode", "schedule"],
        [magento, "cache:flush"],
    ]


@pytest.mark.slow
def test_an_image_that_is_not_loaded(machine: Machine) -> None:
    machine.set()
    assert machine.error("up", "onestopmarket") == (
        "the image shopping_final_0712 is not loaded; load it: docker load --input shopping_final_0712.tar "
        "(docs/environments.md says where the file comes from)"
    )


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("programs", "settings", "env", "expected"),
    [
        ([], {}, {}, "neither docker nor podman is installed; install one of them"),
        (["docker"], {"daemon": False}, {}, "docker does not answer (Cannot connect to the Docker daemon at unix:///run/docker.sock. Is the docker daemon running?); start its daemon, or get the right to use it"),  # noqa: E501
        (["docker"], {"compose": False}, {}, "docker has no compose; install its compose plugin, or docker-compose"),  # noqa: E501
        (["docker"], {}, {"SOUK_DOCKER": "nerdctl"}, "SOUK_DOCKER: nerdctl is no program; set it to docker or podman"),  # noqa: E501
    ],
)  # fmt: skip
def test_a_machine_without_what_it_takes(
    tmp_path: Path, programs: list[str], settings: dict[str, Any], env: dict[str, str], expected: str
) -> None:
    machine = Machine(tmp_path, *programs, **settings)
    env["PATH"] = f"{machine.bin}"  # without a docker or compose of this machine's own
    assert machine.error("status", **env) == expected
    hint = "; or run it without a container: souk env up shop --local"
    assert machine.error("up", "shop", **env) == expected + hint
    assert machine.error("up", "onestopmarket", **env) == expected


@pytest.mark.slow
def test_podman_with_a_compose_of_its_own(tmp_path: Path, port: str) -> None:
    machine = Machine(tmp_path, "docker", "podman", "podman-compose", has_health=False)
    try:
        up = machine.souk("up", "shop", "--port", port, SOUK_DOCKER="podman")
        assert up.status == 0, up.err
        assert {call[0] for call in machine.calls()} == {"podman"}
    finally:
        machine.stop()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"looks_until_healthy": 1000}, r"shop is not ready after 1 s \(starting\); look at `souk env status shop`, .*"),  # noqa: E501
        ({"state": "exited"}, r"shop has ended; `souk env status shop` shows why"),
        ({"up_fails": True}, r"`docker compose .* up --detach --build` ended with status 1; .* above"),
    ],
)  # fmt: skip
def test_a_shop_that_does_not_come_up(machine, port: str, settings: dict[str, Any], expected: str) -> None:
    machine.set(**settings)
    assert re.fullmatch(expected, machine.error("up", "shop", "--port", port, "--timeout", "1"))


@pytest.mark.slow
def test_mistakes_in_the_command(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = str(server.getsockname()[1])
        error = machine.error("up", "shop", "--port", taken)
    assert error == f"port {taken}: Address already in use; choose another port with --port"
    assert machine.error("up", "shop", "--port", "0").startswith("--port 0: ")
    assert machine.error("up", "shop", "--anew", "--port", "7").startswith("--anew: the port stays")
    assert machine.error("up", "ray", "--local").startswith("--local: ray needs a container")
    assert machine.error("status", "shop") == "shop is not up; launch it: souk env up shop"
    assert machine.error("up", "mars") == (
        "unknown environment 'mars'; the environments are: shop, onestopmarket, postgres, ray"
    )
    assert machine.calls() == []


@pytest.mark.thorough
@pytest.mark.slow
def test_postgres_wants_a_password_and_does_not_print_it(machine: Machine, port: str) -> None:
    assert machine.error("up", "postgres").startswith("POSTGRES_PASSWORD is not set; choose one: ")
    assert "letters" in machine.error("up", "postgres", POSTGRES_PASSWORD="p@ss")
    up = machine.souk("up", "postgres", "--port", port, POSTGRES_PASSWORD="s3cret")
    assert up.out == f'--db "postgresql+psycopg://souk:$POSTGRES_PASSWORD@127.0.0.1:{port}/souk"\n', up.err
    assert "s3cret" not in up.err
    assert "s3cret" not in (machine.folder / "calls.jsonl").read_text()


async def test_a_shop_that_redirects_elsewhere_does_not_answer() -> None:
    from starlette.concurrency import run_in_threadpool
    from starlette.responses import RedirectResponse

    async with pages({"/": RedirectResponse("http://shop.invalid/"), "/page": "<p>here</p>"}) as url:
        assert not await run_in_threadpool(answers, url)
        assert await run_in_threadpool(answers, f"{url}page")


def test_what_can_be_launched_is_in_the_compose_file() -> None:
    services = COMPOSE["services"]
    for target in LAUNCHABLE.values():
        own = {name for name, service in services.items() if target.name in service["profiles"]}
        assert own == set(target.services)
        ports = [port for name in own for port in services[name].get("ports", [])]
        assert len(ports) == 1
        assert f"${{{target.port_variable}:-{target.port}}}" in ports[0]
        if target.image:
            assert services[target.services[0]]["image"] == target.image


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_every_service_is_behind_a_profile_and_on_loopback(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["profiles"], "nothing starts unasked"
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert not service.get("privileged")
    if "build" in service:
        build = service["build"]
        dockerfile = COMPOSE_FILE.parent / build["context"] / build["dockerfile"]
        stages = re.findall(r"^FROM \S+ AS (\w+)$", dockerfile.read_text(), re.MULTILINE)
        assert build.get("target") in (*stages, None)


@pytest.mark.parametrize("service", ["runner", "ray-head", "ray-worker"])
def test_keys_of_every_provider_reach_what_runs_trials(service: str) -> None:
    passed = set(COMPOSE["services"][service]["environment"])
    wanted = {name for each in SERVICES.values() for name in (each.key_variable, each.url_variable)}
    assert passed == wanted


COMPOSES = [
    found
    for found in (["docker", "compose"], ["docker-compose"], ["podman-compose"])
    if shutil.which(found[0])
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMPOSES, ids=" ".join)
def test_compose_itself_takes_the_file(command: list[str]) -> None:
    if subprocess.run([*command, "version"], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no {' '.join(command)}")
    options = {f"--profile={name}" for each in COMPOSE["services"].values() for name in each["profiles"]}
    whole = [*command, "--file", str(COMPOSE_FILE), *options, "config"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["services"].keys() == COMPOSE["services"].keys()
