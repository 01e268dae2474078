"""A subject that does, by its trial, what programs do: chooses, gives up, crashes, hangs, forks, floods.

`wild_program.py SEED [WAY]`. It is started thousands of times: with `python -I -S` it takes a few hundredths
of a second, asks the shop by plain requests, and imports nothing that takes long. That it was started it
notes in the file `started` of its folder.
"""

import json
import mmap
import os
import signal
import socket
import sys
import threading
import time
import zlib

WAYS = {
    "choose": 50, "compare": 10, "give up": 8, "leave": 8, "exit": 12, "crash": 14, "signal": 12, "hang": 2,
    "deaf": 1, "stop": 1, "linger": 1, "children": 12, "orphans": 8, "crash late": 6, "bomb": 1, "flood": 8,
    "flood without end": 3, "garbage": 10, "usage": 8, "environment": 4, "memory": 3, "shared memory": 1,
    "kill the keeper": 4, "closed": 4, "bad requests": 6, "files": 3, "connections": 4,
}  # fmt: skip
"""What a program does, and in how many of 204 trials."""
_DRAWN = [way for way, weight in WAYS.items() for _ in range(weight)]
SIGNALS = (signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGTERM, signal.SIGUSR1, signal.SIGBUS)
USAGE = {"model": "m\0\ud800", "tokens_in": 10, "tokens_out": 3, "cost": 0.25}
BAD_LINES = (
    '{"usage"', '{"usage": ' + "[" * 10_000, '{"usage": null}', '{"usage": {}}', '{"usage": ' + "9" * 9_000,
    '{"usage": {"model": 7, "tokens_in": 1, "tokens_out": 1}}',
    '{"usage": {"model": "m", "tokens_in": -1, "tokens_out": 1}}',
    '{"usage": {"model": "m", "tokens_in": true, "tokens_out": true}}',
    '{"usage": {"model": "m", "tokens_in": 1e999, "tokens_out": NaN}}',
    '{"usage": {"model": "m", "tokens_in": 99999999999999999999, "tokens_out": 1}}',
)  # fmt: skip
BAD_REQUESTS = (
    b"\0\1\2\3\r\n\r\n", b"GET", b"GET / HTTP/1.1\r\nHost: \r\n\r\n", b"\x16\x03\x01\x02\0\x01",
    b"A" * 70_000,
    b"POST http://shop.souk.test/ HTTP/1.1\r\nHost: shop.souk.test\r\nContent-Length: 99\r\n\r\nhalf",
    b"CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n", b"GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
)  # fmt: skip


def drawn(seed: str, trial: str) -> tuple[str, int]:
    """What the program of a trial does, and a number for the rest."""
    number = zlib.crc32(f"{seed} {trial}".encode())
    return _DRAWN[number % len(_DRAWN)], number // len(_DRAWN)


def between(text: str, start: str, end: str) -> str:
    """What stands after the start, up to the end; it has to be there."""
    return text[text.index(start) + len(start) :].partition(end)[0]


class Visitor:
    """A client with cookies, behind the trial's proxy."""

    def __init__(self, proxy: str) -> None:
        host, _, port = proxy.removeprefix("http://").partition(":")
        self.proxy = host, int(port)
        self._cookies: dict[str, str] = {}

    def ask(self, url: str, data: str | None = None) -> str:
        """Return the page at an address; redirections are not followed."""
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        lines = [
            f"{'GET' if data is None else 'POST'} {url} HTTP/1.1",
            f"Host: {url.split('/')[2]}",
            "Connection: close",
            *([f"Cookie: {cookies}"] if cookies else []),
            *([] if data is None else ["Content-Type: application/x-www-form-urlencoded"]),
            f"Content-Length: {len(data or '')}",
        ]
        with socket.create_connection(self.proxy) as connection:
            connection.sendall("\r\n".join([*lines, "", data or ""]).encode())
            parts = list(iter(lambda: connection.recv(2**16), b""))
        head, _, body = b"".join(parts).decode().partition("\r\n\r\n")
        for line in head.split("\r\n")[1:]:
            name, _, value = line.partition(": ")
            if name.lower() == "set-cookie":
                key, _, rest = value.partition("=")
                self._cookies[key] = rest.partition(";")[0]
        status = int(head.split()[1])
        if status >= 400:
            raise OSError(f"{url}: {status}")
        return body

    def buy(self, url: str) -> None:
        """Put the product of a page into the cart, with the first value of each option."""
        page = self.ask(url)
        form = between(page, 'id="product_addtocart_form"', "</form>")
        fields = {
            "product": between(form, 'name="product" value="', '"'),
            "form_key": between(form, 'name="form_key" type="hidden" value="', '"'),
            "qty": "1",
        }
        for part in form.split('name="options[')[1:]:
            fields.setdefault(f"options[{part.partition(']')[0]}]", between(part, 'value="', '"'))
        start = page.rindex("checkout/cart/add/", 0, page.index(form))
        action = page[page.rindex('"', 0, start) + 1 : page.index('"', start)]
        self.ask(action, "&".join(f"{name}={value}" for name, value in fields.items()))


def stay(*, apart: bool, headless: bool = False) -> None:
    """A child that stays.

    apart: in a session of its own, and without its parent. headless: its first thread ends.
    """
    child = os.fork()
    if child:
        if apart:
            os.waitpid(child, 0)
        return
    if apart:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.environ.clear()
    import ctypes

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if headless:  # the first thread ends, and another one goes on
        threading.Thread(target=time.sleep, args=(600,)).start()
        ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
    time.sleep(600)
    os._exit(0)


