"""souk bundle and souk bundle verify."""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from experiments.commands.common import DEFAULT_DB, AsJson, Db, open_records

MOST_LINES = 20


class _RunOrVerify(TyperGroup):
    """The group `souk bundle`: an argument that is no command names the run to bundle."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Supply the command `make` where it was not written out."""
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["make", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_RunOrVerify,
    help="Make one archive of a run that others can check: [bold]souk bundle RUN --out FILE.zip[/bold].",
)


@app.command("make")
def make(
    run: Annotated[str | None, typer.Argument(help="Run (id or name); the latest by default.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="The .zip to write.")] = None,
    with_site: Annotated[
        bool,
        typer.Option("--with-site", help="Put in the pages of all trials that souk view --static writes."),
    ] = False,
    db: Db = DEFAULT_DB,
) -> None:
    """Write one archive with a run's design, data, hashes of pages, receipts and estimates.

    The word make can be left out. The same run gives the same archive, byte for byte.

    Examples:

      souk bundle nudges --out nudges.zip

      souk bundle nudges --with-site --out nudges.zip
    """
    from experiments.bundles.bundle import make_bundle, write_bundle
    from experiments.commands.common import estimating

    records = open_records(db)
    found = records.latest_run(run)
    path = out or Path(f"{found['run']}.zip")
    if with_site:
        from experiments.console.progress import counting
        from experiments.viewer.site import site_files

        with counting() as tell:
            content = make_bundle(records, found, site_files(records, found["run"], tell))
    else:
        with estimating():
            content = make_bundle(records, found)
    write_bundle(content, path)
    typer.echo(f"{path}: run {found['run']}, {len(content):,} bytes")
    typer.echo(f"SHA-256 {hashlib.sha256(content).hexdigest()}")


@app.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(help="An archive that souk bundle has written.")],
    tolerance: Annotated[
        float, typer.Option(min=0, help="Numbers may differ by this, relative to the larger one or to 1.")
    ] = 1e-9,
    as_json: AsJson = False,
) -> None:
    """Check an archive: every hash, its plan, its chain of trials, and whether its data give its estimates.

    Example: souk bundle verify nudges.zip
    """
    from experiments.bundles.verify import verify_bundle
    from experiments.commands.common import estimating
    from experiments.console.terminal import stderr_console, stdout_console

    with estimating():
        found = verify_bundle(file, tolerance)
    status = 1 if found.differences else 0
    if as_json:
        content = {
            "run": found.manifest.run,
            "members": len(found.manifest.members),
            "differences": found.differences,
            "notes": found.notes,
            "proof": found.proof,
        }
        typer.echo(json.dumps(content, indent=2))
        raise typer.Exit(status)
    console, out = stderr_console(), stdout_console()
    for line in found.notes:
        console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    for line in found.proof or ["no plan, and no chain of trials, is kept in this archive"]:
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    for line in found.differences[:MOST_LINES]:
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    if len(found.differences) > MOST_LINES:
        out.print(f"... and {len(found.differences) - MOST_LINES:,} more; --json has all")
    outcome = f"{len(found.differences):,} values differ" if status else "the estimates come out again"
    members = f"{len(found.manifest.members):,} members are whole"
    out.print(
        f"{file}: run {found.manifest.run}: {members}; {outcome}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    raise typer.Exit(status)
