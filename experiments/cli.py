"""The command line. Only this module and its commands know every room."""

import sys

try:
    import errno
    import gc
    import logging
    import os
    import signal
    from importlib import metadata
    from typing import Annotated, Any, Final

    import typer

    from analysis.tables.errors import AnalysisError
    from experiments.commands import (
        agents,
        analyze,
        bundle,
        catalogue,
        compare,
        control,
        db,
        doctor,
        env,
        experiments,
        export,
        fit,
        interventions,
        judge,
        models,
        paper,
        power,
        prompts,
        proxy,
        register,
        replay,
        report,
        run,
        runs,
        status,
        study,
        trials,
        view,
    )
    from experiments.console.terminal import PlainFormatter, plain
    from interventions.errors import CannotEdit, UserError
except KeyboardInterrupt:  # importing takes a moment, and main cannot help yet
    sys.exit(130)

GARBAGE: Final = 20_000
"""How many more objects there are before Python looks for cyclic garbage. Most of ours stay: it would look
through the modules and a run's rows again and again, which takes a tenth of a command's time."""

_SETTINGS: Final[dict[str, Any]] = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=_SETTINGS,
    help="Find out what moves AI agents when they choose.\n\n"
    "Start with [bold]souk run nudges --limit 60[/bold]: a simulated shopper shops in a real browser, "
    "on pages that the proxy rewrites, and a table of effects comes out.",
)


def _print_version(wanted: bool) -> None:
    """Print the version and exit, for the option `--version`."""
    if wanted:
        typer.echo(f"souk {metadata.version('souk')}")
        raise typer.Exit


@app.callback()
def souk(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit."),
    ] = False,
) -> None:
    """Take the options of `souk` itself; the help is that of `app`."""


PLAN, LOOK, SERVE, SHOPS, KEEP = (
    "Plan a study",
    "Study results further",
    "Serve agents and people that Souk does not start",
    "Prepare pages, shops and agents",
    "Keep, check and pass on runs",
)
"""The groups of `souk --help`, below the commands that are used first."""

app.command()(experiments.experiments)
app.command()(run.run)
app.command()(status.status)
app.command()(analyze.analyze)
app.command()(report.report)
app.command()(view.view)
app.command()(compare.compare)
app.command()(export.export)
app.add_typer(interventions.app, name="interventions")
app.command()(agents.agents)
app.add_typer(env.app, name="env")
app.command()(doctor.doctor)
app.command(rich_help_panel=PLAN)(power.power)
app.command(rich_help_panel=PLAN)(register.register)
app.command(rich_help_panel=PLAN)(fit.fit)
app.command(rich_help_panel=LOOK)(paper.paper)
app.command(rich_help_panel=LOOK)(judge.judge)
app.command(rich_help_panel=LOOK)(replay.replay)
app.add_typer(trials.app, name="trials", rich_help_panel=SERVE)
app.add_typer(study.app, name="study", rich_help_panel=SERVE)
app.add_typer(proxy.app, name="proxy", rich_help_panel=SERVE)
app.add_typer(catalogue.app, name="catalogue", rich_help_panel=SHOPS)
app.command(rich_help_panel=SHOPS)(prompts.prompts)
app.command(rich_help_panel=SHOPS)(models.models)
app.command(rich_help_panel=KEEP)(control.pause)
app.command(rich_help_panel=KEEP)(control.resume)
app.add_typer(runs.app, name="runs", rich_help_panel=KEEP)
app.add_typer(bundle.app, name="bundle", rich_help_panel=KEEP)
app.add_typer(db.app, name="db", rich_help_panel=KEEP)

ROOMS = ("interventions", "proxy", "environments", "agents", "experiments", "analysis")


def interrupt(*_: object) -> None:
    """Stop the command as Ctrl-C does.

    This works also where the signal is ignored, as for what a script starts with `&`.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _stop_anyway(unraisable: Any) -> None:
    """End the process also where Ctrl-C came in what cannot end it, such as an object's last breath.

    Python would print the exception and go on.
    """
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        os._exit(130)
    sys.__unraisablehook__(unraisable)


def command_line() -> Any:
    """Return the commands; flags, which take no value, are shown without a type in their help."""
    found = [top := typer.main.get_command(app)]
    for command in found:
        found += getattr(command, "commands", {}).values()
        for parameter in command.get_params(typer.Context(command, **_SETTINGS)):
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
    return top


def main() -> None:
    """Run `souk`: print a line for each mistake of the user, with status 2, and never a traceback."""
    try:
        gc.set_threshold(GARBAGE)
        log = logging.StreamHandler()
        log.setFormatter(PlainFormatter("%(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(level=os.environ.get("SOUK_LOG", "ERROR"), handlers=[log])
        if "SOUK_LOG" not in os.environ:  # that Ctrl-C came while a connection was closed is no news
            logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
        told = logging.getLogger("souk.told")
        to_person = logging.StreamHandler()
        to_person.setFormatter(PlainFormatter("%(message)s"))
        told.addHandler(to_person)
        told.setLevel(logging.WARNING)
        told.propagate = False
        # Whoever ends us politely finds everything put away, such as the key of a certificate authority.
        signal.signal(signal.SIGTERM, interrupt)
        sys.unraisablehook = _stop_anyway
        command_line()()
    except (UserError, AnalysisError, CannotEdit) as error:
        for line in error.lines if isinstance(error, UserError) else [str(error)]:
            sys.stderr.write(f"error: {' '.join(plain(line).splitlines())}\n")
        sys.exit(2)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ROOMS:
            raise
        sys.stderr.write(
            f"error: {package} is not installed; install Souk with all that it needs: make setup\n"
        )
        sys.exit(2)
    except KeyboardInterrupt:  # before there is a command that knows what to put away
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key that is held repeats
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has gone, e.g. `souk ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if not (line := lacking(error) or _database_failure(error)):
            raise
        logging.getLogger(__name__).debug("the command failed", exc_info=error)
        sys.stderr.write(f"error: {plain(line)}\n")
        sys.exit(2)


def lacking(error: Exception) -> str:
    """Return the line for what the system has no more of: open files, room; empty for any other error."""
    if not isinstance(error, OSError):
        return ""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        advice = "close other programs, or allow more (ulimit -n)"
    elif error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
        advice = "make room, also in the temporary folder (TMPDIR), or allow larger files (ulimit -f)"
    else:
        return ""
    return f"{error.strerror}: {advice}; what was stored is safe, and the same command goes on"


def _database_failure(error: Exception) -> str:
    """Return the line for an error that the database raised; empty for any other error."""
    if "sqlalchemy" not in sys.modules:  # it takes long to import
        return ""
    from experiments.records.errors import told  # noqa: PLC0415

    return told(error)


if __name__ == "__main__":
    main()
