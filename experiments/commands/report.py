"""souk report: the HTML report of a run, or of any tidy tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    Db,
    Excluded,
    Kind,
    Out,
    RunOrFiles,
    Site,
    named_studies,
)
from experiments.commands.results import analysed, folder_of, write
from interventions.errors import UserError

if TYPE_CHECKING:
    from experiments.studies.stored_studies import StoredStudy


def report(
    named: RunOrFiles = None,
    db: Db = DEFAULT_DB,
    out: Out = None,
    site: Site = None,
    kind: Kind = None,
    agent: Agents = None,
    exclude: Excluded = None,
) -> None:
    """Write the HTML report and the figures of a run, or of any tidy tables.

    Examples:

      souk report nudges --out report/

      souk report nudges --exclude simulated:random --out report/

      souk report answers.csv --as montecarlo --out report/

      souk report nudges nudges-mr --out report/

      souk report nudges --out report/ --site site/
    """
    from experiments.studies.stored_studies import shared_kind

    studies = named_studies(named, db, kind)
    kind = shared_kind(studies, kind)
    own = folder_of(studies)
    if own and (agent or exclude) and not out:
        name = "--agent" if agent else "--exclude"
        raise UserError(f"{name}: the report in the run's folder is about all agents; add --out DIR")
    folder = out or own or Path("report")
    trials, names = _pages(site, studies, folder) if site else (None, {})
    made = analysed(studies, kind, agent or (), exclude or ())
    typer.echo(write(made.report, made.title, made.facts, folder, trials, names))


def _pages(site: str, studies: "Sequence[StoredStudy]", folder: Path) -> tuple[str, dict[str, str]]:
    """The pages of a run's trials: the first, and those of what cells of tables name. Raises UserError."""
    from experiments.records.reading.trial_search import Selection, facet_cells
    from experiments.studies.stored_studies import StoredRun
    from experiments.viewer.screens.answer_screen import named_trials
    from experiments.viewer.site_address import SiteAddress

    if len(studies) > 1 or not isinstance(one := studies[0], StoredRun):
        raise UserError(f"--site {site}: pages are of one run; name one")
    pages, whole = SiteAddress(site, folder), Selection(one.found["run"])
    named = named_trials(whole.run, facet_cells(one.records, whole))
    return pages.first_page(), {name: page for name, its in named.items() if (page := pages.of_list(its))}
