"""The study's own pages as an ASGI application, under the path of the proxy's own pages.

A GET never starts anybody: links are opened by messengers and scanners too.
"""

import hashlib
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from experiments.people.debriefing import Changes
from experiments.people.identity import LABEL
from experiments.people.pictures import PictureTrial
from experiments.people.register import Row
from experiments.people.screens import POLICY, Screens, words_of
from experiments.people.stages import StudyStages
from experiments.people.study_file import Ending
from experiments.people.visits import StudyVisits
from experiments.records.errors import DatabaseFailure, is_lost
from proxy.guests import COOKIE, PREFIX

HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
LARGEST: Final = 64_000
"""The most bytes of a form."""
MOST: Final = {True: 300, False: 1_200}
"""The most requests of one browser that takes part, and of one address before that, in a minute."""
_DEVICE: Final = re.compile(r"(\d{1,5}),(\d{1,5}),([01])")
_AGENTS: Final = re.compile(r"(Firefox|Edg|Chrome|Safari)/(\d+)")
Handler = Callable[[Request, Row | None], Awaitable[Response]]


class StudySite:
    """The pages of a study; each leads to the next one."""

    def __init__(self, visits: StudyVisits, changes: Changes, *, secure: bool) -> None:
        """Take the visits; `changes` says what was changed in a person's trials.

        `secure`: people come over TLS, and their cookies never leave it.
        """
        self._visits, self._secure = visits, secure
        self._screens = Screens(visits.study)
        self._stages = StudyStages(visits, self._screens, changes)
        self._asked: dict[str, deque[float]] = {}

    def app(self) -> Starlette:
        """Return the application."""
        handlers: list[tuple[str, str, Handler]] = [
            ("GET", "", self.welcome),
            ("POST", "begin", self.begin),
            ("POST", "consent", self.consent),
            ("POST", "resume", self.resume),
            ("GET", "state", self.state),
            ("GET", "go", self._known(self.page)),
            ("POST", "next", self._known(self.next)),
            ("POST", "start", self._known(self.start)),
            ("POST", "end", self._known(self.none)),
            ("POST", "choose", self._known(self.choose)),
            ("GET", "picture/{name}", self._known(self.picture)),
            ("POST", "leave", self._known(self.leave)),
            ("POST", "note", self._known(self.note)),
        ]
        return Starlette(
            routes=[
                Route(PREFIX + path, self._limited(handler), methods=[method])
                for method, path, handler in handlers
            ]
        )

    def _limited(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Find out whose browser asks, once; turn away who sends too much, or too often."""

        async def limited(request: Request) -> Response:
            if int(request.headers.get("content-length") or 0) > LARGEST:
                return Response("too much\n", 429, HEADERS)
            cookie = request.cookies.get(COOKIE, "")
            try:
                row = await self._visits.of_cookie(cookie)
                if self._is_flood(request, row):
                    return Response("too much\n", 429, HEADERS)
                response = await handler(request, row)
            except DatabaseFailure as error:
                response = self._unsaved(self._visits.known(cookie), error)
            response.headers.update(HEADERS)
            return response

        return limited

    def _known(self, handler: Callable[[Request, Row], Awaitable[Response]]) -> Handler:
        """Return a handler for those who take part; the others are told that they do not, here."""

        async def known(request: Request, row: Row | None) -> Response:
            if row:
                return await handler(request, row)
            title = "elsewhere" if request.cookies.get(COOKIE) else "link"
            return self._say(self._language(request.query_params), title, status=403)

        return known

    def _is_flood(self, request: Request, row: Row | None) -> bool:
        """Whether one browser or address asks too often; neither is stored anywhere."""
        now = monotonic()
        most, name = MOST[row is not None], row["participant"] if row else _address(request)
        asked = self._asked.setdefault(name, deque(maxlen=most))
        is_flood = len(asked) == most and now - asked[0] < 60
        asked.append(now)
        if len(self._asked) > 10_000:
            self._asked = {key: each for key, each in self._asked.items() if now - each[-1] < 60}
        return is_flood

    # Before somebody takes part

    async def welcome(self, request: Request, row: Row | None) -> Response:
        """Say what this is. Nothing is stored, and nobody has begun."""
        if row:
            ids = self._ids(request.query_params)
            if ids and ids.get("person") and not self._is_same(row, ids["person"]):
                self._visits.register.note(row["participant"], "id_changed")
                return self._say(row["language"], "other_name", status=403)
            return RedirectResponse("go", 303)
        language = self._language(request.query_params)
        ids = self._ids(request.query_params)
        if ids is None:
            return self._say(language, "link", "link_text", status=403)
        words = words_of(language)
        others = [each for each in self._visits.study.file.languages if each != language]
        given = self._given(request.query_params)
        return HTMLResponse(
            self._screens.render(
                language,
                *self._screens.titled("welcome", language, "begin"),
                action="begin",
                hidden={**given, "lang": language, "device": ""},
                buttons=[("begin", words["begin"], True)],
                other_languages=[(each, "?" + urlencode({**given, "lang": each})) for each in others],
            )
        )

    async def begin(self, request: Request, row: Row | None) -> Response:
        """Look at the device and the link, and ask for consent. Nothing is stored."""
        form = await request.form()
        language, ids = self._language(form), self._ids(form)
        if ids is None:
            return self._say(language, "link", "link_text", status=403)
        words, file = words_of(language), self._visits.study.file
        device = _DEVICE.fullmatch(str(form.get("device", "")))
        if device and not self._fits(*map(int, device.groups())):
            self._visits.register.count("screened")
            text = words["screened_text"].format(width=file.device.min_width, height=file.device.min_height)
            return self._ending(language, "screened", words["screened"], text)
        hidden = {**self._given(form), "lang": language, "device": str(form.get("device", ""))}
        if known := self._visits.of_platform(ids.get("person", "")):
            buttons = [("resume", words["resume_button"], True)]
            title = words["again"] if known["ending"] else words["resume"]
            return HTMLResponse(
                self._screens.render(language, title, action="resume", hidden=hidden, buttons=buttons)
            )
        if not self._visits.has_room:
            self._visits.register.count("full")
            closed = (self._visits.register.study or {}).get("closed")
            title, text = (words["closed"], "") if closed else (words["full"], words["full_text"])
            return self._ending(language, "full", title, text)
        buttons = [("agree", words["agree"], True), ("decline", words["decline"], False)]
        texts = self._screens.titled("consent", language, "agree")
        usual: dict[str, Any] = {"action": "consent", "hidden": hidden, "buttons": buttons}
        return HTMLResponse(self._screens.render(language, *texts, box=words["agree_box"], **usual))

    async def consent(self, request: Request, row: Row | None) -> Response:
        """Store a person who has agreed by the box and the button; of others only that there was one."""
        form = await request.form()
        language, ids = self._language(form), self._ids(form)
        words = words_of(language)
        if row:
            return RedirectResponse("go", 303)
        if ids is None or not self._visits.has_room:
            return await self.begin(request, row)
        if form.get("button") != "agree":
            self._visits.register.count("declined")
            return self._ending(language, "declined", words["declined"], words["declined_text"])
        if form.get("agree") != "yes" or self._visits.of_platform(ids.get("person", "")):
            return await self.begin(request, row)
        device = _DEVICE.fullmatch(str(form.get("device", "")))
        width, height, touch = map(int, device.groups()) if device else (None, None, None)
        browser = " ".join(next(iter(_AGENTS.findall(request.headers.get("user-agent", ""))), ()))
        facts = {"width": _rounded(width), "height": _rounded(height), "touch": touch, "browser": browser}
        text = self._screens.text("consent", language)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self._with_cookie(self._visits.take_part(ids, language, digest, facts))

    async def resume(self, request: Request, row: Row | None) -> Response:
        """Go on in this browser; the one before is told that the study goes on elsewhere."""
        form = await request.form()
        ids = self._ids(form)
        known = self._visits.of_platform(ids.get("person", "")) if ids else None
        if known is None:
            return self._say(self._language(form), "link", "link_text", status=403)
        return self._with_cookie(self._visits.move(known))

    async def state(self, request: Request, row: Row | None) -> Response:
        """Say whether the trial has ended; the block is kept for the person meanwhile."""
        if row:
            self._visits.stays(row)
        return JSONResponse({"ended": row is None or self._visits.running(row) is None})

    # Of those who take part

    async def page(self, request: Request, row: Row) -> Response:
        """Show what comes next."""
        self._visits.register.note(row["participant"], "page", f"{row['stage']} {row['place']}")
        return HTMLResponse(self._stages.page(row))

    async def next(self, request: Request, row: Row) -> Response:
        """Take what was answered, and go on."""
        self._stages.take(row, await request.form())
        return RedirectResponse("go", 303)

    async def start(self, request: Request, row: Row) -> Response:
        """Begin the next trial, with an empty cart."""
        response = RedirectResponse("go", 303)
        if self._visits.begin(row, request.cookies[COOKIE]):
            for name in request.cookies:
                if name != COOKIE:
                    response.delete_cookie(name)
        return response

    async def none(self, request: Request, row: Row) -> Response:
        """End a trial because the person wants none of the products."""
        if trial := self._visits.running(row):
            trial.gave_up()
        return RedirectResponse("go", 303)

    async def leave(self, request: Request, row: Row) -> Response:
        """Leave the study: the debriefing comes at once, and the block is free again."""
        if not row["ending"]:
            self._visits.leave(row)
        return RedirectResponse("go", 303)

    async def choose(self, request: Request, row: Row) -> Response:
        """End a trial with the choice of a product by its picture."""
        trial, said = self._visits.running(row), str((await request.form()).get("button", ""))
        if isinstance(trial, PictureTrial) and said in map(str, range(1, len(trial.pictures) + 1)):
            trial.chose_picture(int(said))
        return RedirectResponse("go", 303)

    async def picture(self, request: Request, row: Row) -> Response:
        """Show a picture of the trial that the person has now."""
        trial = self._visits.running(row)
        png = trial.png(request.path_params["name"]) if isinstance(trial, PictureTrial) else None
        return Response(png, media_type="image/png") if png else Response(status_code=404)

    async def note(self, request: Request, row: Row) -> Response:
        """Note that the study is open twice, or that a picture was enlarged."""
        form, note = await request.form(), partial(self._visits.register.note, row["participant"])
        kind, product = form.get("kind"), str(form.get("product", ""))
        if kind == "second_tab":
            note("second_tab")
        elif kind == "enlarged" and product.isdecimal():
            note("enlarged", f"{row['place']} {product[:2]}")
        return Response(status_code=204)

    # The inside

    def _ids(self, given: Mapping[str, Any]) -> dict[str, str] | None:
        """The ids that a link brings; None: it is not one that the study has given."""
        source = self._visits.study.file.source
        if source.kind == "open":
            return {}
        if source.kind == "labels":
            label, signature = str(given.get("label", "")), str(given.get("sig", ""))
            is_known = bool(LABEL.fullmatch(label)) and self._visits.key.knows(label, signature)
            return {"person": label} if is_known else None
        names = source.parameters.model_dump()
        ids = {kind: str(given.get(name, "")) for kind, name in names.items()}
        return ids if all(LABEL.fullmatch(each) for each in ids.values()) else None

    def _given(self, given: Mapping[str, Any]) -> dict[str, str]:
        """What a link brings, and nothing else: the rest of an address agrees to nothing."""
        source = self._visits.study.file.source
        platform = source.parameters.model_dump().values() if source.kind == "prolific" else ()
        names = ("label", "sig") if source.kind == "labels" else platform
        return {name: str(given[name]) for name in names if name in given}

    def _is_same(self, row: Row, person: str) -> bool:
        return bool(row["external"] == self._visits.key.hash(person))

    def _fits(self, width: int, height: int, touch: int) -> bool:
        device = self._visits.study.file.device
        return width >= device.min_width and height >= device.min_height and (device.touch or not touch)

    def _language(self, given: Mapping[str, Any]) -> str:
        return self._screens.language(str(given.get("lang", "")))

    def _say(self, language: str, title: str, text: str = "", status: int = 200) -> Response:
        words = words_of(language)
        return HTMLResponse(self._screens.render(language, words[title], words[text] if text else ""), status)

    def _ending(self, language: str, ending: Ending, title: str, text: str = "") -> Response:
        code = self._visits.code_of(ending)
        back = self._visits.back(code)
        return HTMLResponse(self._screens.render(language, title, text, code=code, back=back))

    def _unsaved(self, row: Row | None, error: Exception) -> Response:
        """Say that nothing can be saved for a moment, or for good: then a person has a code all the same."""
        if row is None or not (self._visits.unstored or is_lost(error)):
            return self._say(row["language"] if row else self._language({}), "technical", "moment", 503)
        language, code = row["language"], row["code"] or self._visits.code_of("technical")
        words = words_of(language)
        text = f"{words['unsaved']}\n\n{self._screens.text('debriefing', language)}"
        values = {"code": code, "back": self._visits.back(code)}
        return HTMLResponse(self._screens.render(language, words["technical"], text, **values), 500)

    def _with_cookie(self, cookie: str) -> Response:
        response = RedirectResponse("go", 303)
        response.set_cookie(COOKIE, cookie, path="/", httponly=True, samesite="lax", secure=self._secure)
        return response


def _address(request: Request) -> str:
    """The address of who asks, as the front server says it."""
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return forwarded or (request.client.host if request.client else "")


def _rounded(pixels: int | None) -> int | None:
    """A window's size to 50 pixels: more would tell browsers apart."""
    return None if pixels is None else round(pixels / 50) * 50
