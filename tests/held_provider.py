"""A server of chat completions, in a process of its own, that holds its answers back."""

import asyncio
import json
import re
import subprocess
import sys
import urllib.request
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chat_completion import completion

ROOT = Path(__file__).parents[1]


@dataclass
class HeldProvider:
    """Answers `said` to everybody; empty: as a shopper who compares tabs (see `next_action`).

    Those that ask at the same time are answered once there are so many as the first of `rounds` says, the
    next once there are as many as the second says, and so on; after that each after `seconds`.
    """

    said: str
    rounds: list[int]
    seconds: float
    under_way: int = 0
    most: int = 0
    answered: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"content-length: *(\d+)", head, re.IGNORECASE)
                asked = await reader.readexactly(int(length[1]) if length else 0)
                found: object = {"most": self.most, "answered": self.answered}
                if head.startswith("POST"):
                    found = await self.answer(asked)
                body = json.dumps(found).encode()
                head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + head.encode() + body)
        writer.close()

    async def answer(self, asked: bytes) -> dict[str, Any]:
        """Return a chat completion, when it is time."""
        said = self.said or next_action(json.loads(asked)["messages"][-1]["content"])
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if not self.rounds:
            await asyncio.sleep(self.seconds)
        elif self.under_way < self.rounds[0]:
            await self.release.wait()
        else:
            self.rounds.pop(0)
            self.release.set()
            self.release = asyncio.Event()
        self.under_way -= 1
        self.answered += 1
        return completion(said, tokens_out=100)


def next_action(prompt: str) -> str:
    """Answer the prompt of a step: look at the other tab, in half of the trials go back, and buy."""
    step = prompt.count("## Step ") + 1
    goes_back = zlib.crc32(prompt.partition("# Current page")[0].encode()) % 2
    button = re.search(r'<button bid="(\d+)"[^>]*>(?:(?!</button>).)*Add to Cart', prompt, re.DOTALL)
    action = f"click('{button[1]}')" if button else "scroll(0, 500)"
    if step <= 1 + goes_back:
        action = f"tab_focus({step % 2})"
    return f"<think>I compare.</think><memory></memory><action>{action}</action>"


@contextmanager
def held_provider(said: str, *, rounds: Sequence[int] = (), seconds: float = 0.0) -> Iterator[str]:
    """Run one for the time of a `with` block; yields its base URL (see `HeldProvider`)."""
    options = json.dumps({"said": said, "rounds": list(rounds), "seconds": seconds})
    command = [sys.executable, "-m", "tests.held_provider", options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def seen(base_url: str) -> dict[str, int]:
    """Return how many it has `answered`, and the `most` that it had under way at once."""
    with urllib.request.urlopen(base_url) as response:
        found: dict[str, int] = json.load(response)
        return found


async def _run(options: dict[str, Any]) -> None:
    provider = HeldProvider(**options)
    server = await asyncio.start_server(provider.converse, "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_run(json.loads(sys.argv[1])))
