"""Download a page from a shop as a whole; give up on one that does not end."""

from typing import Final

import httpx

from interventions.errors import UserError

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
