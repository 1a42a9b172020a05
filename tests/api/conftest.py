"""Commands run in this process, and processes that tests start."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from api.cli.main import run
from tests.stories.processes import Process


class Answer(msgspec.Struct, frozen=True):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The stream of documents on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def lines_or_json(self) -> Any:
        """The one document on standard output, or the list of those in its lines."""
        return self.json if self.out.startswith("{\n") else self.lines

    @property
    def error(self) -> Any:
        """The one document on standard error."""
        return json.loads(self.err)


Metalog = Callable[..., Answer]


@pytest.fixture
def metalog(capsys: pytest.CaptureFixture[str]) -> Metalog:
    """Run `metalog` with arguments."""

    def call(*arguments: object) -> Answer:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


@pytest.fixture
async def started() -> AsyncIterator[list[Process]]:
    """Processes to be killed if a test leaves them."""
    processes: list[Process] = []
    yield processes
    for process in processes:
        if process.is_running:
            await process.kill()
