"""A log of inspect_ai with as much in it as the made run of the viewer's benchmark.

`PYTHON -m tests.lab.bench.inspect_log N FILE`, with a Python that has inspect_ai: N samples, each with a
question, an answer, two scores and, as metadata, what a trial's row says, written by inspect_ai's functions.
"""

import sys

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.scorer import Score

MODEL = "simulated/balanced"
GOAL = "Buy a lamp."
PAGE = """<h1>A lamp</h1><h2>Best of all lamps</h2><button bid="7" type="submit">Add to Cart</button>"""


def sample(number: int) -> EvalSample:
    """Return the sample that says what trial `number` of the made run does."""
    nudged, second = bool(number % 2), number % 4 > 1
    choice = "lamp-1" if nudged else "lamp-2"
    answer = f"I like lamp {number}.\n\nclick('7')"
    return EvalSample(
        id=number,
        epoch=1,
        input=GOAL,
        target="lamp-1",
        messages=[
            ChatMessageUser(content=GOAL, source="input"),
            ChatMessageUser(content=PAGE),
            ChatMessageAssistant(content=answer, model=MODEL),
        ],
        output=ModelOutput.from_content(MODEL, answer),
        scores={
            "chosen": Score(value="C" if nudged else "I", answer=choice, explanation="what was bought"),
            "reversed": Score(value=second),
        },
        metadata={
            "set": f"lamps-{number // 4}",
            "condition": "nudged" if nudged else "control",
            "nudge": "best",
            "nudge_text": "Best of all lamps",
            "family": "authority",
            "ordering": "reversed" if second else "forward",
            "outcome": "choice",
            "choice": choice,
            "options": [
                {"option": f"lamp-{place + 1}", "name": f"Lamp {place + 1}", "price": 20.0 + place}
                for place in range(2)
            ],
            "receipt": {"edit": "insert_text", "role": "product.title", "after": "Best of all lamps"},
        },
        total_time=float(number % 7),
    )


def main() -> None:
    """Write the log."""
    number, file = int(sys.argv[1]), sys.argv[2]
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            created="2026-01-02T03:00:00+00:00",
            task="made",
            dataset=EvalDataset(name="made", samples=number),
            model=MODEL,
            config=EvalConfig(),
        ),
        results=EvalResults(
            total_samples=number,
            completed_samples=number,
            scores=[
                EvalScore(name=name, scorer=name, metrics={"mean": EvalMetric(name="mean", value=0.5)})
                for name in ("chosen", "reversed")
            ],
        ),
        samples=[sample(each) for each in range(number)],
    )
    write_eval_log(log, file)


if __name__ == "__main__":
    main()
