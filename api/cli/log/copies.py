"""Copies a log and drops its old history: backup, restore, archive, retain."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.log.repair import bytes_progress, digest_text
from api.cli.options.parameters import Argument, Option
from api.cli.parser.quick import command
from api.cli.source.arguments import Json, Log
from api.cli.source.opened_log import about, log_about, offset_of, open_reader
from api.cli.terminal.output import bytes_size_text, count_text, print_json, print_line
from api.cli.terminal.progress_bar import progress
from metadata_log.files.fs import OsFs
from replay.time_travel.points import names_offset

if TYPE_CHECKING:
    from metadata_log.care.backup import CopyResult
    from metadata_log.care.restore import RestoreResult, Splice
    from metadata_log.reader.committed import CommittedSegment
    from metadata_log.reader.log_reader import LogReader
    from replay.care.proof import Proof
    from replay.care.retain import RetainResult

Dest = Annotated[
    str,
    Argument(metavar="DEST", help="A directory, or s3://bucket/prefix.", show_default=False),
]


@command()
def backup(log: Log, dest: Dest, json: Json = False) -> None:
    """Copy a log, even while it is being written; another run copies only what is new.

    The copy is a log directory: every command that reads a log can read it.
    """
    from metadata_log.care.backup import back_up, bytes_to_copy
    from metadata_log.stores.store import open_store

    fs, store = OsFs(), open_store(dest)
    with open_reader(log) as reader:
        with bytes_progress("copying", bytes_to_copy(fs, reader, store)) as advance:
            result = back_up(fs, reader, store, progress=advance)
        _print_copy("backup", dest, reader, result, json=json)


@command()
def archive(log: Log, dest: Dest, json: Json = False) -> None:
    """Copy the sealed segments to an archive and check each copy; another run copies what is new.

    `retain` deletes only segments that an archive contains.
    """
    from api.documents.logs import NothingArchived
    from metadata_log.care.archive import archive as copy_sealed
    from metadata_log.care.backup import bytes_to_copy
    from metadata_log.stores.store import open_store

    fs, store = OsFs(), open_store(dest)
    with open_reader(log) as reader:
        with bytes_progress("archiving", bytes_to_copy(fs, reader, store)) as advance:
            result = copy_sealed(fs, reader, store, dest, progress=advance)
        if result is not None:
            _print_copy("archive", dest, reader, result, json=json)
        elif json:
            print_json(about(reader), NothingArchived())
        else:
            print_line(f"{log}: no segment is sealed yet, nothing to archive")


def _print_copy(
    what: str, dest: str, reader: "LogReader", result: "CopyResult", *, json: bool
) -> None:
    if json:
        from api.documents.care import Copied

        print_json(about(reader), Copied.of(result))
        return
    print_line(f"{what} {dest}: offsets {result.start_offset} to {result.end_offset - 1}")
    before = result.previous_end_offset
    since = "" if before is None else f", it ended at offset {before - 1} before"
    print_line(
        f"  copied {count_text(len(result.files), 'file')}, "
        f"{bytes_size_text(result.size_bytes)}{since}"
    )


@command()
def restore(
    backup: Annotated[
        str,
        Argument(metavar="BACKUP", help="A backup or archive: a path or URL.", show_default=False),
    ],
    log: Annotated[
        Path,
        Argument(metavar="LOG", help="Directory of the restored log.", show_default=False),
    ],
    at: Annotated[
        str, Option("--at", metavar="POINT", help="The last offset or time to restore.")
    ] = "end",
    tail: Annotated[
        Path | None,
        Option(
            metavar="LOG", help="Continue with this log's records after the end of the archive."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a log from a backup or archive, up to a point, and check it by replay."""
    from metadata_log.care.restore import Splice
    from metadata_log.care.restore import restore as write_log
    from metadata_log.reader.log_reader import LogReader
    from metadata_log.stores.store import open_store
    from replay.care.proof import check_equal, prove

    store = open_store(backup)
    copy_fs = store.pinned()
    splice = Splice(
        copy_fs=copy_fs,
        copy=LogReader.open(store.directory, fs=copy_fs),
        tail_fs=OsFs() if tail else None,
        tail=LogReader.open(tail) if tail else None,
    )
    offset = _offset_in(splice, at)
    source = splice.source_of(offset)
    with progress("replaying", source.history_start, offset + 1) as advance:
        expected = prove(source, offset, advance)
    with bytes_progress("restoring", splice.size_bytes()) as add:
        result = write_log(
            splice, log, offset + 1, check=lambda made: check_equal(expected, made), progress=add
        )
    if json:
        _print_restored(offset, result, expected)
    else:
        _print_restore(log, offset, result, expected)


