"""Download a page from a shop as a whole; give up on one that does not end."""

from typing import Final

import httpx

from interventions.errors import UserError
from proxy.trust import ADVICE, is_untrusted

LARGEST: Final = 32 * 1024 * 1024
"""The largest page, in bytes, decompressed."""


async def download(
    client: httpx.AsyncClient, url: str, headers: dict[str, str] | None = None
) -> tuple[httpx.Response, bytes]:
    """Return the response and its body. Raises httpx.HTTPError, httpx.InvalidURL, UserError."""
    body = bytearray()
    async with client.stream("GET", url, headers=headers) as answer:
        async for part in answer.aiter_bytes():
            body += part
            if len(body) > LARGEST:
                raise UserError(f"{url}: larger than {LARGEST >> 20} MiB; give the address of a page")
    return answer, bytes(body)


async def downloaded(
    client: httpx.AsyncClient,
    url: str,
    accept: str = "text/html",
    *,
    unreached: str = "is the shop running?",
    refused: str = "check the address",
) -> tuple[httpx.Response, bytes]:
    """Return what `download` does, of a page that the shop has. Raises UserError, with what to do."""
    try:
        answer, body = await download(client, url, {"Accept": accept})
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if is_untrusted(error):
            raise UserError(f"{url}: {ADVICE}") from None
        cause = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{url}: cannot be fetched ({cause}); {unreached}") from None
    if answer.is_error:
        raise UserError(f"{url}: the shop answers {answer.status_code} {answer.reason_phrase}; {refused}")
    return answer, body
