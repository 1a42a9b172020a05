"""Output of commands: one JSON document, JSON lines, or text."""

import math
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from api.cli.terminal import progress_bar
from api.printable import plain, printable_json

if TYPE_CHECKING:
    import msgspec

    from api.questions.objects import Piece

# Indent of the rest of a line that is too long.
_HANGING = 10

# Spaces between the columns of a table.
_GAP = 2


def print_json(*parts: "msgspec.Struct") -> None:
    """Print one JSON document with the fields of typed answers, in the order given."""
    import msgspec

    document: dict[str, msgspec.Raw] = {}
    for part in parts:
        # Not as Python values: an answer may hold hundreds of thousands of structures.
        document |= msgspec.json.decode(msgspec.json.encode(part), type=dict[str, msgspec.Raw])
    _print_document(document)


def print_json_list(items: "Sequence[msgspec.Struct]") -> None:
    """Print a JSON list of typed answers."""
    _print_document(items)


def print_json_pieces(
    pieces: "Iterable[Piece]", about: "Callable[[], msgspec.Struct] | None" = None
) -> None:
    """Print the JSON document that is composed of the pieces.

    Args:
        about: Returns fields to print first; called after all pieces were taken.
    """
    from api.questions.objects import joined

    document = joined(pieces)
    _print_document(document if about is None else fields_of(about()) | document)


def print_json_line(*parts: "msgspec.Struct") -> None:
    """Print one line of a stream: the fields of typed answers, in the order given."""
    document = parts[0] if len(parts) == 1 else fields_of(*parts)
    _write(_json(document) + "\n")


def print_event(line: str) -> None:
    """Print a line of a stream immediately; the caller has formatted the line."""
    _write(f"{line}\n")
    sys.stdout.flush()


def json_line(answer: "msgspec.Struct | dict[str, Any]") -> str:
    """Return an answer as one line of JSON with spaces, for human readers."""
    return _json(answer, indent=0)


def fields_of(*parts: "msgspec.Struct") -> dict[str, Any]:
    """Return the fields of typed answers as JSON values, in the order given."""
    from msgspec import to_builtins

    document: dict[str, Any] = {}
    for part in parts:
        document |= to_builtins(part)
    return document


def _print_document(document: Any) -> None:
    _write(_json(document, indent=2) + "\n")


def _json(document: Any, indent: int | None = None) -> str:
    import msgspec

    encoded = msgspec.json.encode(document)
    if indent is not None:
        encoded = msgspec.json.format(encoded, indent=indent)
    return printable_json(encoded.decode())


def print_line(text: str = "") -> None:
    """Print a line of text to standard output."""
    _write(plain(text) + "\n")


