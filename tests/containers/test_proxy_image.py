"""`souk proxy serve --interventions` runs with the libraries that the proxy's image has."""

import re
import socket
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "souk.Dockerfile").read_text()

PROGRAM = """
import sys
missing = set(sys.argv[1].split())

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
sys.argv = ["souk", "proxy", "serve", "--interventions", "nudges", "--port", sys.argv[2]]
from experiments.cli import main
main()
"""


def with_dependencies(names: list[str]) -> set[str]:
    """What pip installs for these packages, as far as it is installed here."""
    found: set[str] = set()
    while names:
        name = canonicalize_name(names.pop())
        if name in found:
            continue
        found.add(name)
        try:
            needed = [Requirement(line) for line in requires(name) or []]
        except PackageNotFoundError:
            continue
        names += [each.name for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
    return found


def missing_modules(packages: list[str]) -> list[str]:
    """The modules that are installed here, but not where only these packages are."""
    there = with_dependencies(packages)
    return [
        module
        for module, distributions in packages_distributions().items()
        if not there & {canonicalize_name(each) for each in distributions} and "souk" not in distributions
    ]


@pytest.mark.thorough
@pytest.mark.slow
def test_the_proxy_starts_with_the_libraries_of_its_image() -> None:
    stage = DOCKERFILE.split("AS build-proxy", 1)[1].split("COPY . .", 1)[0]
    named = re.sub(r"^.*--constraint requirements\.lock", "", stage.replace("\\\n", " "), flags=re.DOTALL)
    missing = missing_modules(named.split())
    assert "sqlalchemy" in missing
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    command = [sys.executable, "-c", PROGRAM, " ".join(missing), port]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as proxy:
        try:
            assert proxy.stdout is not None
            assert proxy.stdout.readline() == f"souk proxy on http://127.0.0.1:{port}\n"
        finally:
            proxy.terminate()
