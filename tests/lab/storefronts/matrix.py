"""Try every shop by the same steps: `python -m tests.lab.storefronts.matrix [NAME ...] [--step STEP]`.

Writes what came out into `docs/storefronts.md`, the rows of the shops that were tried; `--step` prints only.
Ends with status 1 where a step has failed, or a shop was not tried.
"""

import argparse
import asyncio
import re
import tempfile
import time
from pathlib import Path

from playwright.async_api import async_playwright

from environments.browser.pool import find_browser, flags
from tests.lab.storefronts.cases import Case, cases
from tests.lab.storefronts.install import CannotInstall, install, is_installed
from tests.lab.storefronts.shops import running
from tests.lab.storefronts.steps import STEPS, Failed, Shop

PAGE = Path(__file__).parents[3] / "docs" / "storefronts.md"
Row = dict[str, tuple[str, float, bool]]
"""Step -> what it said, its seconds, whether it did what it should."""


async def attempt(case: Case, steps: list[str]) -> Row:
    """Try one shop."""
    row: Row = {}
    async with async_playwright() as playwright, running(case.name) as base:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright), args=flags(None))
        with tempfile.TemporaryDirectory(prefix=f"souk-{case.name}-", ignore_cleanup_errors=True) as folder:
            case.write_files(Path(folder), base)
            shop = Shop(case, base, Path(folder), browser)
            for name in steps:
                start = time.monotonic()
                try:
                    said, right = await STEPS[name](shop), True
                except Failed as failure:
                    said, right = str(failure), False
                except Exception as error:  # the table says it, and the other steps are tried
                    said, right = f"{type(error).__name__}: {error}".splitlines()[0], False
                row[name] = (hide_addresses(said, base, folder), time.monotonic() - start, right)
                print(
                    f"{case.name}: {name}: {'' if right else 'FAILS '}{row[name][1]:.1f} s, {row[name][0]}",
                    flush=True,
                )
        await browser.close()
    return row


def hide_addresses(said: str, base: str, folder: str) -> str:
    """A reason without what is different every time."""
    said = said.replace(base, "/").replace(folder, "").replace(str(Path(__file__).parents[3]) + "/", "")
    return re.sub(r"https?://127\.0\.0\.1:\d+", "", " ".join(said.split())).replace("|", "\\|")[:400]


def written(page: str, rows: dict[str, Row]) -> str:
    """The page with these rows in place of the same shops' rows of before."""
    table, reasons = _parts(page)
    for name, row in rows.items():
        cells = [f"{'' if right else '**fails**, '}{f'{said}, ' if right else ''}{seconds:.0f} s"
                 for said, seconds, right in row.values()]  # fmt: skip
        table[name] = f"| {name} | {' | '.join(cells)} |"
        failed = [f"* {name}, {step}: {said}" for step, (said, _, right) in row.items() if not right]
        reasons = [line for line in reasons if not line.startswith(f"* {name}, ")] + failed
    order = list(cases())
    lines = [table[name] for name in sorted(table, key=order.index)]
    reasons.sort(key=lambda line: order.index(line[2:].partition(",")[0]))
    head = f"| shop | {' | '.join(STEPS)} |\n|{' --- |' * (len(STEPS) + 1)}"
    shops = "\n".join(f"* **{name}**: {case.what}." for name, case in cases().items())
    text = page
    for mark, block in (
        ("shops", shops),
        ("table", "\n".join([head, *lines])),
        ("reasons", "\n".join(reasons) or "Nothing fails."),
    ):
        start, end = f"<!-- {mark} -->\n", "<!-- end -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}{block}\n{end}{rest.partition(end)[2]}"
    return text


def _parts(page: str) -> tuple[dict[str, str], list[str]]:
    known = cases()
    table = page.partition("<!-- table -->")[2].partition("<!-- end -->")[0]
    rows = {line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("| ")}
    reasons = [line for line in page.splitlines() if re.match(r"\* [\w-]+, ", line)]
    kept = [line for line in reasons if line[2:].partition(",")[0] in known]
    return {name: line for name, line in rows.items() if name in known}, kept


def main() -> None:
    known = cases()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", nargs="*")
    parser.add_argument("--step", action="append", choices=list(STEPS))
    arguments = parser.parse_args()
    for name in arguments.name:
        if name not in known:
            raise SystemExit(f"error: no storefront {name!r}; there are: {', '.join(known)}")
    rows, untried = {}, []
    for name in arguments.name or known:
        case = known[name]
        try:
            if not case.is_hand_written and not is_installed(name):
                install(name)
        except CannotInstall as error:
            print(f"{name}: not tried: {error}", flush=True)
            untried.append(name)
            continue
        rows[name] = asyncio.run(attempt(case, arguments.step or list(STEPS)))
    if not arguments.step:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    failed = [name for name, row in rows.items() if not all(right for _, _, right in row.values())]
    if failed or untried:
        raise SystemExit(f"failed: {', '.join(failed) or 'none'}; not tried: {', '.join(untried) or 'none'}")


if __name__ == "__main__":
    main()
