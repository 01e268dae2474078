"""What shop.Dockerfile puts into its image is all that the shop needs, and no more than it names."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.containers.test_proxy_image import missing_modules

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "docker" / "shop.Dockerfile").read_text()

# Isolated, but for the folder: neither this checkout nor an installed package can lend it a module.
PROGRAM = """
import sys

missing = set(sys.argv[2].split())


class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path = [Missing(), *(f for f in sys.meta_path if "editable" not in getattr(f, "__module__", ""))]
sys.path = [".", *(p for p in sys.path if p and p != sys.argv[1])]
from environments.shop.server import main

main(["--host", "127.0.0.1"])
"""


def copied() -> list[str]:
    """The paths that the Dockerfile copies from the repository."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    return [path for line in lines for path in line.split() if not path.endswith(".lock")]


@pytest.mark.slow
def test_the_shop_runs_from_the_files_of_its_image(tmp_path: Path) -> None:
    for path in copied():
        target = tmp_path / path
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / path, target)
    packages = re.findall(r"--constraint requirements\.lock (.+)$", DOCKERFILE, re.MULTILINE)[0].split()
    missing = missing_modules(packages)
    assert "selectolax" in missing
    command = [sys.executable, "-P", "-c", PROGRAM, str(ROOT), " ".join(missing)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            assert ready.startswith("shop ready http://127.0.0.1:")
            profile = httpx.get(f"{ready.split()[-1]}.well-known/ucp").json()["ucp"]
            transports = [each["transport"] for each in profile["services"]["dev.ucp.shopping"]]
            assert transports == ["rest", "mcp"]
            assert httpx.get(ready.split()[-1]).status_code == 200
        finally:
            process.terminate()


def test_the_health_check_and_the_address_agree() -> None:
    (port,) = re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE)
    assert f"http://127.0.0.1:{port}/" in DOCKERFILE
    assert f'"--host", "0.0.0.0", "--port", "{port}"]' in DOCKERFILE
