"""Serve a study: the shop through the proxy, and the study's own pages at the same address."""

import logging
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mitmproxy import http
from mitmproxy.addons.asgiapp import serve

from environments.observation.stops import guard
from environments.shop.shop import Shop
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.trial import ShopTrial
from experiments.episodes.guest_trial import GuestTrials, Scripts, shop_origin
from experiments.executors.start_pages import check_start_pages
from experiments.people.blocks import make_blocks, practices
from experiments.people.debriefing import changes_of
from experiments.people.identity import StudyKey
from experiments.people.pictures import PictureTrials, take_pictures
from experiments.people.register import Register, blocks, participants
from experiments.people.site import StudySite
from experiments.people.study_file import PeopleStudy
from experiments.people.visits import Proposes, StudyVisits
from experiments.records.reading.people import choices_of, stored_of
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from interventions.errors import UserError
from proxy.addon import CSP, path_of
from proxy.guests import PREFIX, Guests, is_of_another_site
from proxy.reverse import MAPPING, Origin
from proxy.server import run_proxy

logger = logging.getLogger(__name__)

REPORTS: Final = f"{PREFIX}seen"
FRAMED: Final = re.compile(r"\s*frame-ancestors\b[^;,]*;?", re.IGNORECASE)


class PeopleGuests(Guests):
    """The mitmproxy addon for people: the study's pages are an application's, and the shop is in a frame."""

    def __init__(self, reports_to: str) -> None:
        """Take the path to which pages report."""
        super().__init__(None, by_cookie=True, reports_to=reports_to)
        self.names: tuple[str, ...] = ()
        """The hosts under which people reach the study."""
        self.app: Any = None

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Keep what is for the study's pages from the shop; a frame's page is asked for as a tab's is."""
        path = path_of(flow.request)
        if path.startswith(PREFIX) and path != self._reports_to:
            flow.response = http.Response.make(204)  # until the whole request is there
            flow.metadata[PREFIX] = True
        elif self.session_of(flow) is None:
            flow.response = http.Response.make(303, b"", {"location": PREFIX})
        else:
            if flow.request.headers.get("sec-fetch-dest") == "iframe":
                flow.request.headers["sec-fetch-dest"] = "document"
            super().requestheaders(flow)

    async def request(self, flow: http.HTTPFlow) -> None:  # type: ignore[override]
        """Answer a request to the study's own pages."""
        if not flow.metadata.get(PREFIX):
            super().request(flow)
            return
        host = flow.metadata[MAPPING].own.partition("://")[2] if MAPPING in flow.metadata else ""
        if host not in self.names or (flow.request.method == "POST" and self._is_foreign(flow)):
            flow.response = http.Response.make(403, b"not from here\n")
            return
        flow.request.headers["host"] = host
        await serve(self.app, flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Let the shop's pages be shown in the study's frame."""
        if flow.response is None or flow.metadata.get(PREFIX):
            return
        headers = flow.response.headers
        headers.pop("x-frame-options", None)
        if CSP in headers:
            headers.set_all(CSP, [FRAMED.sub("", each) for each in headers.get_all(CSP)])

    def _is_foreign(self, flow: http.HTTPFlow) -> bool:
        """Whether a page of another site sends a form."""
        origin, mapping = flow.request.headers.get("origin"), flow.metadata[MAPPING]
        if origin is not None and origin not in (mapping.own, mapping.origin.url):
            return True
        return flow.request.headers.get("sec-fetch-site") is not None and is_of_another_site(flow.request)


def prepared(study: PeopleStudy, records: Records) -> tuple[ShopDesign, dict[str, ShopTrial]]:
    """Make the blocks of a study and store them; return its design, and its trials by id.

    Raises:
        UserError: a mistake in the experiment, too few trials, or another study of this name.
    """
    with study.source.placing(("experiment",)):
        design = load_shop_design(study.experiment, study.agent)
    file = study.file
    trials = list(design.trials([study.agent]))
    if file.show == "screenshots":
        if design.experiment.task != "compare-tabs":
            message = f"the task {design.experiment.task} begins with no product's page; write live"
            raise study.source.error(("show",), message)
        trials = [replace(trial, modality="screenshot") for trial in trials]
    register = Register(records, study.name)
    wanted = file.participants.blocks
    made = [row["trials"] for row in register.rows(blocks)][:wanted]
    if more := wanted - len(made):  # a study that grows shares the trials that are left
        taken = {trial for block in made for trial in block}
        left = [trial for trial in trials if trial.id not in taken]
        with study.source.placing(("participants",)):
            further = make_blocks(left, more, file.block.trials, file.seed)
        made += [[trial.id for trial in block] for block in further]
    if file.practice and not practices(trials, made):
        message = (
            "no trial without a treatment is left of a choice set that no block has; leave it out, or give "
            "the experiment more sets"
        )
        raise study.source.error(("practice",), message)
    register.prepare(design.run_id, study.digest, made)
    return design, {trial.id: trial for trial in trials}


def _to_be_shown(trials: Mapping[str, ShopTrial], register: Register, *, practice: bool) -> list[ShopTrial]:
    """Return the trials that people can be given: those of the blocks, and the one to practise on."""
    names = dict.fromkeys(name for row in register.rows(blocks) for name in row["trials"])
    if practice:
        made = [row["trials"] for row in register.rows(blocks)]
        names[practices([*trials.values()], made)[-1].id] = None
    return [trials[name] for name in names]


def proposals(study: PeopleStudy, records: Records) -> Proposes:
    """Return what says which option the study's agent chose where the same was shown.

    Raises:
        UserError: the run is not there, or the agent has no choices in it.
    """
    team = study.file.team
    if team is None:
        return lambda _: None
    with study.source.placing(("team", "run")):
        run = records.latest_run(team.run)["run"]
    choices = choices_of(records, run, team.agent)
    if not choices:
        message = f"{team.agent} has no choices in {run}; run it there first"
        raise study.source.error(("team", "agent"), message)

    def proposes(trial: ShopTrial) -> str | None:
        nudge = trial.nudge.id if trial.nudge else ""
        return choices.get((trial.carrier, trial.set, nudge, trial.condition, trial.profile, trial.ordering))

    return proposes


def key_path(records: Records, run: str, study: PeopleStudy) -> Path:
    """Return the file of a study's key, which is no part of the run's folder: bundles take that along."""
    return records.folder(run).parent / f"{study.name}.key"


def key_of(records: Records, run: str, study: PeopleStudy) -> StudyKey:
    """Return the key of a study. It is made before the first person: another one would know nobody.

    Raises:
        UserError: it is gone, and people have taken part.
    """
    path = key_path(records, run, study)
    has_people = bool(Register(records, study.name).rows(participants))
    return StudyKey(path) if has_people else StudyKey.make(path)


@dataclass(frozen=True)
class ServedStudy:
    """A study that is served: the address for people, the people who are there, and the shop's design."""

    address: str
    visits: StudyVisits
    design: ShopDesign


@asynccontextmanager
async def served(
    study: PeopleStudy,
    records: Records,
    port: int,
    public: str | None = None,
    reverse: str | None = None,
    *,
    without_codes: bool = False,
) -> AsyncIterator[ServedStudy]:
    """Serve a study within the block.

    `public`: the address under which a front server brings people here. `reverse`: the origin of a shop that
    runs; None: the embedded one, or the experiment's own. `without_codes`: nobody is given a platform's code.

    Raises:
        UserError: a mistake in a file, a start page that could not be treated, or the port is taken; or
            another process serves the study.
    """
    codes = {} if without_codes else study.codes()
    design, trials = prepared(study, records)
    key, team = key_of(records, design.run_id, study), proposals(study, records)
    file, register = study.file, Register(records, study.name)
    has_pictures = file.show == "screenshots"
    own = public.rstrip("/") if public else None
    if own and (urlsplit(own).scheme not in ("https", "http") or urlsplit(own).path):
        raise UserError(f"--public-url {public}: no origin; write it like https://study.example.org")
    live = design.experiment.live
    scripts = Scripts(guard(live.stop_before) if live else "", REPORTS, framed=True)
    async with AsyncExitStack() as stack:
        writer = Writer(records)
        stack.push_async_callback(writer.close)
        admission = Admission(records, design.run_id, trials=len(trials), alone=True)
        await stack.enter_async_context(admission)
        facts = replace(design.facts([study.agent]), people=study.declared)
        facts = facts if has_pictures else replace(facts, observe="exposure")
        records.begin_run(design.run_id, design.name, facts)

        async def store(record: TrialRecord) -> None:
            await writer.store(record)
            admission.settle(record)

        shop = Shop(reverse.rstrip("/") + "/") if reverse else design.shop
        await check_start_pages(design, trials.values(), shop, in_browser=False)
        if has_pictures:
            await take_pictures(design, _to_be_shown(trials, register, practice=file.practice), shop, records)
        url = await stack.enter_async_context(shop.opened())
        origin = Origin.of(shop_origin(url))
        begins = (
            PictureTrials(design, url, records)
            if has_pictures
            else GuestTrials(design, url, reverse=True, observe="exposure", scripts=scripts)
        )
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="souk-ca-")))
        guests = PeopleGuests(REPORTS)
        stored = partial(stored_of, records, design.run_id)
        visits = StudyVisits(study, register, key, codes, trials, begins, guests, stored, store, team)
        stack.push_async_callback(visits.close)
        changes = changes_of(records, design)
        guests.app = StudySite(visits, changes, secure=bool(own and own.startswith("https:"))).app()
        proxy = await stack.enter_async_context(run_proxy(folder, guests=guests))
        slot = await proxy.open_slot(port, origin.url, public=own)
        own_names = (f"127.0.0.1:{slot.port}", f"localhost:{slot.port}")
        guests.names = (*own_names, *([urlsplit(own).netloc] if own else []))
        yield ServedStudy(own or slot.url, visits, design)
