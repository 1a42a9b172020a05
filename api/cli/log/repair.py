"""Checking and repairing a log: the commands verify and repair."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, Option
from api.cli.parser.quick import command
from api.cli.source.arguments import Json, Log, LogPlace
from api.cli.source.image_view import print_remark
from api.cli.terminal import event_loop
from api.cli.terminal.errors import DONE, FOUND, print_contradiction, reads_only
from api.cli.terminal.output import (
    bytes_size_text,
    count_text,
    print_json,
    print_line,
)
from api.cli.terminal.progress_bar import progress
from metadata_log.files.fs import ByteStore, OsFs
from records.errors import CorruptLogError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from api.documents.logs import Known
    from metadata_log.care.findings import Finding, Inspection
    from metadata_log.care.repair import RepairResult
    from metadata_log.reader.log_reader import LogReader
    from replay.care.proof import Proof


@contextmanager
def bytes_progress(what: str, size_bytes: int) -> "Iterator[Callable[[int], None]]":
    """Show progress in bytes while the body runs.

    Yields:
        A function to call with the number of bytes done since the previous call.
    """
    done = 0
    with progress(what, 0, size_bytes) as advance:

        def add(size: int) -> None:
            nonlocal done
            done += size
            advance(done)

        yield add


@command()
@reads_only
def verify(
    log: LogPlace,
    shared: Annotated[
        str | None,
        Option(
            "--shared",
            metavar="URL",
            help="Also compare each block with this shared log, of which LOG is a copy.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Check every byte of a log up to its commit mark, and replay it; exit 1 if it is damaged.

    Takes no lock, so it is safe to run while a service writes. Continues after damage, to list all
    of it.
    """
    from metadata_log.care.inspection import bytes_to_inspect, inspect_log
    from metadata_log.stores.store import open_store

    store = open_store(log)
    fs, directory = store.pinned(), store.directory
    if not store.names():
        from metadata_log.format.manifest import read_manifest

        read_manifest(fs, directory)
    with bytes_progress("verifying", bytes_to_inspect(fs, directory)) as advance:
        found = inspect_log(fs, directory, progress=advance)
    if shared is not None and not found.damage:
        _compare_with_shared(shared, fs, directory, found)
    proof = None if found.damage else _replayed(fs, directory, found)
    if json:
        _print_verified(found, proof)
    else:
        _print_inspection(log, found, proof)
    if proof is not None and proof.contradiction is not None:
        print_contradiction(proof.contradiction)
        return FOUND
    return FOUND if found.damage else DONE


def _compare_with_shared(url: str, fs: "ByteStore", directory: Path, found: "Inspection") -> None:
    """Compare a node's folder with the shared log; add differences to `found`."""
    from api.nodes.stores import compare_with_store

    with progress("comparing", 0, found.end_offset or 0) as advance:
        compared = event_loop.run(compare_with_store(url, fs, directory, advance))
    if compared.difference is not None:
        found.damage.append(compared.difference)
        return
    behind = f"; {count_text(compared.missing, 'record')} behind it" if compared.missing else ""
    found.add_note(
        f"equal to the shared log from offset {compared.from_offset or 0} to "
        f"{compared.to_offset - 1}, {count_text(compared.groups, 'group')}{behind}",
        "nothing to do",
    )


def _replayed(fs: "ByteStore", directory: Path, found: "Inspection") -> "Proof | None":
    """Replay the log and return the proof, or None if the replay finds damage.

    The damage is added to `found`. In a log that is not a mirror, a contradicting record counts as
    damage.
    """
    from metadata_log.reader.log_reader import LogReader
    from replay.care.proof import prove

    with LogReader.open(directory, fs=fs) as reader:
        try:
            with progress("replaying", reader.history_start, reader.end_offset) as advance:
                return prove(reader, reader.end_offset - 1, advance)
        except CorruptLogError as error:
            remedy = f"look at the records before it with `metalog dump {directory}`"
            found.add_damage(str(error), remedy)
            return None


def _print_verified(found: "Inspection", proof: "Proof | None") -> None:
    from api.documents.care import Verified

    print_json(_place(found, proof), Verified.of(found, proof))


def _place(found: "Inspection", proof: "Proof | None") -> "Known":
    from msgspec import UNSET

    from api.documents.logs import Known

    return Known(
        as_of=None if found.end_offset is None else found.end_offset - 1,
        history_start=found.history_start,
        log_end=found.end_offset,
        not_understood=UNSET if proof is None else proof.not_understood,
        not_counted=UNSET if proof else "a damaged log is not replayed",
    )