def print_hanging(text: str, indent: int = _HANGING) -> None:
    """Print a line; on a terminal that is too narrow, break it at spaces and indent the rest."""
    if not sys.stdout.isatty() or _cell_width(text) <= _terminal_width():
        print_line(text)
        return

    lines = wrap(
        plain(text),
        _terminal_width(),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    _write("".join(f"{line}\n" for line in lines))


def print_status(text: str, *, is_final: bool) -> None:
    """Print a status line that overwrites the previous one on a terminal.

    Args:
        is_final: True if the next status line is printed below this one.
    """
    _write(f"{progress_bar.ERASED}{plain(text)}" + ("\n" if is_final else ""))


def _write(text: str) -> None:
    progress_bar.erase()
    sys.stdout.write(text)


def note(text: str) -> None:
    """Print a note for human readers on standard error, only on a terminal."""
    if sys.stderr.isatty():
        progress_bar.erase()
        sys.stderr.write(plain(text) + "\n")


def warn(text: str) -> None:
    """Print a warning about an answer on standard error."""
    progress_bar.erase()
    sys.stdout.flush()
    sys.stderr.write(f"warning: {plain(text)}\n")


def is_conversation() -> bool:
    """True if input and output are a terminal, so that prompts may be printed.

    Otherwise a prompt would be part of the output.
    """
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_read() -> bool:
    """True unless standard output is a pipe whose reader has closed it, or has died."""
    # What was printed must not wait while nothing else is.
    sys.stdout.flush()
    with suppress(OSError, ValueError):  # no descriptor, in tests
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return not any(event & select.POLLERR for _, event in poll.poll(0))
    return True


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table with aligned columns.

    If the terminal is too narrow, each row is printed as a block of lines. Cells are never
    truncated or wrapped, so that names, ids and times can be copied and searched.
    """
    columns = [plain(column) for column in columns]
    cells = [["" if cell is None else plain(str(cell)) for cell in row] for row in rows]
    widths = [max(map(_cell_width, column)) for column in zip(columns, *cells, strict=True)]
    if sys.stdout.isatty() and sum(widths) + _GAP * (len(widths) - 1) > _terminal_width():
        _print_blocks(columns, cells)
        return
    for number, row in enumerate([columns, *cells]):
        padded = [
            cell + " " * (width + _GAP - _cell_width(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        line = "".join(padded).rstrip()
        _write((_bold(line) if number == 0 else line) + "\n")


def _cell_width(text: str) -> int:
    """Return the width of a text in terminal columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _print_blocks(columns: Sequence[str], cells: list[list[str]]) -> None:
    """Print one line per column, with an empty line between rows.

    The cell of a column without a name is printed after the previous cell.
    """
    width = max(map(len, columns)) + _GAP
    for number, row in enumerate(cells):
        if number:
            _write("\n")
        lines: list[str] = []
        for column, cell in zip(columns, row, strict=True):
            if column or not lines:
                lines.append(_bold(column) + " " * (width - len(column)) + cell)
            elif cell:
                lines[-1] += " " * _GAP + cell
        _write("".join(f"{line.rstrip()}\n" for line in lines))


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns


def _bold(text: str) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[1m{text}\x1b[0m"


def time_text(timestamp_ms: int | None) -> str:
    """Return a time as RFC 3339 in UTC with milliseconds; `-` for none."""
    # Imported here because the help of commands needs no records.
    from records.text import time_text as text_of

    return "-" if timestamp_ms is None else text_of(timestamp_ms)


def duration_text(duration_ms: int) -> str:
    """Return a duration in its two largest units, such as `2 d 3 h`."""
    from records.text import duration_text as text_of

    return text_of(duration_ms)


Unit = tuple[int, str]
"""Size in ms and name of a unit of time."""


def unit_of(durations_ms: Iterable[int]) -> Unit:
    """Return the unit that the sums of a list share, by the largest of them."""
    most = max(durations_ms, default=0)
    units = ((3_600_000, "hours"), (60_000, "minutes"))
    return next((unit for unit in units if most >= unit[0]), (1_000, "seconds"))


def partition_time_text(duration_ms: int, unit: Unit | None = None) -> str:
    """Return a sum of times of partitions, such as `7.3 partition-minutes`."""
    size_ms, name = unit or unit_of((duration_ms,))
    sum_ = duration_ms / size_ms
    # A small sum has one digit that is not 0.
    decimals = -math.floor(math.log10(sum_)) if 0 < sum_ < 0.1 else 1
    return f"{sum_:,.{decimals}f} partition-{name}"


def point_text(offset: Any) -> str:
    """Return an offset as a point: `offset 4107`, or `the start` for a negative offset."""
    return "the start" if offset < 0 else f"offset {offset}"


def value_text(value: Any) -> str:
    """Return a JSON value in short form, such as `[1,2]` or `PLAINTEXT:localhost:9092:0`."""
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case list() | tuple():
            return f"[{','.join(value_text(item) for item in value)}]"
        case dict():
            return ":".join(value_text(item) for item in value.values())
    return str(value)


def field_text(name: str, field: str, value: Any) -> str:
    """Return a field's value in short form; a level of metadata.version with its name."""
    if name == "feature:metadata.version" and field == "level" and isinstance(value, int):
        from records.metadata_versions import level_name

        return level_name(value)
    return value_text(value)


def count_text(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 topic`, `2 topics` or `3 batches`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    if noun.endswith("ch"):
        plural = noun + "es"
    return f"{count:,} {noun if count == 1 else plural}"


def bytes_size_text(size: int) -> str:
    """Return a size in bytes with a unit."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
