"""The study's own pages as an ASGI application, under the path of the proxy's own pages.

A GET never starts anybody: links are opened by messengers and scanners too.
"""

import hashlib
import re
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from experiments.people.identity import LABEL
from experiments.people.pictures import PictureTrial
from experiments.people.register import Row
from experiments.people.screens import POLICY, Screens, words_of
from experiments.people.study_file import Ending
from experiments.people.visits import StudyVisits
from proxy.guests import COOKIE, PREFIX, NotNow

HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}
_POST: Final = ("POST",)
LARGEST: Final = 64_000
"""The most bytes of a form."""
MOST: Final = {True: 300, False: 1_200}
"""The most requests of one browser that takes part, and of one address before that, in a minute."""
_DEVICE: Final = re.compile(r"(\d{1,5}),(\d{1,5}),([01])")
_AGENTS: Final = re.compile(r"(Firefox|Edg|Chrome|Safari)/(\d+)")
Handler = Callable[[Request], Awaitable[Response]]


class StudySite:
    """The pages of a study; each leads to the next one."""

    def __init__(
        self, visits: StudyVisits, changes: Callable[[str, str], list[str]], *, secure: bool
    ) -> None:
        """Take the visits; `changes` says what was changed in a person's trials.

        `secure`: people come over TLS, and their cookies never leave it.
        """
        self._visits, self._changes, self._secure = visits, changes, secure
        self._screens = Screens(visits.study)
        self._asked: dict[str, deque[float]] = {}

    def app(self) -> Starlette:
        """Return the application."""
        gets: dict[str, Handler] = {"": self.welcome, "go": self.page, "state": self.state}
        gets["picture/{name}"] = self.picture
        posts: dict[str, Handler] = {
            "begin": self.begin,
            "consent": self.consent,
            "resume": self.resume,
            "next": self.next,
            "start": self.start,
            "end": self.none,
            "choose": self.choose,
            "leave": self.leave,
            "note": self.note,
        }
        return Starlette(
            routes=[
                *(Route(PREFIX + path, self._limited(handler)) for path, handler in gets.items()),
                *(Route(PREFIX + path, self._limited(each), methods=_POST) for path, each in posts.items()),
            ]
        )

    def _limited(self, handler: Handler) -> Handler:
        async def limited(request: Request) -> Response:
            if int(request.headers.get("content-length") or 0) > LARGEST or self._is_flood(request):
                return Response("too much\n", 429, HEADERS)
            response = await handler(request)
            response.headers.update(HEADERS)
            return response

        return limited

    def _is_flood(self, request: Request) -> bool:
        """Whether one browser or address asks too often; neither is stored anywhere."""
        now, row = monotonic(), self._person(request)
        most, name = MOST[row is not None], row["participant"] if row else _address(request)
        asked = self._asked.setdefault(name, deque(maxlen=most))
        is_flood = len(asked) == most and now - asked[0] < 60
        asked.append(now)
        if len(self._asked) > 10_000:
            self._asked = {key: each for key, each in self._asked.items() if now - each[-1] < 60}
        return is_flood

    # Before somebody takes part

    async def welcome(self, request: Request) -> Response:
        """Say what this is. Nothing is stored, and nobody has begun."""
        if row := self._person(request):
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
                self._title("welcome", language) or words["begin"],
                self._body("welcome", language),
                action="begin",
                hidden={**given, "lang": language, "device": ""},
                buttons=[("begin", words["begin"], True)],
                other_languages=[(each, "?" + urlencode({**given, "lang": each})) for each in others],
            )
        )

    async def begin(self, request: Request) -> Response:
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
        title = self._title("consent", language)
        return HTMLResponse(
            self._screens.render(
                language, title or words["agree"], self._body("consent", language),
                action="consent", hidden=hidden, box=words["agree_box"], buttons=buttons,
            )
        )  # fmt: skip

    async def consent(self, request: Request) -> Response:
        """Store a person who has agreed by the box and the button; of others only that there was one."""
        form = await request.form()
        language, ids = self._language(form), self._ids(form)
        words = words_of(language)
        if self._person(request):
            return RedirectResponse("go", 303)
        if ids is None or not self._visits.has_room:
            return await self.begin(request)
        if form.get("button") != "agree":
            self._visits.register.count("declined")
            return self._ending(language, "declined", words["declined"])
        if form.get("agree") != "yes" or self._visits.of_platform(ids.get("person", "")):
            return await self.begin(request)
        device = _DEVICE.fullmatch(str(form.get("device", "")))
        width, height, touch = map(int, device.groups()) if device else (None, None, None)
        browser = " ".join(next(iter(_AGENTS.findall(request.headers.get("user-agent", ""))), ()))
        facts = {"width": _rounded(width), "height": _rounded(height), "touch": touch, "browser": browser}
        text = self._screens.text("consent", language)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return self._with_cookie(self._visits.take_part(ids, language, digest, facts))

    async def resume(self, request: Request) -> Response:
        """Go on in this browser; the one before is told that the study goes on elsewhere."""
        form = await request.form()
        ids = self._ids(form)
        known = self._visits.of_platform(ids.get("person", "")) if ids else None
        if known is None:
            return self._say(self._language(form), "link", "link_text", status=403)
        return self._with_cookie(self._visits.move(known))

    # The stages of a person

    async def page(self, request: Request) -> Response:
        """Show what comes next for a person."""
        row = self._person(request)
        if row is None:
            cookie = request.cookies.get(COOKIE)
            return self._say(
                self._language(request.query_params), "elsewhere" if cookie else "link", status=403
            )
        trial = await self._visits.trial_of(row)
        row = self._visits.register.by("participant", row["participant"]) or row
        language, stage = row["language"], row["stage"]
        words, file, render = words_of(language), self._visits.study.file, self._screens.render
        note = self._visits.register.note
        note(row["participant"], "page", f"{stage} {row['place']}")
        if row["ending"] and stage != "debriefing":
            return self._done(row)
        usual: dict[str, Any] = {"action": "next", "may_leave": True, "hidden": {"stage": stage}}
        onward = [("next", words["next"], True)]
        if stage in ("trial", "practice") and trial:
            progress = words["progress"].format(n=row["place"] + 1, all=file.block.trials)
            progress = words["practice"] if stage == "practice" else progress
            urls = [f"/{url.partition('://')[2].partition('/')[2]}" for url in trial.urls]
            goal = self._screens.text("task", language) or trial.goal
            proposed = None if row["block"] is None else self._visits.proposal(trial.definition, row["block"])
            keys = [product.key for product in trial.definition.products]
            pictures = trial.pictures if isinstance(trial, PictureTrial) else []
            several = len(urls) > 1 or bool(pictures)
            if proposed in keys and several:
                goal += "\n" + words["proposal"].format(n=keys.index(proposed) + 1)
            elif proposed in keys:
                goal += "\n" + words["proposal_named"].format(
                    name=trial.definition.products[keys.index(proposed)].name
                )
            return HTMLResponse(
                self._screens.trial(language, goal, urls, pictures, several=several, progress=progress)
            )
        if stage in ("trial", "practice"):
            title = words["ready"].format(n=row["place"] + 1, all=file.block.trials)
            title = words["practice"] if stage == "practice" else title
            live = file.show == "live"
            button = words["start" if live else "start_pictures"]
            usual |= {"action": "start", "buttons": [("start", button, True)]}
            return HTMLResponse(render(language, title, words["ready_text"] if live else "", **usual))
        if stage == "debriefing":
            choices = [("use", words["use"], False), ("delete", words["delete"], False)]
            usual |= {
                "buttons": choices,
                "changes": self._changes(row["participant"], language),
                "may_leave": False,
            }
            title = self._title("debriefing", language) or words["debriefing"]
            return HTMLResponse(render(language, title, self._body("debriefing", language), **usual))
        if stage == "check" and file.check:
            failed = row["checks_failed"]
            items = [
                self._screens.item(f"q{number}", each, language, wrong=failed > 0)
                for number, each in enumerate(file.check.questions)
            ]
            text = self._screens.text("instructions", language) if failed else ""
            error = words["wrong"] if failed else ""
            return HTMLResponse(
                render(language, words["check"], text, items=items, buttons=onward, error=error, **usual)
            )
        if stage == "attention":
            items = [self._screens.item("q0", file.block.attention[row["place"]], language)]
            return HTMLResponse(render(language, words["attention"], items=items, buttons=onward, **usual))
        if stage == "reason":
            item = {"name": "q0", "text": words["why"], "options": (), "required": True, "why": ""}
            return HTMLResponse(render(language, words["why"], items=[item], buttons=onward, **usual))
        if stage == "questions":
            items = [self._screens.item(each.id, each, language) for each in file.questions]
            return HTMLResponse(render(language, words["questions"], items=items, buttons=onward, **usual))
        title = self._title("instructions", language) or words["begin"]
        return HTMLResponse(
            render(language, title, self._body("instructions", language), buttons=onward, **usual)
        )

    async def next(self, request: Request) -> Response:
        """Take what a person has answered, and go on; a page that was sent twice changes nothing."""
        row, form = self._person(request), await request.form()
        if row is None:
            return RedirectResponse("go", 303)
        if form.get("stage") != row["stage"] or row["stage"] == "done":
            return RedirectResponse("go", 303)
        file, register, who = self._visits.study.file, self._visits.register, row["participant"]
        stage = row["stage"]
        if stage == "check" and file.check:
            right = [
                self._answer(who, stage, f"q{n}", each.answer, form)
                for n, each in enumerate(file.check.questions)
            ]
            if not all(right):
                failed = row["checks_failed"] + 1
                register.change(who, checks_failed=failed)
                if failed == file.check.attempts:
                    self._visits.end(row, "failed_check")
                return RedirectResponse("go", 303)
        elif stage == "attention":
            right_one = file.block.attention[row["place"]].answer
            if not self._answer(who, stage, "q0", right_one, form, item=str(row["place"])):
                register.change(who, attention_failed=row["attention_failed"] + 1)
        elif stage == "reason":
            register.answer(who, stage, str(row["place"] - 1), str(form.get("q0", ""))[:4000])
        elif stage == "questions":
            for each in file.questions:
                said = str(form.get(each.id, ""))[:4000]
                if each.options and not (said.isdecimal() and 0 < int(said) <= len(each.options)):
                    said = ""
                register.answer(who, stage, each.id, said)
        elif stage == "debriefing":
            if form.get("button") not in ("use", "delete"):
                return RedirectResponse("go", 303)
            register.change(who, data=str(form.get("button")))
        elif stage in ("trial", "practice"):
            return RedirectResponse("go", 303)
        if stage == "debriefing":
            self._visits.go(row, "done")
        else:
            self._visits.go(row, self._visits.after(row, stage))
        return RedirectResponse("go", 303)

    async def start(self, request: Request) -> Response:
        """Begin the next trial, with an empty cart."""
        row = self._person(request)
        if row is None or row["stage"] not in ("trial", "practice") or row["ending"]:
            return RedirectResponse("go", 303)
        await self._visits.trial_of(row)
        row = self._person(request) or row
        if row["stage"] not in ("trial", "practice"):
            return RedirectResponse("go", 303)
        try:
            trial = self._visits.begin(row, request.cookies[COOKIE])
        except NotNow:
            return RedirectResponse("go", 303)
        if trial is None:
            self._visits.end(row, "full")
        response = RedirectResponse("go", 303)
        for name in request.cookies:
            if name != COOKIE:
                response.delete_cookie(name)
        return response

    async def state(self, request: Request) -> Response:
        """Say whether the trial has ended; the block is kept for the person meanwhile."""
        row = self._person(request)
        trial = await self._visits.trial_of(row) if row else None
        if row:
            self._visits.stays(row)
        return JSONResponse({"ended": trial is None})

    async def none(self, request: Request) -> Response:
        """End a trial because the person wants none of the products."""
        row = self._person(request)
        trial = await self._visits.trial_of(row) if row else None
        if trial:
            trial.gave_up()
        return RedirectResponse("go", 303)

    async def choose(self, request: Request) -> Response:
        """End a trial with the choice of a product by its picture."""
        row, said = self._person(request), str((await request.form()).get("button", ""))
        trial = await self._visits.trial_of(row) if row else None
        if isinstance(trial, PictureTrial) and said in map(str, range(1, len(trial.pictures) + 1)):
            trial.chose_picture(int(said))
        return RedirectResponse("go", 303)

    async def picture(self, request: Request) -> Response:
        """Show a picture of the trial that the person has now."""
        row = self._person(request)
        trial = await self._visits.trial_of(row) if row else None
        png = trial.png(request.path_params["name"]) if isinstance(trial, PictureTrial) else None
        return Response(png, media_type="image/png") if png else Response(status_code=404)

    async def leave(self, request: Request) -> Response:
        """Leave the study: the debriefing comes at once, and the block is free again."""
        if (row := self._person(request)) and not row["ending"]:
            self._visits.leave(row)
        return RedirectResponse("go", 303)

    async def note(self, request: Request) -> Response:
        """Note that the study is open twice, or that a picture was enlarged."""
        form = await request.form()
        row, kind, product = self._person(request), form.get("kind"), str(form.get("product", ""))
        if row and kind == "second_tab":
            self._visits.register.note(row["participant"], "second_tab")
        elif row and kind == "enlarged" and product.isdecimal():
            self._visits.register.note(row["participant"], "enlarged", f"{row['place']} {product[:2]}")
        return Response(status_code=204)

    # The inside

    def _person(self, request: Request) -> Row | None:
        return self._visits.of_cookie(request.cookies.get(COOKIE, ""))

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

    def _answer(
        self, who: str, kind: str, name: str, right: int, form: FormData, item: str | None = None
    ) -> bool:
        said = str(form.get(name, ""))[:10]
        is_right = said == str(right)
        self._visits.register.answer(who, kind, item or name, said, right=is_right)
        return is_right

    def _title(self, page: str, language: str) -> str:
        first, _, _ = self._screens.text(page, language).partition("\n")
        return first[2:].strip() if first.startswith("# ") else ""

    def _body(self, page: str, language: str) -> str:
        text = self._screens.text(page, language)
        return text.partition("\n")[2] if text.startswith("# ") else text

    def _say(self, language: str, title: str, text: str = "", status: int = 200) -> Response:
        words = words_of(language)
        return HTMLResponse(self._screens.render(language, words[title], words[text] if text else ""), status)

    def _ending(self, language: str, ending: Ending, title: str, text: str = "") -> Response:
        code = self._visits.code_of(ending)
        return HTMLResponse(
            self._screens.render(language, title, text, code=code, back=self._back(code) if code else "")
        )

    def _done(self, row: Row) -> Response:
        words, ending = words_of(row["language"]), row["ending"]
        title = words["done"] if ending == "complete" else words.get(ending, words["done"])
        text = words.get(f"{ending}_text", "") if ending not in ("full",) else ""
        back = self._back(row["code"]) if row["code"] else ""
        return HTMLResponse(self._screens.render(row["language"], title, text, code=row["code"], back=back))

    def _back(self, code: str) -> str:
        address = self._visits.study.file.source.back
        return address.replace("{code}", code) if address else ""

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