def _offset_in(splice: "Splice", at: str) -> int:
    """Return the offset of the last record at a point, in the copy or in the tail after the copy.

    The tail is searched unless the point is before the copy's last record.
    """
    copy, tail = splice.copy, splice.tail
    if tail is None:
        return offset_of(copy, at)
    if at.isdigit():
        return offset_of(tail if int(at) >= copy.end_offset else copy, at)
    offset = offset_of(copy, at)
    return offset if offset < copy.end_offset - 1 else offset_of(tail, at)


def _print_restored(offset: int, result: "RestoreResult", proof: "Proof") -> None:
    from api.documents.care import Restored
    from api.documents.logs import Known

    place = Known(
        as_of=offset,
        history_start=result.history_start,
        log_end=result.end_offset,
        not_understood=proof.not_understood,
    )
    print_json(place, Restored.of(result, proof))


def _print_restore(log: Path, offset: int, result: "RestoreResult", proof: "Proof") -> None:
    print_line(f"{log}: offsets {result.history_start} to {result.end_offset - 1}")
    print_line(f"  {digest_text(proof)}, equal to the source's as of offset {offset}")
    if result.cut_batch is not None:
        base, end = result.cut_batch
        print_line(
            f"  offset {offset} lies inside the batch {base} to {end - 1}, which is cut: for whole "
            f"batches restore --at {base - 1} or {end - 1}"
        )
    if proof.pending_transaction is not None:
        print_line(
            f"  a transaction is open since offset {proof.pending_transaction}: "
            "the next controller aborts it"
        )
    if result.writer_epoch is not None:
        print_line(f"  its next writer claims epoch {result.writer_epoch}; stop the old log first")


@command()
def retain(
    log: Log,
    before: Annotated[
        str,
        Option(
            "--before",
            metavar="POINT",
            help="Drop the history before this offset, time or age.",
            show_default=False,
        ),
    ],
    without_archive: Annotated[
        bool, Option("--without-archive", help="Also drop history that is in no archive.")
    ] = False,
    json: Json = False,
) -> None:
    """Delete old segments, after writing the state at their end as a base checkpoint.

    Safe to run while a service writes. The log then starts at the segment that contains POINT.
    """
    from api.documents.care import Retained
    from metadata_log.care.archive import check_archived
    from replay.care.retain import retain as move_start

    directory = log.absolute()
    with open_reader(log) as reader:
        point = offset_of(reader, before)
        # An offset names the first record to keep; a time the last one to remove.
        keep_from = point if names_offset(before) else point + 1
        start, end = reader.history_start, reader.end_offset

    def check_dropped(segments: "list[CommittedSegment]") -> None:
        if not without_archive:
            check_archived(OsFs(), directory, segments)

    with progress("replaying", start, min(keep_from, end)) as advance:
        result = move_start(directory, keep_from, check_dropped=check_dropped, progress=advance)
    if json:
        print_json(log_about(log), Retained.of(result))
    else:
        _print_retain(log, result)


def _print_retain(log: Path, result: "RetainResult") -> None:
    if not result.dropped_segments:
        print_line(
            f"{log}: nothing to drop, history starts at {result.history_start}; only whole "
            "segments below the point can go"
        )
        return
    print_line(
        f"{log}: history starts at {result.history_start}, it was "
        f"{result.previous_history_start}; dropped "
        f"{count_text(result.dropped_segments, 'segment')}, {bytes_size_text(result.dropped_bytes)}"
    )
    print_line(f"  the base checkpoint has digest {result.digest}, equal to the image by replay")
