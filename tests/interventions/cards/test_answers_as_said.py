"""Answers whose meaning is known by construction: no invalid one is a choice, nearly all others are read.

The generator has its own words and forms. It knows nothing of the reader's.
"""

import json
import random
from collections.abc import Callable, Iterator

import pytest

from interventions.cards.card import Alternative, Card, LetterAnswer, NumberAnswer
from interventions.cards.reply import Ending, InvalidAnswer
from tests.support import size

Said = tuple[str, str | float | None, str]
"""A text, what it answers (None: nothing), and why not."""

WORDS = "Alder Birch Cedar Dune Elm Fern Grand Harbour Iris Juniper Kings"
PLACES = [*WORDS.split(), "Old Town"]
KINDS = ["Inn", "Hotel", "Lodge", "House", "Suites", "Palace"]
REFUSALS = [
    "As an AI language model, I don't have personal preferences.",
    "I'm sorry, but I can't make that decision for you.",
    "Cannot decide without more information.",
    "A choice like this is yours; I am unable to choose.",
    "Als KI habe ich keine eigenen Vorlieben und kann nicht wählen.",
    "Ich kann diese Entscheidung leider nicht treffen.",
    "En tant qu'IA, je ne peux pas choisir à votre place.",
    "Désolé, je n'ai pas de préférence personnelle.",
    "Lo siento, no puedo elegir por usted.",
    "Como modelo de lenguaje no tengo preferencias.",
    "Mi dispiace, non posso scegliere al posto tuo.",
    "Desculpe, não posso escolher por você.",
    "Извините, я не могу сделать выбор за вас.",
    "抱歉,我无法替您做出选择。",
    "作为人工智能,我没有个人偏好。",
    "申し訳ありませんが、私には選べません。",
    "죄송하지만 제가 대신 선택할 수 없습니다.",
    "عذرًا، لا أستطيع الاختيار نيابة عنك.",
    "क्षमा करें, मैं आपके लिए चुनाव नहीं कर सकता।",
    "Przykro mi, nie mogę wybrać za Ciebie.",
]
PROSE = [
    "A budget traveller should take the cheaper one.",
    "A hotel near the sea is what most people want",
    "It depends on what a guest values most.",
    "I would need a closer look at both.",
    "What a lovely pair of hotels! A fine evening awaits.",
    "a quiet room is better than a noisy one",
    "I think a lower price matters, and I like breakfast.",
    "To be fair, a guest with a car may see this in a different way.",
    "Each of them has a good score.",
]


def names(draw: random.Random, count: int) -> list[str]:
    """Names of options; now and then one is part of another."""
    made = [f"{place} {draw.choice(KINDS)}" for place in draw.sample(PLACES, count)]
    if draw.random() < 0.3:
        made[1] = f"{made[0]} {draw.choice(['North', 'by the Park', 'II'])}"
    return made


def card_of(called: list[str]) -> Card:
    letters = "ABCDE"[: len(called)]
    return Card(
        id="hotel",
        question="Which option do you choose?",
        alternatives=tuple(
            Alternative(key=letter, facts=(("Hotel", name),))
            for letter, name in zip(letters, called, strict=True)
        ),
        answer=LetterAnswer(labels=dict.fromkeys(letters, "")),
    )


def talk(draw: random.Random, letters: str, called: list[str]) -> str:
    """Reasoning about all of the options that settles nothing."""
    of = [
        f"Option {letter} ({name}) {draw.choice(['is cheaper', 'has a better score', 'lies nearer'])}."
        for letter, name in zip(letters, called, strict=True)
    ]
    draw.shuffle(of)
    return draw.choice([" ", "\n", "\n- "]).join(["Let me compare them.", *of])


