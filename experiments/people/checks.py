"""Check, after a try, what a study promises: blocks, codes, carts, and what is stored of people."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from experiments.people.administration import StudyBooks
from experiments.people.register import answers, blocks, participants
from experiments.people.serving import served
from experiments.people.study_file import PeopleStudy
from experiments.people.trying import AT_ONCE, CANARY, Told, send_people, stories
from experiments.records.reading.people import trials_of_people
from experiments.records.store import Records

Check = tuple[str, str]
"""What must hold, and why it does not; empty where it does."""


async def tried(
    study: PeopleStudy, folder: Path, people: int, seed: int, say: Callable[[str], None]
) -> list[Check]:
    """Serve a study from a database in a folder, send people through it, and check what must hold.

    Raises:
        UserError: a mistake in a file, too many people for the study, no browser, or the port is taken.
    """
    check_room(study, people)
    records = Records(f"sqlite:///{folder}/try.db")
    try:
        async with served(study, records, 0, without_codes=True) as there:
            place = there.design.site.roles["product.add_to_cart"][0]
            told = await send_people(there.visits, there.address, place.css, people, seed, say)
        found = StudyBooks(study, records)
        return [*_of_blocks(found), *_of_people(found, told), *_of_texts(found, folder, told)]
    finally:
        records.close()


def check_room(study: PeopleStudy, people: int) -> None:
    """Raise UserError where a study is full before so many people of a try have gone through it."""
    ends = Counter(end for _, _, end in stories(people, study))
    wanted, spare = study.file.participants, study.file.participants.spare
    enough = max(ends["complete"], math.ceil((ends["complete"] + ends[None]) / (1 + spare)))
    if wanted.target < enough:
        message = f"a try with {people} people needs room for {enough}; write that in a copy of the file"
        raise study.source.error(("participants", "target"), f"{message}, or fewer --people")


def _of_blocks(books: StudyBooks) -> Iterator[Check]:
    made = books.register.rows(blocks)
    stored = trials_of_people(books.records, books.run)
    per_block = Counter((row["block"], row["attempt"], row["place"]) for row in stored)
    twice = [key for key, count in per_block.items() if count > 1]
    yield "each trial of a block is had once", f"{twice[0]}" if twice else ""
    had = Counter((row["participant"], row["set"]) for row in stored)
    again = [f"{who}: {name}" for (who, name), count in had.items() if count > 1]
    yield "nobody has a choice set twice", again[0] if again else ""
    done = [row for row in made if row["done"]]
    whole = Counter(row["block"] for row in stored)
    lost = [row["block"] for row in done if whole[row["block"]] < len(row["trials"])]
    yield "each done block is whole", f"block {lost[0]}" if lost else ""
    outcomes = Counter(row["outcome"] for row in stored)
    bad = outcomes["treatment_failed"] + outcomes["infra_error"]
    yield "every page was treated", f"{bad} of {outcomes.total()} trials failed" if bad else ""


def _of_people(books: StudyBooks, told: Sequence[Told]) -> Iterator[Check]:
    broken = [each for each in told if each.error]
    yield "nobody met an error", f"{broken[0].story}: {broken[0].error}" if broken else ""
    people, row = books.register.rows(participants), books.register.study or {}
    ends = Counter(each["ending"] for each in people)
    ends |= Counter({name: row[name] for name in ("declined", "screened") if row[name]})
    wanted = Counter(each.expected for each in told if each.expected and not each.error)
    wrong = [f"{name}: {ends[name]} and not {count}" for name, count in wanted.items() if ends[name] != count]
    yield "every visit ends as it should", wrong[0] if wrong else ""
    own = Counter(each["code"] for each in people if each["code"])
    twice = [code for code, count in own.items() if count > 1]
    yield "no code is given twice", twice[0] if twice else ""
    agreed = sum(1 for each in told if each.expected not in ("declined", "screened"))
    other = f"{len(people)} people are, and {agreed} have" if len(people) != agreed and not broken else ""
    yield "only who has consented is stored", other
    waits = sorted(wait for each in told for wait in each.waits)
    late = statistics.quantiles(waits, n=20)[-1] if len(waits) > 1 else 0.0
    yield f"pages come at once (95 % within {late:.2f} s)", "" if late < 5 else "the machine is too slow"
    if len(told) >= 4 * AT_ONCE:
        yield _of_memory([each.memory / 2**20 for each in told])


def _of_memory(used: Sequence[float]) -> Check:
    """Whether a server needs as much memory (MiB, at the end of each visit) after few people as later on."""
    fifth = len(used) // 5
    early, late = statistics.median(used[fifth : 2 * fifth]), statistics.median(used[-fifth:])
    fault = "" if late < 1.1 * early else "it grows with each person"
    return f"memory stays as it was (from {early:.0f} to {late:.0f} MiB)", fault


def _of_texts(books: StudyBooks, folder: Path, told: Sequence[Told]) -> Iterator[Check]:
    """Nobody's id is anywhere; and once all are forgotten, nothing that they wrote, and no name of them."""
    data = _data(folder)
    ids = [each.person for each in told if each.person and each.person.encode() in data]
    yield "no id of a platform is stored", f"{len(ids)} are" if ids else ""
    wrote = any(CANARY in row["text"] for row in books.register.rows(answers))
    yield "what people write is stored", "" if wrote or not _writes(books) else "it is lost"
    names = [row["participant"] for row in books.register.rows(participants)]
    books.forget(*names)
    data = _data(folder)
    left = [text for text in (CANARY, *names) if text.encode() in data]
    yield "who is forgotten is gone, with all that was written", f"{left[0]} is left" if left else ""


def _writes(books: StudyBooks) -> bool:
    """Whether people are asked for a text."""
    file = books.study.file
    return file.reasons or any(not each.options for each in file.questions)


def _data(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
