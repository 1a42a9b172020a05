"""The console blocks of docs/http.md, run against a service over HTTP.

`python -m tests.api.http.docs_http` writes what the commands print into the document; the test
compares.
"""

import asyncio
import re
import tempfile
from pathlib import Path
from unittest import mock

from api.http import heartbeats
from tests.api.http.conftest import LOOPBACK
from tests.api.kafka.servers import server
from tests.docs_console import ROOT, blocks, run_block

DOCUMENT = ROOT / "docs" / "http.md"

_SHOWN = "localhost:8080"
# Made from the machine's clock, or drawn at random.
_CHANGING = (
    (re.compile(r'("(?:as_of_)?timestamp": ?)\d{13}'), r"\g<1>..."),
    (re.compile(r"curl/[\d.]+ at 127.0.0.1:\d+"), "curl/8 at 127.0.0.1:50000"),
    (re.compile(r'("(?:topic_id|incarnation_id)": ?)"[\w-]{22}"'), r'\g<1>"..."'),
)


async def blocks_as_run(directory: Path) -> list[tuple[str, str]]:
    """Return each block of the document, and how it must read."""
    found = []
    # curl notices that `sed` has ended when the next comment comes.
    beating = mock.patch.object(heartbeats, "BEAT_S", 2.0)
    async with server(directory, http=LOOPBACK) as at:
        await at.register(1)
        address = at.http_url.removeprefix("http://")
        for block in blocks(DOCUMENT.read_text()):
            with beating:
                run = await asyncio.to_thread(run_block, block.replace(_SHOWN, address), directory)
            for pattern, replacement in _CHANGING:
                run = pattern.sub(replacement, run)
            found.append((block, run.replace(address, _SHOWN)))
    return found


def main() -> None:
    """Rewrite the console blocks of the document."""
    text = DOCUMENT.read_text()
    with tempfile.TemporaryDirectory() as directory:
        for shown, run in asyncio.run(blocks_as_run(Path(directory))):
            text = text.replace(shown, run)
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
