"""A shop with a certificate of a private authority, and every command that asks something of shops."""

import sqlite3
from pathlib import Path

import pytest
from starlette.concurrency import run_in_threadpool

from tests.experiments.certificates import certificates
from tests.experiments.command_line import Ended, forked_souk
from tests.experiments.foreign_shop import ForeignShop, experiment
from tests.support import serve, size

pytestmark = [pytest.mark.browser]


async def souk(*arguments: str, cwd: Path, ca: Path | None) -> Ended:
    env = {"SSL_CERT_FILE": str(ca) if ca else None}
    return await run_in_threadpool(forked_souk, *arguments, cwd=cwd, env=env)


@pytest.mark.thorough
async def test_each_command_takes_the_authority_by_option_or_variable(tmp_path: Path) -> None:
    authority, certificate = certificates(tmp_path)
    shop = ForeignShop(canonical="/KEY")
    async with serve(shop.app(), certificate) as address:
        file = str(experiment(tmp_path, shop, address, page="${key}"))
        page = f"{address}harbour-desk-lamp"
        commands = {
            "map": f"interventions map {page} --follow 0 --render",
            "preview": f"interventions preview {tmp_path}/nudge.yaml praised {page} --png p.png",
            "run": f"run {file} --limit 1",
            "import": f"catalogue import {address} --out c.csv",
        }
        for name, command in commands.items():
            folder = tmp_path / name
            folder.mkdir()
            ended = await souk(*command.split(), cwd=folder, ca=None)
            assert ended.status == 2, (name, ended.err)
            last = ended.err.strip().splitlines()[-1]
            advice = "name its authority's with --upstream-ca FILE, or in SSL_CERT_FILE"
            assert last.endswith(f"its certificate is not trusted; {advice}"), last
            ways = [(authority, None), (None, authority)]
            if name != "run":  # the others do the same with it
                ways = ways[: size(1, 2)]
            for number, (option, variable) in enumerate(ways):
                more = ("--upstream-ca", str(option)) if option else ()
                own = {"map": ("--out", f"m{number}.yaml"), "run": ("--db", f"sqlite:///t{number}.db")}
                ended = await souk(*command.split(), *own.get(name, ()), *more, cwd=folder, ca=variable)
                assert "certificate" not in ended.err + ended.out, (name, ended.err)
                if name != "import":  # the shop has no menu
                    assert ended.status == 0, (name, ended.err)
    for name in ("t0.db", "t1.db"):
        with sqlite3.connect(tmp_path / "run" / name) as records:
            outcomes = records.execute("SELECT outcome, count(*) FROM trials GROUP BY 1").fetchall()
        assert outcomes == [("choice", 1)]


def test_a_file_of_the_environment_that_is_not_there_is_named(tmp_path: Path) -> None:
    command = ("interventions", "preview", "nudges", "wirecutter", "https://127.0.0.1:9/")
    ended = forked_souk(*command, cwd=tmp_path, env={"SSL_CERT_FILE": "gone.pem"})
    said = "SSL_CERT_FILE gone.pem: cannot be read (No such file or directory); give a file"
    assert (ended.status, said in ended.err) == (2, True), ended.err
