"""Standard output is the same bytes whatever each of the three streams is."""

import contextlib
import errno
import fcntl
import io
import os
import pty
import re
import shlex
import struct
import subprocess
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from api.cli.terminal import progress_bar
from api.cli.terminal.output import print_line, warn
from tests.docs_console import IN_SPARK, OWN_WORDS, ROOT, blocks, commands, fixed, run_in_shell
from tests.forked_commands import BARS_AT_ONCE, METALOG
from tests.test_docs import command_names

PAGES = ("commands.md", "users_and_quotas.md", "authorization.md", "configs.md", "security.md")
"""Documents whose examples have every verb."""

COLUMNS = 2_000
"""Of the terminals: wide enough for every table."""


class Streams(NamedTuple):
    """What each standard stream is: a `terminal`, a `pipe` or a `file`."""

    stdin: str
    stdout: str
    stderr: str


# Times and ids that are new at each run.
# A secret comes first: between its `+` and `/` there may be what looks like an id.
_CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\S+Z|[\w+/-]{43,}=*|\b[\w-]{22}\b|\b1\d{12}\b")

FIRST = Streams("terminal", "file", "terminal")
OTHERS = (
    Streams("file", "terminal", "file"),
    # A command asks only whether a stream is a terminal, which neither a file nor a pipe is.
    pytest.param(Streams("pipe", "pipe", "pipe"), marks=pytest.mark.heavy),
)


class _Reader:
    """The other end of a stream that is written: collects what arrives."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._chunks: list[bytes] = []
        self._thread: threading.Thread | None = None
        if kind == "file":
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  Closed by `text`.
            self.given = os.dup(self._file.fileno())
            return
        ours, self.given = _terminal() if kind == "terminal" else os.pipe()
        self._thread = threading.Thread(target=self._collect, args=[ours])
        self._thread.start()

    def _collect(self, ours: int) -> None:
        try:
            while chunk := os.read(ours, 65_536):
                self._chunks.append(chunk)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux: a terminal's other side was closed
                raise
        finally:
            os.close(ours)

    def text(self) -> str:
        """Return what was written, after the writers have closed their end."""
        if self._thread is None:
            self._file.seek(0)
            with self._file:
                return self._file.read().decode()
        self._thread.join()
        return b"".join(self._chunks).decode().replace("\r\n", "\n")


def _terminal() -> tuple[int, int]:
    """Return both ends of a wide terminal, the second for a command."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    return ours, theirs


@contextlib.contextmanager
def _input(kind: str) -> Iterator[int]:
    """Yield an input with nothing in it."""
    if kind == "file":
        with tempfile.TemporaryFile() as file:
            yield file.fileno()
        return
    ours, theirs = _terminal() if kind == "terminal" else os.pipe()[::-1]
    if kind == "terminal":
        os.write(ours, b"\x04")  # Ctrl-D
    else:
        os.close(ours)
    try:
        yield theirs
    finally:
        os.close(theirs)
        if kind == "terminal":
            os.close(ours)


def _run(words: list[str], directory: Path, streams: Streams) -> tuple[int, str, str]:
    """Return a command's exit code and what it wrote to both streams."""
    out, err = _Reader(streams.stdout), _Reader(streams.stderr)
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment |= {"TERM": "xterm", "NO_COLOR": "1", BARS_AT_ONCE: "1"}
    try:
        with _input(streams.stdin) as given:
            process = subprocess.Popen(
                [*METALOG, *words],
                cwd=directory,
                stdin=given,
                stdout=out.given,
                stderr=err.given,
                env=environment,
            )
            code = process.wait()
    finally:
        os.close(out.given)
        os.close(err.given)
    return code, out.text(), err.text()


