"""A program that takes docker's place: it knows the commands that Souk gives, and runs the embedded shop
where docker would run a container. Its folder `$FAKE_DOCKER` holds what it obeys (`settings.json`), what it
was asked (`calls.jsonl`), and the containers that it believes to have.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(os.environ["FAKE_DOCKER"])
SETTINGS: dict[str, Any] = json.loads((FOLDER / "settings.json").read_text())
CONTAINERS = FOLDER / "containers.json"
ROOT = Path(__file__).resolve().parents[3]


def fail(message: str, status: int = 1) -> None:
    sys.stderr.write(message + "\n")
    sys.exit(status)


def containers() -> list[dict[str, Any]]:
    return json.loads(CONTAINERS.read_text()) if CONTAINERS.exists() else []


def keep(found: list[dict[str, Any]]) -> None:
    CONTAINERS.write_text(json.dumps(found))


def ps(arguments: list[str]) -> None:
    wanted = [each.rpartition("=")[2] for each in arguments if "compose.service" in each]
    for container in containers():
        if not wanted or container["service"] in wanted:
            print(container["id"])


def inspect(ids: list[str]) -> None:
    found = containers()
    shown = []
    for container in found:
        if container["id"] not in ids:
            continue
        container["looks"] += 1
        healthy = container["looks"] > SETTINGS.get("looks_until_healthy", 1)
        state = {"Status": SETTINGS.get("state", "running")}
        if SETTINGS.get("has_health", True):
            state["Health"] = {"Status": "healthy" if healthy else "starting"}
        bindings = {"80/tcp": [{"HostIp": "127.0.0.1", "HostPort": container["port"]}]}
        ports = {"PortBindings": bindings if container["port"] else {}}
        shown.append({"Id": container["id"], "State": state, "HostConfig": ports})
    keep(found)
    print(json.dumps(shown))


def stop(ids: list[str]) -> None:
    for container in containers():
        if container["id"] in ids and container["process"]:
            os.kill(container["process"], signal.SIGKILL)


def compose(arguments: list[str]) -> None:
    if not SETTINGS.get("compose", True):
        fail("docker: 'compose' is not a docker command.")
    if arguments == ["version"]:
        return
    options = {"--project-name": "", "--file": "", "--profile": ""}
    while arguments[0] in options:
        options[arguments[0]] = arguments[1]
        arguments = arguments[2:]
    services = {
        name: service
        for name, service in yaml.safe_load(Path(options["--file"]).read_text())["services"].items()
        if options["--profile"] in service["profiles"]
    }
    match arguments:
        case ["up", "--detach", *_]:
            up(services)
        case ["logs", *_]:
            print("a line of the log")
        case ["exec", "-T", _, program, *_]:
            count = FOLDER / "failed"
            done = int(count.read_text()) if count.exists() else 0
            if done < SETTINGS.get("failures", 0):
                count.write_text(str(done + 1))
                fail(f"{program}: cannot connect to the database")
        case _:
            fail(f"unknown command: {arguments}", 125)


def up(services: dict[str, Any]) -> None:
    if SETTINGS.get("up_fails"):
        fail("several lines\nthat say why")
    found = containers()
    for name, service in services.items():
        if any(container["service"] == name for container in found):
            continue
        port = ""
        for published in service.get("ports", []):
            variable, default = re.match(r"127\.0\.0\.1:\$\{(\w+):-(\d+)\}:", published).groups()
            port = os.environ.get(variable, default)
        process = None
        if name in ("shop", "onestopmarket"):
            with (FOLDER / "shop.log").open("a") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "environments.shop", "--port", port],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                ).pid
        found.append({"id": f"{name}-1", "service": name, "port": port, "looks": 0, "process": process})
    keep(found)
    sys.stdout.write(f"Container {', '.join(services)} Started\n")


def main() -> None:
    arguments = sys.argv[1:]
    with (FOLDER / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps([Path(sys.argv[0]).name, *arguments]) + "\n")
    if Path(sys.argv[0]).name.endswith("-compose"):
        compose(arguments)
        return
    if not SETTINGS.get("daemon", True):
        fail("Cannot connect to the Docker daemon at unix:///run/docker.sock. Is the docker daemon running?")
    match arguments:
        case ["ps", *options]:
            ps(options)
        case ["inspect", *ids]:
            inspect(ids)
        case ["stop", *ids]:
            stop(ids)
        case ["rm", "--volumes", *ids]:
            keep([each for each in containers() if each["id"] not in ids])
        case ["image", "inspect", name]:
            if name not in SETTINGS.get("images", []):
                fail(f"Error response from daemon: No such image: {name}:latest")
        case ["compose", *rest]:
            compose(rest)
        case _:
            fail(f"unknown command: {arguments}", 125)


main()