def declared(draw: random.Random, letter: str, name: str, letters: str, called: list[str]) -> str:
    """An answer that means this option."""
    low, other = letter.lower(), draw.choice([each for each in letters if each != letter])
    about = talk(draw, letters, called)
    thought = f"The guest wants {other}? Perhaps {other} is best. No, wait."
    tag = draw.choice(["think", "thinking", "reasoning", "THINK", "thought"])
    wide = chr(ord(letter) + 0xFEE0)
    short = [
        letter,
        low,
        f"({low})",
        f"{low}.",
        f"{letter})",
        f"[{letter}]",
        f'"{letter}"',
        f"**{letter}**",
        f"`{letter}`",
        f"“{letter}”",
        f"「{letter}」",
        f"選択：{letter}",
        f"Option {letter}",
        f"option {low}",
        f"**Option {letter}**",
        f"OPTION {letter}.",
        wide,
        f" {letter}\n",
        f"Answer: {letter}",
        f"answer: {low}",
        f"**Answer:** {letter}",
        f"Answer: **{letter}**",
        f"Answer: ({letter})",
        f"My answer is {letter}.",
        f"The answer is option {letter}.",
        f"My choice: {letter}",
        f"Final answer: {letter}",
        f"I choose {letter}.",
        f"I would choose option {letter}.",
        f"I'd go with Option {letter}.",
        f"I pick {letter}",
        f"\\boxed{{{letter}}}",
        f"$\\boxed{{\\text{{{letter}}}}}$",
        f"\\[\\boxed{{{low}}}\\]",
        f"$\\mathbf{{{letter}}}$",
        json.dumps({"answer": letter}),
        json.dumps({"choice": f"Option {letter}"}),
        f"<answer>{letter}</answer>",
        "```json\n" + json.dumps({"reason": f"{other} is dear", "answer": letter}, indent=1) + "\n```",
        f"{letter}: {name}",
        f"{letter}) {name}",
        f"Option {letter}: {name}",
        f"Option {letter} - {name}",
        f"I would book option {letter} because it is cheaper than option {other}.",
        f"I choose {letter} over {other}.",
        f"{letter}\n\n{about}",
        f"{letter}. It has the better price.",
    ]
    said = draw.choice(short)
    way = draw.randrange(6)
    if way == 0:
        return f"<{tag}>{thought}</{tag}>{draw.choice(['', ' ', chr(10)])}{said}"
    if way == 1:
        last = [
            f"Final answer: {letter}",
            f"Answer: {letter}",
            f"**Final answer: Option {letter}**",
            f"\\boxed{{{letter}}}",
        ]
        last += [f"So I choose option {letter}.", f"The final answer is {letter}."]
        behind = [f"{about} ... Final answer: {letter}", f"{about} Final Answer: \\boxed{{{letter}}}"]
        return draw.choice([f"{about}\n\n{draw.choice(last)}", draw.choice(behind)])
    if way == 2:
        return draw.choice(
            [
                f"At first I would choose {other}. But the reviews matter more.\n\nFinal answer: {letter}",
                f"Final answer: {other}\nWait, actually: {letter}",
                f"Answer: {other}. No, {letter}.",
            ]
        )
    if way == 3 and not any(name in each and name != each for each in called):
        return draw.choice(
            [
                name,
                f"{name}.",
                f"**{name}**",
                f"I choose {name}.",
                f"Answer: {name}",
                f"I would book the {name}.",
            ]
        )
    return said


def undeclared(draw: random.Random, letters: str, called: list[str]) -> Said:
    """An answer that means no option, and the reason where only one is right."""
    one, two = draw.sample(letters, 2)
    first, second = draw.sample(called, 2)
    part = [name for name in called if any(name in each and name != each for each in called)]
    kinds: list[Said] = [
        (draw.choice(REFUSALS), None, "refused"),
        (f"{draw.choice(REFUSALS)} {draw.choice(REFUSALS)}", None, "refused"),
        (draw.choice(PROSE), None, ""),
        (f"{draw.choice(PROSE)} {draw.choice(PROSE)}", None, ""),
        (talk(draw, letters, called), None, ""),
        (
            draw.choice(
                [f"{one} or {two}", f"{one}, {two}", f"{one}/{two}", f"Either {one} or {two} would do."]
            ),
            None,
            "",
        ),
        (f"{first} or {second}", None, ""),
        (f"{first} is nearer than {second}.", None, ""),
        (f"{first} looks too dear to me.", None, ""),
        (f"Answer: {one}\nAnswer: {two}", None, "several"),
        (f"{talk(draw, letters, called)} Final answer: {one} or {two}", None, "several"),
        (f"It is near. Final answer: {one}. It is cheap ... Final answer: {two}", None, "several"),
        (f"It is near. Final answer: it depends, {one} is dear", None, ""),
        (f"If you want a view, choose {one}. Otherwise {two}.", None, ""),
        (f"I would choose {one} if I were alone, but {two} with a family.", None, ""),
        (f"Is {one} what you want?", None, ""),
        (f"I would not choose {one}.", None, ""),
        (f"<think>{one} is the better one. Answer: {one}", None, "cut_off"),
        (f"<think>The guest may like {one}.</think>", None, "empty"),
        (json.dumps({"name": "choose", "arguments": {"answer": one}}), None, "tool_call"),
        (f'<tool_call>{{"name": "pick", "arguments": {{"option": "{one}"}}}}</tool_call>', None, "tool_call"),
        (json.dumps({"answer": None}), None, ""),
        ("Answer: none of them", None, "refused"),
        (f"{one}: {called[letters.index(two)]}", None, ""),
        (draw.choice(["", " \n", "?", "42", "Z", "ZZ", "Б"]), None, ""),
        *[(name, None, "") for name in part],
    ]
    return draw.choice(kinds)