def _print_inspection(log: str, found: "Inspection", proof: "Proof | None") -> None:
    for finding in found.damage:
        print_line(f"damage: {_finding_text(finding)}")
    for note in found.notes:
        print_line(f"note: {_finding_text(note)}")
    looked = (
        f"{count_text(found.records, 'record')} in {count_text(found.segments, 'segment')}, "
        f"{bytes_size_text(found.size_bytes)}"
    )
    if found.damage:
        print_line(f"{log}: {count_text(len(found.damage), 'place')} damaged; read {looked}")
    else:
        print_line(f"{log}: whole; {looked}, offsets {found.history_start} to {_last(found)}")
    if proof is not None:
        print_line(f"  {digest_text(proof)} by replay")
    print_remark(_place(found, proof))


def digest_text(proof: "Proof") -> str:
    """Return a log's digest as text, such as `digest 4f...`.

    If a record contradicts the state before it, the text gives that record, and the digest of the
    state before it.
    """
    error = proof.contradiction
    if error is None:
        return f"digest {proof.digest}"
    assert error.record is not None, "replay named the record"
    return (
        f"no digest: the record at offset {error.record.offset} contradicts the state before it, "
        f"which has digest {proof.digest_before}"
    )


def _last(found: "Inspection") -> int:
    return (found.end_offset or 0) - 1


def _finding_text(finding: "Finding") -> str:
    place = f"{finding.file} byte {finding.byte}: " if finding.file else ""
    end = f" (up to byte {finding.end_byte})" if finding.end_byte is not None else ""
    offset = "" if finding.from_offset is None else f", from offset {finding.from_offset}"
    return f"{place}{finding.what}{end}{offset}; {finding.remedy}"


@command()
def repair(
    log: Log,
    copy: Annotated[
        Path, Argument(metavar="COPY", help="Where to write the copy.", show_default=False)
    ],
    json: Json = False,
) -> int:
    """Copy a log to a new one, up to damage that cannot be rebuilt; LOG is not changed.

    Exit 1 if the copy lacks records that were acknowledged.
    """
    from metadata_log.care.inspection import bytes_to_inspect
    from metadata_log.care.repair import repair as write_copy
    from replay.care.proof import prove

    fs, directory = OsFs(), log.absolute()
    if not directory.is_dir():
        raise RequestError("LOG_NOT_FOUND", f"{log} is not a directory")
    proofs: list[Proof] = []

    def check(made: "LogReader") -> None:
        proofs.append(prove(made, made.end_offset - 1))

    with bytes_progress("repairing", bytes_to_inspect(fs, directory)) as advance:
        result = write_copy(fs, directory, copy, check=check, progress=advance)
    if json:
        _print_repaired(result, proofs[0])
    else:
        _print_repair(copy, result, proofs[0])
    return DONE if result.is_complete else FOUND


def _print_repaired(result: "RepairResult", proof: "Proof") -> None:
    from api.documents.care import Repaired
    from api.documents.logs import Known

    place = Known(
        as_of=result.end_offset - 1,
        history_start=result.history_start,
        log_end=result.end_offset,
        not_understood=proof.not_understood,
    )
    print_json(place, Repaired.of(result, proof))


def _print_repair(copy: Path, result: "RepairResult", proof: "Proof") -> None:
    print_line(f"{copy}: offsets {result.history_start} to {result.end_offset - 1}")
    print_line(f"  {digest_text(proof)} by replay")
    for unreadable in result.unreadable:
        size = bytes_size_text(unreadable.end_byte - unreadable.byte)
        print_line(
            f"  the disk does not give: {unreadable.file} byte {unreadable.byte}, {size}: "
            f"{unreadable.why}"
        )
    for line in result.rebuilt:
        print_line(f"  mended: {line}")
    for lost in result.lost:
        size = bytes_size_text(lost.end_byte - lost.byte)
        offset = "" if lost.from_offset is None else f" from offset {lost.from_offset}"
        print_line(f"  left out: {lost.file} byte {lost.byte}, {size}{offset}: {lost.why}")
    if result.lost_offsets:
        first, last = result.end_offset, result.proven_end - 1
        print_line(f"LOST: {result.lost_offsets:,} acknowledged offsets, {first} to {last}")
    elif not result.is_complete:
        print_line(
            "PERHAPS LOST: the commit mark is gone, so what was left out may have been acknowledged"
        )
    else:
        print_line("nothing that was acknowledged is lost")
