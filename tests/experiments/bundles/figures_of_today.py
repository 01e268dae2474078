"""Store what the code of today makes of the archives: `python -m tests.experiments.bundles.figures_of_today`.

Only where figures are meant to change: the difference of the stored files then shows what does.
"""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

from experiments.bundles.bundle import MANIFEST, Manifest, again, estimates

HERE = Path(__file__).parent
TODAY = HERE / "today"
ARCHIVES = sorted((HERE / "archives").glob("*.zip"))


def made_today(archive: Path) -> Any:
    """Analyse the tables of an archive, with the registered results where it has a chain."""
    with zipfile.ZipFile(archive) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = Manifest.model_validate_json(members[MANIFEST])
    of_run = {"run": manifest.run, "name": manifest.name, "started_at": manifest.started_at}
    with again(of_run, members) as made:
        return estimates(manifest.kind, members, made, manifest.run)


def stored(name: str) -> Any:
    """Read what is stored of the archive of this name."""
    return json.loads(gzip.decompress((TODAY / f"{name}.json.gz").read_bytes()))


def main() -> None:
    """Store the figures of each archive anew."""
    TODAY.mkdir(exist_ok=True)
    for archive in ARCHIVES:
        text = json.dumps(made_today(archive), allow_nan=False).encode()
        (TODAY / f"{archive.stem}.json.gz").write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