def choices(count: int, seed: int) -> Iterator[tuple[Card, Said]]:
    for number in range(count):
        draw = random.Random(f"{seed}-{number}")
        called = names(draw, draw.choice([2, 3, 5]))
        card = card_of(called)
        letters = "ABCDE"[: len(called)]
        if draw.random() < 0.5:
            letter = draw.choice(letters)
            yield card, (declared(draw, letter, called[letters.index(letter)], letters, called), letter, "")
        else:
            yield card, undeclared(draw, letters, called)


def numbers(count: int, seed: int) -> Iterator[tuple[NumberAnswer, Said]]:
    form = NumberAnswer(unit="$")
    for number in range(count):
        draw = random.Random(f"{seed}-n-{number}")
        value, other = (
            draw.choice([draw.randrange(1, 400), round(draw.uniform(1, 400), 2)]),
            draw.randrange(401, 900),
        )
        meant = [
            f"{value}",
            f"${value}",
            f"{value} dollars",
            f"{value} USD",
            f"**${value}**",
            f"Answer: ${value}",
            f"I would pay ${value}.",
            f"I'd pay at most ${value} for this.",
            f"My maximum is ${value}.",
            f"\\boxed{{{value}}}",
            json.dumps({"answer": value}),
            f"<think>Is it {other}?</think>{value}",
            f"Similar ones cost ${other}.\n\nFinal answer: ${value}",
            f"My willingness to pay is ${value}.",
        ]
        not_meant = [
            f"between {value} and {other}",
            f"${value}-${other}",
            f"{value} to {other}",
            f"{value} or {other}",
            f"I would pay ${value}, or perhaps ${other}.",
            f"It costs ${value} in most shops.",
            f"-{value}",
            f"€{value}",
            f"<think>Answer: {value}",
            "I'm sorry, I can't put a price on that.",
            f"at least {value}",
            f"{value} million",
            f"It has {value} reviews, so it must be good.",
            f"Answer: {value}\nAnswer: {other}",
            f"{value}%",
        ]
        yield (
            form,
            (draw.choice(meant), value, "") if draw.random() < 0.5 else (draw.choice(not_meant), None, ""),
        )


def outcome(read: Callable[[], tuple[object, str]]) -> tuple[object, str]:
    try:
        value, _ = read()
    except InvalidAnswer as invalid:
        return None, invalid.reason
    return value, ""


def test_no_invalid_answer_becomes_a_choice_and_declared_ones_are_read() -> None:
    """Of 4,000 answers; a tenth of them usually."""
    told, missed = 0, []
    cases: list[tuple[Callable[[], tuple[object, str]], Said]] = [
        *(
            (lambda card=card, said=said: card.read(said[0]), said)
            for card, said in choices(size(300, 3_000), 7)
        ),
        *(
            (lambda form=form, said=said: form.read(said[0]), said)
            for form, said in numbers(size(100, 1_000), 7)
        ),
    ]
    for read, (text, meant, why) in cases:
        value, reason = outcome(read)
        told += meant is not None
        assert value in (None, meant), (text, meant, value)
        if meant is None:
            assert not why or reason == why, (text, why, reason)
        elif value is None:
            missed.append((text, meant, reason))
    assert len(missed) <= 0.01 * told, missed


@pytest.mark.parametrize("how", ["cut_off", "refused"])
def test_what_its_provider_says_outweighs_the_text(how: str) -> None:
    card = card_of(["Alder Inn", "Birch Inn"])
    for text in ("A", "Answer: B", "Alder Inn"):
        assert outcome(lambda text=text: card.read(text, Ending(how))) == (None, how)
    assert outcome(lambda: card.read("", Ending("tool_call", "[]"))) == (None, "tool_call")


def test_the_rule_is_told() -> None:
    card = card_of(["Alder Inn", "Birch Inn"])
    texts = ["B", "Answer: B", "\\boxed{B}", '{"answer": "B"}', "Birch Inn"]
    assert [card.read(text).rule for text in texts] == ["letter", "declared", "boxed", "json", "name"]
