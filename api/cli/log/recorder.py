"""Runs `import kraft --follow`: records a live node's log until stopped."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from api.cli.terminal.output import print_json_line, print_line, print_status
from api.documents.recorder import RecordedLine
from metadata_log.kraft.importer import Replaced
from metadata_log.kraft.recorder import Recorder
from metadata_log.kraft.source_follower import follow_source
from metadata_log.limits import RECORD_GATHER_MS

_LINE_INTERVAL_S = 10
"""Minimum time between lines unless records were replaced: a busy node writes every second."""


def record(
    source: Path, log: Path, *, collapse_noops: bool, may_replace_all: bool, json: bool
) -> None:
    """Record a node's log until SIGTERM or SIGINT.

    Raises:
        MetadataLogError: as `follow_source`.
    """
    with (
        stopped_by_signal() as wait,
        Recorder(
            source,
            log,
            collapse_noops=collapse_noops,
            gather_ms=RECORD_GATHER_MS,
            may_replace_all=may_replace_all,
        ) as recorder,
    ):
        report = Report(recorder, json=json)
        try:
            for _ in follow_source(recorder, wait):
                report.update()
        finally:
            try:
                recorder.write_gathered()
            finally:
                report.end()


class RecorderProgress(Protocol):
    """Progress of a mirror's writer, with the attributes of `Recorder`."""

    replaced: list[Replaced]

    @property
    def records(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def confirmed_end(self) -> int: ...

    @property
    def source_end(self) -> int | None: ...


class Report:
    """Prints the progress of a recorder: a status line on a terminal, else one line per report."""

    def __init__(self, recorder: RecorderProgress, *, json: bool) -> None:
        self._recorder = recorder
        self._json = json
        self._is_terminal = sys.stdout.isatty() and not json
        self._last: RecordedLine | None = None
        self._printed_at = -float(_LINE_INTERVAL_S)

    def update(self) -> None:
        """Print the state if it changed.

        If output is not a terminal, prints at intervals, and whenever records were replaced.
        """
        line = self._line()
        if self._last is not None and _without_replaced(line) == _without_replaced(self._last):
            return
        is_due = time.monotonic() - self._printed_at >= _LINE_INTERVAL_S
        if is_due or line.replaced or self._is_terminal:
            self._print(line)

    def end(self) -> None:
        """Print the state if it changed since the last line."""
        line = self._line()
        if self._last is None or _without_replaced(line) != _without_replaced(self._last):
            self._print(line)
        if self._is_terminal:
            print_line("")

    def _line(self) -> RecordedLine:
        recorder = self._recorder
        return RecordedLine(
            records=recorder.records,
            log_end=recorder.end_offset,
            confirmed_end=recorder.confirmed_end,
            replaced=tuple(recorder.replaced),
            source_end=recorder.source_end,
        )

    def _print(self, line: RecordedLine) -> None:
        self._recorder.replaced.clear()
        self._last, self._printed_at = line, time.monotonic()
        if self._json:
            print_json_line(line)
        else:
            for replaced in line.replaced:
                self._write(replaced_text(replaced), is_status=False)
            self._write(_text(line), is_status=True)
        sys.stdout.flush()

    def _write(self, text: str, *, is_status: bool) -> None:
        if not self._is_terminal:
            print_line(text)
            return
        print_status(text, is_final=not is_status)


def _without_replaced(line: RecordedLine) -> RecordedLine:
    return msgspec.structs.replace(line, replaced=())


def _text(line: RecordedLine) -> str:
    text = f"{line.records:,} records recorded, up to offset {line.log_end - 1}, "
    text += f"confirmed below {line.confirmed_end}"
    if line.source_end is not None:
        text += f"; the source is behind, it ends at {line.source_end - 1}"
    return text


@contextmanager
def stopped_by_signal() -> Iterator[Callable[[float], bool]]:
    """Yield a function that sleeps for some seconds; SIGTERM or SIGINT ends all sleeps, with True.

    The signal handlers write to a pipe. `threading.Event.set` takes a lock that an interrupted
    `wait` may hold, so a handler that calls `set` can wait for itself forever.
    """
    readable, writable = os.pipe()
    poll = select.poll()
    poll.register(readable, select.POLLIN)
    before = {
        number: signal.signal(number, lambda *_: os.write(writable, b"."))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield lambda seconds: bool(poll.poll(seconds * 1_000))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(readable)
        os.close(writable)


def replaced_text(replaced: Replaced) -> str:
    """Return a text about the offsets of a mirror that were removed because Kafka replaced them."""
    return (
        f"offsets {replaced.first_offset} to {replaced.last_offset}, from leader epoch "
        f"{replaced.leader_epoch} on, were removed first: Kafka has replaced them"
    )
