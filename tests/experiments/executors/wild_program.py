"""A subject that does, by its trial, what programs do: chooses, gives up, crashes, hangs, forks, floods.

It needs nothing but Python. What it did stands in a file of the folder that its first argument names.
"""

import json
import os
import re
import signal
import sys
import time
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

EXPECTED = {
    "choose": "choice", "end": "no_choice", "leave": "no_choice", "crash": "agent_error",
    "signal": "agent_error", "hang": "agent_limit", "fork": "choice", "flood": "choice",
    "orphan": "agent_error", "memory": "agent_error", "deaf": "agent_limit", "told": "choice",
}  # fmt: skip
"""What a program does, and the outcome that its trial has to have."""
WAYS = tuple(EXPECTED)


def way_of(trial: str) -> str:
    return WAYS[int(trial[:8], 16) % len(WAYS)]


class Visitor:
    """A client with cookies, behind the trial's proxy."""

    def __init__(self, proxy: str) -> None:
        self._open = urllib.request.build_opener(
            urllib.request.ProxyHandler({"http": proxy}), urllib.request.HTTPCookieProcessor(CookieJar())
        ).open

    def ask(self, url: str, data: dict[str, str] | None = None) -> str:
        body = None if data is None else urllib.parse.urlencode(data).encode()
        text: str = self._open(url, body).read().decode()
        return text

    def buy(self, url: str) -> None:
        page = self.ask(url)

        def found(pattern: str) -> str:
            match = re.search(pattern, page)
            assert match
            return match[1]

        fields = {
            "form_key": found(r'name="form_key" type="hidden" value="([^"]*)"'),
            "product": found(r'name="product" value="([^"]*)"'),
            "qty": "1",
        }
        self.ask(found(r'action="([^"]*checkout/cart/add[^"]*)"'), fields)


def stay() -> None:
    """A child in a session of its own, which loses its parent, and stays."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.environ.clear()
    time.sleep(600)
    os._exit(0)


def act(way: str, told: dict[str, Any]) -> None:
    visitor = Visitor(told["proxy"])
    if way in ("fork", "orphan"):
        for _ in range(3):
            stay()
    if way == "flood":
        for _ in range(40):
            sys.stdout.write("x" * 50_000 + "\n")
    if way == "told":
        usage = {"model": "m", "tokens_in": 12, "tokens_out": 3, "cost": 0.25}
        print(json.dumps({"usage": usage}), flush=True)
    if way in ("choose", "fork", "flood", "told"):
        visitor.buy(told["urls"][0])
    elif way == "end":
        visitor.ask(f"{told['task']}end", {})
    elif way == "crash":
        raise ValueError("the model said something odd")
    elif way == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif way == "hang":
        time.sleep(600)
    elif way == "deaf":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(600)
    elif way == "memory":
        held = bytearray(2**29)
        held[:: 2**12] = b"x" * len(held[:: 2**12])
        time.sleep(600)
    elif way == "orphan":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)


def main() -> None:
    told = json.loads(sys.stdin.read())
    way = sys.argv[2] if len(sys.argv) > 2 else way_of(told["trial"])
    with (Path(sys.argv[1]) / "told.jsonl").open("a") as file:
        file.write(json.dumps({"trial": told["trial"], "way": way, "session": os.getsid(0)}) + "\n")
    print(json.dumps(dict(os.environ)), flush=True)
    act(way, told)


if __name__ == "__main__":
    main()
