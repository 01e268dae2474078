"""Show each stage of a person's visit, and take what is answered there: a small function for each."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.datastructures import FormData

from experiments.episodes.guest_trial import GuestTrial
from experiments.people.debriefing import Changes
from experiments.people.pictures import PictureTrial
from experiments.people.register import Row
from experiments.people.screens import Screens, words_of
from experiments.people.visits import StudyVisits

LONGEST: Final = 4_000
"""The most letters of a text that is answered."""


class StudyStages:
    """The pages of those who take part."""

    def __init__(self, visits: StudyVisits, screens: Screens, changes: Changes) -> None:
        """Take the visits; `changes` says what was changed in a person's trials."""
        self._visits, self._screens, self._changes = visits, screens, changes
        self._file, self._register = visits.study.file, visits.register
        self._pages: Final[Mapping[str, Callable[[Row], str]]] = {
            "instructions": self._instructions,
            "practice": self._trial,
            "check": self._check,
            "trial": self._trial,
            "reason": self._reason,
            "attention": self._attention,
            "questions": self._questions,
            "debriefing": self._debriefing,
            "done": self._done,
        }
        self._takes: Final[Mapping[str, Callable[[Row, FormData], bool]]] = {
            "instructions": lambda *_: True,
            "check": self._take_check,
            "reason": self._take_reason,
            "attention": self._take_attention,
            "questions": self._take_questions,
            "debriefing": self._take_debriefing,
        }

    def page(self, row: Row) -> str:
        """Return the page that a person has now."""
        return self._pages[row["stage"]](row)

    def take(self, row: Row, form: FormData) -> None:
        """Take what a person has answered, and go on; a page that was sent twice changes nothing."""
        stage = row["stage"]
        if form.get("stage") == stage and stage in self._takes and self._takes[stage](row, form):
            self._visits.go(row, self._visits.after(row, stage))

    # What is shown

    def _instructions(self, row: Row) -> str:
        return self._form(row, *self._screens.titled("instructions", row["language"], "begin"))

    def _trial(self, row: Row) -> str:
        trial, words = self._visits.running(row), words_of(row["language"])
        number = {"n": row["place"] + 1, "all": self._file.block.trials}
        is_practice = row["stage"] == "practice"
        if trial is None:
            title = words["practice"] if is_practice else words["ready"].format(**number)
            is_live = self._file.show == "live"
            start = [("start", words["start" if is_live else "start_pictures"], True)]
            text = words["ready_text"] if is_live else ""
            return self._form(row, title, text, action="start", buttons=start)
        progress = words["practice"] if is_practice else words["progress"].format(**number)
        urls = [f"/{url.partition('://')[2].partition('/')[2]}" for url in trial.urls]
        pictures = trial.pictures if isinstance(trial, PictureTrial) else []
        several = len(urls) > 1 or bool(pictures)
        goal = self._screens.text("task", row["language"]) or trial.goal
        goal += self._proposal(row, trial, several=several)
        language = row["language"]
        return self._screens.trial(language, goal, urls, pictures, several=several, progress=progress)

    def _proposal(self, row: Row, trial: GuestTrial, *, several: bool) -> str:
        """What an agent proposes, as a line of its own; empty where none does."""
        products, words = trial.definition.products, words_of(row["language"])
        proposed = None if row["block"] is None else self._visits.proposal(trial.definition, row["block"])
        for number, product in enumerate(products, 1):
            if product.key == proposed and several:
                return "\n" + words["proposal"].format(n=number)
            if product.key == proposed:
                return "\n" + words["proposal_named"].format(name=product.name)
        return ""

    def _check(self, row: Row) -> str:
        language, has_failed = row["language"], row["checks_failed"] > 0
        words, questions = words_of(language), self._file.check.questions if self._file.check else ()
        items = [
            self._screens.item(f"q{n}", each, language, wrong=has_failed) for n, each in enumerate(questions)
        ]
        text = self._screens.text("instructions", language) if has_failed else ""
        return self._form(row, words["check"], text, items=items, error=words["wrong"] if has_failed else "")

    def _reason(self, row: Row) -> str:
        why = words_of(row["language"])["why"]
        item = {"name": "q0", "text": why, "options": (), "required": True, "why": ""}
        return self._form(row, why, items=[item])

    def _attention(self, row: Row) -> str:
        item = self._screens.item("q0", self._file.block.attention[row["place"]], row["language"])
        return self._form(row, words_of(row["language"])["attention"], items=[item])

    def _questions(self, row: Row) -> str:
        items = [self._screens.item(each.id, each, row["language"]) for each in self._file.questions]
        return self._form(row, words_of(row["language"])["questions"], items=items)

    def _debriefing(self, row: Row) -> str:
        language, words = row["language"], words_of(row["language"])
        choices = [("use", words["use"], False), ("delete", words["delete"], False)]
        lost = self._visits.unstored.get(row["participant"])
        changes = self._changes(row["participant"], language, lost.receipts if lost else ())
        texts = self._screens.titled("debriefing", language, "debriefing")
        return self._form(row, *texts, buttons=choices, changes=changes, may_leave=False)

    def _done(self, row: Row) -> str:
        words, ending = words_of(row["language"]), row["ending"]
        title = words["done"] if ending == "complete" else words.get(ending, words["done"])
        is_late = ending == "full" and row["block"] is not None
        title = words["late"] if is_late else title
        text = words.get(f"{ending}_text", "") if ending not in ("full", "declined") else ""
        back = self._visits.back(row["code"])
        return self._screens.render(row["language"], title, text, code=row["code"], back=back)

    def _form(self, row: Row, title: str, text: str = "", **values: Any) -> str:
        """A page with a form that leads on."""
        onward = [("next", words_of(row["language"])["next"], True)]
        usual = {"action": "next", "may_leave": True, "hidden": {"stage": row["stage"]}, "buttons": onward}
        return self._screens.render(row["language"], title, text, **(usual | values))

    # What is answered; whether the person goes on

    def _take_check(self, row: Row, form: FormData) -> bool:
        check = self._file.check
        questions = check.questions if check else ()
        right = [self._is_right(row, f"q{n}", each.answer, form) for n, each in enumerate(questions)]
        if check is None or all(right):
            return True
        failed = row["checks_failed"] + 1
        self._register.change(row["participant"], checks_failed=failed)
        if failed == check.attempts:
            self._visits.end(row, "failed_check")
        return False

    def _take_reason(self, row: Row, form: FormData) -> bool:
        said = str(form.get("q0", ""))[:LONGEST]
        self._register.answer(row["participant"], "reason", str(row["place"] - 1), said)
        return True

    def _take_attention(self, row: Row, form: FormData) -> bool:
        right = self._file.block.attention[row["place"]].answer
        if not self._is_right(row, "q0", right, form, item=str(row["place"])):
            self._register.change(row["participant"], attention_failed=row["attention_failed"] + 1)
        return True

    def _take_questions(self, row: Row, form: FormData) -> bool:
        for each in self._file.questions:
            said = str(form.get(each.id, ""))[:LONGEST]
            if each.options and not (said.isdecimal() and 0 < int(said) <= len(each.options)):
                said = ""
            self._register.answer(row["participant"], "questions", each.id, said)
        return True

    def _take_debriefing(self, row: Row, form: FormData) -> bool:
        decided = str(form.get("button"))
        if decided not in ("use", "delete"):
            return False
        self._register.change(row["participant"], data=decided)
        return True

    def _is_right(self, row: Row, name: str, right: int, form: FormData, item: str | None = None) -> bool:
        said = str(form.get(name, ""))[:10]
        is_right = said == str(right)
        self._register.answer(row["participant"], row["stage"], item or name, said, right=is_right)
        return is_right
