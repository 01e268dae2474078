"""Let an agent judge which titles are promotional or name a multi-pack, and keep its answers."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from agents.base import AgentError, ProviderError
from agents.providers.network import close_connections
from agents.registry import make_respondent
from experiments.console.terminal import plain, stderr_console
from experiments.records.whole_file import whole_file
from interventions.cards.card import LetterAnswer
from interventions.cards.reply import ENDED, Ending, InvalidAnswer
from interventions.data_file import read_source
from interventions.errors import UserError

BATCH: Final = 16
"""The number of titles that are asked about at the same time."""
LONGEST: Final = 400
"""The most characters of a title that are shown."""
QUESTION: Final = read_source(__file__, "title_judge.txt")

_ANSWER: Final = LetterAnswer(labels={"A": "yes", "B": "no"})


class _Answers(BaseModel):
    """What one agent said to one wording of the question; None: nothing usable."""

    question: str
    titles: dict[str, bool | None]


_File: Final = TypeAdapter(dict[str, _Answers])


@dataclass(frozen=True, slots=True)
class TitleJudgements:
    """The judgements of titles: the promotional ones, and how many titles got no usable answer."""

    agent: str
    asked: int
    promotional: frozenset[str]
    unusable: int
    file: Path

    def note(self) -> str:
        """Describe in words how the titles were judged."""
        return (
            f"titles: {self.agent} left out {len(self.promotional):,} of {self.asked:,}; {self.unusable:,} "
            f"unusable answers, these titles stay ({self.file})"
        )


def answers_file(catalogue: Path) -> Path:
    """Return the file that keeps the answers, beside the catalogue."""
    return catalogue.with_name(f"{catalogue.name}.titles.json")


def judged_promotional(agent: str, titles: Iterable[str], catalogue: Path) -> TitleJudgements:
    """Ask `agent` about every title that it has not judged before. Answers are stored batch by batch.

    Raises:
        UserError: the agent is unknown or a setting is missing, the provider failed, or the file of answers
            is none.
    """
    path = answers_file(catalogue)
    stored = _read(path)
    known = stored.get(agent)
    if known is None or known.question != QUESTION:
        known = stored[agent] = _Answers(question=QUESTION, titles={})
    wanted = list(dict.fromkeys(titles))
    missing = [title for title in wanted if title not in known.titles]
    if missing:
        # A thread of its own: whoever forms choice sets may be within an event loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _ask_all(agent, missing, known, stored, path)).result()
    answers = [known.titles[title] for title in wanted]
    promotional = frozenset(title for title in wanted if known.titles[title])
    return TitleJudgements(agent, len(wanted), promotional, answers.count(None), path)


async def _ask_all(
    agent: str, titles: Sequence[str], known: _Answers, stored: dict[str, _Answers], path: Path
) -> None:
    console = stderr_console()
    try:
        for first in range(0, len(titles), BATCH):
            if console.is_terminal:
                done = f"{agent} judges titles: {first:,} of {len(titles):,}"
                console.print(done, end="\r", highlight=False, markup=False)
            batch = titles[first : first + BATCH]
            known.titles.update(
                zip(batch, await asyncio.gather(*(_ask(agent, t) for t in batch)), strict=True)
            )
            _write(path, stored)
    finally:
        await close_connections()


async def _ask(agent: str, title: str) -> bool | None:
    message = QUESTION.format(title=json.dumps(plain(title[:LONGEST]), ensure_ascii=False))
    try:
        reply = await make_respondent(agent, seed=0).answer(
            [{"role": "user", "content": message}], temperature=0.0, max_tokens=100
        )
    except AgentError:
        return None
    except ProviderError as error:
        raise UserError(
            f"titles.model: {agent}: the provider failed ({error}); try again: what was answered is kept"
        ) from None
    return read_answer(reply.text, reply.ending)


def read_answer(text: str, ending: Ending = ENDED) -> bool | None:
    """Return whether the answer is A.

    Returns None when the answer is neither A nor B, or contradicts itself.
    """
    try:
        return _ANSWER.read(text, ending).value == "A"
    except InvalidAnswer:
        return None


def _read(path: Path) -> dict[str, _Answers]:
    try:
        return _File.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError):
        raise UserError(f"{path}: no file of answers about titles; remove it or mend it") from None


def _write(path: Path, stored: dict[str, _Answers]) -> None:
    with whole_file(path) as partial:
        partial.write_bytes(_File.dump_json(stored, indent=1))
