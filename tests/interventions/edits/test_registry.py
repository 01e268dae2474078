"""Edits of other packages are found by their entry point, in a process of their own."""

# ruff: noqa: E501 - messages and markup stand as they are compared

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SHOUT = """
from pydantic import RootModel
from interventions.edits.base import Edit, RoleName
from interventions.edits.showing import Change

class {name}(Edit, RootModel[RoleName], frozen=True):
    def roles(self):
        return (self.root,)

    def apply(self, showing):
        target = showing.main(self.root)[0]
        return Change(1, *showing.page.set_text(target.node, showing.value(target).upper()))
"""
USE = """
from interventions.apply.engine import rewrite
from interventions.apply.plan import Plan, ProductFacts, compile_treatment
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map

site = load_site_map("onestopmarket")
treatment = compile_treatment(load_interventions("mine.yaml")["loud"], ProductFacts("x"))
page = b'<meta property="og:type" content="product"><div class="page-title-wrapper product"><h1 class="page-title">'
page += b'<span class="base">Oats</span></h1></div>'
print(rewrite(page, content_type="text/html", url="/x.html", plan=Plan((treatment,)), site=site).body.decode())
"""


def run(folder: Path, module: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` where a package is installed whose entry point is in `module`."""
    (folder / "shouting.py").write_text(module)
    metadata = folder / "shouting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[souk.edits]\nshout = shouting:Shout\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_an_installed_package_adds_an_edit(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "interventions: [{id: loud, kind: title, edits: [{shout: product.name}]}]"
    )
    done = run(tmp_path, SHOUT.format(name="Shout"), USE)
    assert ">OATS</span>" in done.stdout, done.stderr


def test_a_package_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "import nowhere_at_all", "import interventions.edits.registry")
    assert (
        "UserError: edit \"shout\" (shouting:Shout): No module named 'nowhere_at_all'; mend or uninstall its package"
        in done.stderr
    )


def test_two_edits_cannot_have_one_name(tmp_path: Path) -> None:
    module = SHOUT.format(name="Remove") + "Shout = Remove"
    done = run(tmp_path, module, "import interventions.edits.registry")
    assert 'UserError: edit "remove": ' in done.stderr
    assert "both define it; rename or uninstall one" in done.stderr