def _answers(directory: Path, streams: Streams) -> tuple[dict[str, tuple[int, str]], list[str]]:
    """Run the page's commands in order.

    Returns:
        Each command's exit code and standard output, and the commands that showed a bar.
    """
    answers, with_bar = {}, []
    for number, (page, command) in enumerate(_examples()):
        place = directory / page
        place.mkdir(exist_ok=True)
        own = OWN_WORDS.fullmatch(command)
        if IN_SPARK.match(command):
            continue
        if own is None:
            run_in_shell(command, place, subprocess.DEVNULL)
            continue
        code, out, err = _run(shlex.split(own[1]), place, streams)
        answers[f"{number} {command}"] = (code, _CLOCK.sub("...", fixed(out)))
        if own[2] and "/dev/null" not in own[3]:
            _go_on(own, out, place)
        if "─" in err:
            with_bar.append(command)
            # The end of a note, or of the bar.
            assert err.endswith((progress_bar.ERASED, "\n")), f"{command} leaves its bar behind"
    return answers, with_bar


def _examples() -> Iterator[tuple[str, str]]:
    """Yield each document with each of its commands."""
    for page in PAGES:
        for block in blocks((ROOT / "docs" / page).read_text()):
            yield from ((page, command) for command in commands(block))


def _go_on(own: re.Match[str], printed: str, directory: Path) -> None:
    """Give what a command printed to what follows it in the line: a pipe or a file."""
    with tempfile.TemporaryFile() as file:
        file.write(printed.encode())
        file.seek(0)
        rest = own[3] if own[2] == "|" else f"cat >{own[3]}"
        run_in_shell(rest, directory, subprocess.DEVNULL, file)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """The answers of all verbs where a terminal shows bars and the output is a file."""
    answers, with_bar = _answers(tmp_path_factory.mktemp("first"), FIRST)
    assert len(with_bar) > 30
    return answers


@pytest.mark.timeout(600)
@pytest.mark.parametrize("streams", OTHERS, ids="-".join)
def test_each_verb_prints_the_same_whatever_the_streams_are(
    streams: Streams, expected: dict[str, tuple[int, str]], tmp_path: Path
) -> None:
    answers, with_bar = _answers(tmp_path, streams)
    assert list(answers) == list(expected)
    assert {name: answers[name] for name in answers if answers[name] != expected[name]} == {}
    assert with_bar == []


def test_all_verbs_are_tried(expected: dict[str, tuple[int, str]]) -> None:
    tried = {name.split(" ", 1)[1] for name in expected}
    missing = [
        verb
        for verb in command_names()
        if not any(re.match(rf"metalog {re.escape(verb)}( |:|$)", command) for command in tried)
    ]
    # Those that start Spark are tried in its own session.
    assert missing == [], missing


class _Screen(io.StringIO):
    """A terminal that both output streams write to."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def _screen() -> Iterator[_Screen]:
    """Print to a terminal while the body runs; not in a fixture, whose streams pytest replaces."""
    both = _Screen()
    with contextlib.redirect_stdout(both), contextlib.redirect_stderr(both):
        yield both


def test_bar_appears_after_a_second_and_is_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with _screen() as screen, progress_bar.progress("reading", 1_000, 3_000) as advance:
        for later_s in (0.0, 0.5, 0.49):
            now += later_s
            advance(1_500)
        assert screen.getvalue() == ""
        now = 101.5
        advance(2_000)
        assert screen.getvalue().startswith(f"{progress_bar.ERASED}reading ━")
        assert "1,000/2,000  0:00:02 left" in screen.getvalue()
    assert screen.getvalue().endswith(progress_bar.ERASED)


def test_line_under_a_bar_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress_bar, "DELAY_S", 0.0)
    with _screen() as screen, progress_bar.progress("reading", 0, 10) as advance:
        for offset in range(3):
            time.sleep(0.11)
            advance(offset)
            print_line(f"line {offset}")
            warn(f"of {offset}")
    erased = progress_bar.ERASED
    shown = [line.rpartition(erased)[2] for line in screen.getvalue().split("\n")[:-1]]
    assert shown == [text for n in range(3) for text in (f"line {n}", f"warning: of {n}")]
    assert screen.getvalue().count("reading") == 3