def hold(size: int) -> None:
    """Take memory, and stay."""
    held = bytearray(size)
    held[:: 2**12] = b"x" * len(held[:: 2**12])
    time.sleep(600)


def share(kind: int) -> None:
    """Take 450 MB that are no process's own; the last two kinds are counted of confined programs only."""
    import ctypes

    size, libc = 150 * 2**20, ctypes.CDLL(None)
    if kind == 0:
        for _ in range(3):
            if not os.fork():
                hold(size)
    elif kind == 1:
        shared = mmap.mmap(-1, 3 * size)
        shared[:: 2**12] = b"x" * len(shared[:: 2**12])
    elif kind == 2:  # a file without a name that is open, and in no process
        for _ in range(3):
            os.write(os.memfd_create("m"), bytes(size))
    elif kind == 3:
        for folder in (os.environ["TMPDIR"], "/dev/shm"):
            with open(f"{folder}/left", "wb") as file:  # noqa: PTH123
                file.write(bytes(size + size // 2))
    else:  # a segment that has a number, and is in no process
        libc.shmat.restype = ctypes.c_void_p
        for _ in range(3):
            place = libc.shmat(libc.shmget(0, size, 0o600), None, 0)
            ctypes.memset(place, 1, size)
            libc.shmdt(ctypes.c_void_p(place))
    time.sleep(600)


def before(way: str, number: int, visitor: Visitor, urls: list[str]) -> None:
    """What a program does that chooses a product afterwards."""
    if way == "compare":
        for url in urls:
            visitor.ask(url)
    elif way == "children":
        for each in range(1 + number % 5):
            stay(apart=(number >> each) % 2 == 0, headless=(number >> each) % 3 == 0)
    elif way == "flood":
        for _ in range(1 + number % 6):
            os.write(1, (b"x" * 50_000 + b"\n") * 20)
    elif way == "garbage":
        for line in BAD_LINES:
            os.write(1, line.encode() + b"\n")
        os.write(1, b"".join(zlib.crc32(b"%d %d" % (number, k)).to_bytes(4, "big") for k in range(512)))
    elif way == "usage":
        for _ in range(1 + number % 5):
            line = json.dumps({"usage": USAGE}).encode() + b"\n"
            for part in (line[:20], line[20:]):
                os.write(1, part)
    elif way == "environment":
        os.write(1, json.dumps(dict(os.environ)).encode() + b"\n")
    elif way == "closed":
        for each in range(3):
            os.close(each)
    elif way == "bad requests":
        for each in range(1 + number % 4):
            with socket.create_connection(visitor.proxy) as connection:
                connection.sendall(BAD_REQUESTS[(number + each) % len(BAD_REQUESTS)])
    elif way == "files":
        with open(f"{os.environ['TMPDIR']}/left", "wb") as file:  # noqa: PTH123 (pathlib takes long to import)
            file.write(b"x" * 2**20)
    elif way == "connections":
        HELD.extend(socket.create_connection(visitor.proxy) for _ in range(20 + number % 50))


HELD: list[socket.socket] = []


def act(way: str, number: int, visitor: Visitor, urls: list[str]) -> None:
    """Do it."""
    if way == "give up":
        visitor.ask(f"{os.environ['SOUK_TASK']}end", "")
    elif way == "leave":
        return
    elif way == "exit":
        os._exit(1 + number % 120)
    elif way == "crash":
        raise ValueError(f"the model said something odd ({number})")
    elif way == "signal":
        os.kill(os.getpid(), SIGNALS[number % len(SIGNALS)])
    elif way == "hang":
        time.sleep(600)
    elif way == "deaf":
        for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        while True:
            time.sleep(600)
    elif way == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif way == "orphans":
        for each in range(1 + number % 5):
            stay(apart=(number >> each) % 2 == 0, headless=(number >> each) % 3 == 0)
        os._exit(3)
    elif way == "bomb":
        for _ in range(600):
            stay(apart=False)
        time.sleep(600)
    elif way == "flood without end":
        while True:
            os.write(1, b"x" * 2**16)
    elif way == "memory":
        hold(350 * 2**20)
    elif way == "shared memory":
        share(number % (5 if os.getppid() == 1 else 3))
    elif way == "kill the keeper":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600)
    else:
        before(way, number, visitor, urls)
        visitor.buy(urls[number % len(urls)])
        if way == "crash late":
            raise ValueError("the model says more")
        if way == "linger":
            time.sleep(600)


def take(trial: str) -> tuple[str, int]:
    """Note that the program has this trial; return what is drawn for it."""
    seed, *ways = sys.argv[1:]
    notes = os.open("started", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(notes, f"{trial}\n".encode())
    os.close(notes)
    way, number = drawn(seed, trial)
    return " ".join(ways) or way, number


def main() -> None:
    """Do what is drawn for the trial, or for one trial after the other where the program is kept."""
    if trial := os.environ.get("SOUK_TRIAL"):
        way, number = take(trial)
        urls = [] if way == "leave" else json.loads(sys.stdin.readline())["urls"]
        act(way, number, Visitor(os.environ["SOUK_PROXY"]), urls)
        return
    for line in sys.stdin:
        told = json.loads(line)
        os.environ["SOUK_TASK"] = told["task"]
        way, number = take(told["trial"])
        act(way, number, Visitor(told["proxy"]), told["urls"])
        if way == "leave":
            return
        os.write(1, b"\n" + json.dumps({"done": told["trial"]}).encode() + b"\n")


if __name__ == "__main__":
    main()
