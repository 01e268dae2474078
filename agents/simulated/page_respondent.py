"""A simulated respondent on card pages: it reads the question, then fills in or clicks the answer."""

from collections.abc import Container
from typing import Final

from agents.base import AgentError, Decision
from agents.simulated.readers.card_page import CardPage, ShownOption, read_card_page
from agents.simulated.respondent import SimulatedRespondent
from environments.protocol.actions import Action
from environments.protocol.observation import Observation

_SCROLL: Final = Action("scroll", (0.0, 360.0))
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class PageRespondent:
    """Answers cards one after the other, as `respondent` would answer their text."""

    def __init__(self, respondent: SimulatedRespondent) -> None:
        self._respondent = respondent
        self._options: dict[str, ShownOption] = {}  # of the present card, by name, in order of presentation
        self._count = 0  # how many there are; 0: not said
        self._last_html = ""
        self._question = ""
        self._answer = ""

    def decide(self, observation: Observation) -> Decision | None:
        """Return the next action; None where no card is in sight.

        Raises:
            AgentError: the question is not one that simulated agents know.
        """
        page = read_card_page(observation.html)
        if page is None:
            return None
        at_end, self._last_html = observation.html == self._last_html, observation.html
        if page.letters:
            answer = self._letter(page.text, page.letters)
            return Decision(f"My answer is {answer}.", "", Action("click", (page.letters[answer],)))
        if page.field:
            return self._fill_in(page)
        self._note(page)
        if self._is_complete() or (at_end and self._offered()):
            return self._choose()
        if at_end:
            return None
        return Decision("I have not seen all of the options yet and scroll on.", self._memory(), _SCROLL)

    def _letter(self, text: str, letters: Container[str]) -> str:
        answer = self._respondent.reply([text])
        if answer not in letters:  # there is no button for a refusal
            answer = self._respondent.reply([text])
        if answer not in letters:
            raise AgentError(f"the page has no button for the answer {answer}")
        return answer

    def _fill_in(self, page: CardPage) -> Decision:
        if page.text != self._question or page.problem:
            self._question, self._answer = page.text, self._respondent.reply([page.text])
        if page.value != self._answer:
            return Decision(f"My answer is {self._answer}.", "", Action("fill", (page.field, self._answer)))
        return Decision("The answer stands in the field; I submit it.", "", Action("click", (page.submit,)))

    def _note(self, page: CardPage) -> None:
        known = self._options
        if any(self._is_of_another_card(name, option) for name, option in page.options.items()):
            known.clear()
            self._count = 0
        self._count = page.count or self._count
        for name, option in page.options.items():
            noted = known.setdefault(name, ShownOption())
            noted.facts |= option.facts
            noted.button = option.button or noted.button

    def _is_of_another_card(self, name: str, option: ShownOption) -> bool:
        if name not in self._options:
            return self._is_complete()
        known = self._options[name].facts
        return any(known.get(label, value) != value for label, value in option.facts.items())

    def _is_complete(self) -> bool:
        """Whether all options have been read in full; false as long as it is not known how many there are."""
        most = max((len(option.facts) for option in self._options.values()), default=0)
        return 0 < self._count <= len(self._options) and all(
            option.button and len(option.facts) == most for option in self._options.values()
        )

    def _choose(self) -> Decision:
        offered = dict(zip(_LETTERS, self._offered().items(), strict=False))
        text = "\n".join(
            "\n".join([f"Option {letter}:", f"  Name: {name}", *_lines(option)])
            for letter, (name, option) in offered.items()
        )
        name, option = offered[self._letter(text, offered)]
        return Decision(f"I prefer {name}.", self._memory(), Action("click", (option.button,)))

    def _offered(self) -> dict[str, ShownOption]:
        return {name: option for name, option in self._options.items() if option.button}

    def _memory(self) -> str:
        return " ".join(
            f"{name}: {', '.join(option.facts.values())}." for name, option in self._options.items()
        )


def _lines(option: ShownOption) -> list[str]:
    return [f"  {label}: {value}" for label, value in option.facts.items()]
