"""The output in docs/snapshots.md is that of a real PostgreSQL server.

`python -m tests.test_snapshot_document` writes the output into it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from sqlalchemy import URL

from api.cli.main import run
from tests.docs_console import ROOT, blocks, run_block
from tests.postgres import new_database, postgres_server

DOCUMENT = ROOT / "docs/snapshots.md"
HOST, DATABASE, EMPTY = "db.example", "metadata", "empty"


class _Place:
    """Runs the document's commands: with a log in a directory, and a server under the name
    shown.
    """

    def __init__(self, server: URL, database: URL, empty: URL, directory: Path) -> None:
        self._server = server
        self._directory = directory
        self._names = {
            f"{HOST}:1/": f"{server.host}:1/",
            f"{HOST}/": f"{server.host}:{server.port}/",
            f"/{DATABASE}": f"/{database.database}",
            f"/{EMPTY}": f"/{empty.database}",
        }

    def run(self, block: str) -> str:
        """Return a block with the output of its commands."""
        for shown, real in self._names.items():
            block = block.replace(shown, real)
        found = run_block(block, self._directory)
        for shown, real in reversed(self._names.items()):
            found = found.replace(real, shown)
        found = found.replace(f'"{self._server.host}"', f'"{HOST}"')
        return found.replace(f"port {self._server.port} ", "port 5432 ")


@contextmanager
def _place(server: URL) -> Iterator[_Place]:
    with (
        tempfile.TemporaryDirectory() as name,
        new_database(server) as database,
        new_database(server) as empty,
        patch.dict(os.environ, {"PGPASSWORD": str(server.password)}),
    ):
        log = Path(name) / "log"
        assert run(["demo", str(log), "--topics", "20", "--changes", "400", "--json"]) == 0
        yield _Place(server, database, empty, Path(name))


def test_commands_print_what_the_document_says(postgres: URL) -> None:
    with _place(postgres) as place:
        for block in blocks(DOCUMENT.read_text()):
            assert place.run(block) == block


def _write() -> None:
    text = DOCUMENT.read_text()
    with postgres_server() as server, _place(server) as place:
        for block in blocks(text):
            text = text.replace(block, place.run(block))
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    _write()
