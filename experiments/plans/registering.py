"""Register a plan in a database and as a file, and say before a run what is registered of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.designs.loading import AnyDesign
from experiments.records.reading.plans import (
    RegisteredPlan,
    changed_keys,
    registered_otherwise,
    registered_plan,
)
from experiments.records.store import Records
from experiments.records.whole_file import whole_file
from interventions.errors import UserError

SUFFIX = ".plan.json"
MOST_BYTES = 1 << 26


def plan_path(experiment: str, name: str) -> Path:
    """Return where the plan of an experiment stands: beside its file, or here where it is a shipped one."""
    path = Path(experiment)
    return path.with_suffix(SUFFIX) if path.suffix in (".yaml", ".yml") else Path(f"{name}{SUFFIX}")


def _file_text(plan: RegisteredPlan) -> str:
    """Return the file of a plan: its hash, and what the hash is of."""
    return json.dumps({"sha256": plan.hash, "plan": plan.content}, indent=1, ensure_ascii=False) + "\n"


def read_plan(path: Path) -> dict[str, Any] | None:
    """Return the content of a plan's file; None where there is no such file.

    Raises:
        UserError: it cannot be read, or is no plan.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
        content = json.loads(data)["plan"]
        return dict(content)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path") from None
    except (ValueError, TypeError, LookupError, RecursionError):
        raise UserError(f"{path}: no plan that souk register has written; name another with --out") from None


def write_plan(path: Path, plan: RegisteredPlan) -> None:
    """Write the file of a plan, never half of one. Raises UserError."""
    with whole_file(path) as partial:
        partial.write_text(_file_text(plan), encoding="utf-8")


def plan_notes(records: Records, design: AnyDesign, experiment: str, total: int) -> Iterator[str]:
    """Say in a line what is registered of a run of `total` trials; nothing where there is no plan at all."""
    run = design.run_id
    if plan := registered_plan(records, run):
        now = design.experiment.model_dump(mode="json", by_alias=True)
        number = len(plan.content["hypotheses"])
        yield f"registered: plan {plan.hash[:12]} of {plan.registered_at}, hypotheses: {number}"
        if total > (planned := plan.content["trials"]["planned"]):
            yield (
                f"the plan has {planned:,} trials, and this command runs {total:,}: --limit says how many of"
                " each agent"
            )
        if changed := changed_keys(plan.content["experiment"], now):
            yield (
                f"the file was changed after registration ({', '.join(changed)}): the registered plan "
                "counts, and the report lists this as a deviation"
            )
    elif other := registered_otherwise(records, run, design.name):
        yield (
            f"not registered: a plan of this name is registered for {other}; the experiment was changed "
            "since, so this is another run, and the report says so"
        )
    elif (path := plan_path(experiment, design.name)).exists():
        yield (
            f"not registered in this database, though there is {path}: "
            f"souk register {experiment} --db {records.url} comes before the first trial"
        )
