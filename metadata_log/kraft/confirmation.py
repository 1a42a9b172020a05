"""Confirms all records of a mirror whose cluster no longer exists, and stores the evidence.

In Kafka's directory only checkpoints show what is committed, so the end of a mirror is unconfirmed:
a running cluster may still replace it. A cluster that no longer exists replaces nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from metadata_log.files.fs import Fs, OsFs
from metadata_log.files.json_file import read_json, write_json
from metadata_log.files.names import CONFIRMATIONS
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.writer.mirror_writer import MirrorWriter
from records.errors import RequestError


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """A user's statement that the records of a mirror in a range of offsets are committed.

    Attributes:
        time_ms: When the user confirmed the records, ms since 1970.
        from_offset: The mirror's confirmed end before.
        to_offset: The mirror's confirmed end afterwards, exclusive.
        reason: Why the cluster will not replace the records, in the user's words.
        equal_up_to: For each log of another node that was compared, the offset below which it is
            equal to the mirror. A log that ends earlier proves nothing about later records.
    """

    time_ms: int
    from_offset: int
    to_offset: int
    reason: str
    equal_up_to: Mapping[str, int] = {}


class Confirmations(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `confirmations.json`, oldest first."""

    confirmations: tuple[Confirmation, ...] = ()


def confirm(
    directory: Path,
    reason: str,
    equal_up_to: Mapping[str, int],
    time_ms: int,
    fs: Fs | None = None,
) -> Confirmation:
    """Confirm all records of a mirror, permanently.

    Args:
        equal_up_to: As in `Confirmation`.
        time_ms: The time now, ms since 1970.

    Raises:
        RequestError: INVALID_REQUEST, no reason is given, `directory` is not a mirror, or all is
            confirmed.
        UnavailableError: another process writes the mirror, or the disk is full.
        CorruptLogError: the mirror is damaged.
    """
    fs = fs or OsFs()
    if not reason.strip():
        raise RequestError(
            "INVALID_REQUEST",
            "the reason is missing; say why the cluster will not replace the records",
        )
    if read_manifest(fs, directory).kind is not Kind.MIRROR:
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is not a mirror: all of its records are committed already",
        )
    with MirrorWriter(directory, fs=fs) as mirror:
        if mirror.confirmed_end == mirror.end_offset:
            raise RequestError(
                "INVALID_REQUEST",
                f"{directory}: all records are confirmed, up to {mirror.end_offset} (exclusive)",
            )
        found = Confirmation(
            time_ms=time_ms,
            from_offset=mirror.confirmed_end,
            to_offset=mirror.end_offset,
            reason=reason,
            equal_up_to=equal_up_to,
        )
        # The evidence first: a mark without it would be believed without a reason.
        known = Confirmations(confirmations=(*confirmations(directory, fs), found))
        write_json(fs, directory / CONFIRMATIONS, known)
        mirror.commit(found.to_offset)
    return found


def confirmations(directory: Path, fs: Fs | None = None) -> tuple[Confirmation, ...]:
    """Return the confirmations made by users, oldest first.

    Raises:
        CorruptLogError: the file is damaged.
    """
    path = directory / CONFIRMATIONS
    fs = fs or OsFs()
    if not fs.exists(path):
        return ()
    found = read_json(fs, path, Confirmations, "remove the file: it only has the reasons")
    return found.confirmations


def unconfirmed_text(confirmed_end: int, end_offset: int) -> str:
    """Return a message: why records from `confirmed_end` on are left out, and what to do."""
    return (
        f"Kafka may still replace offsets {confirmed_end} to {end_offset - 1}, because no "
        "checkpoint in its directory confirms them; import again when Kafka has written one, or "
        "confirm the records with `metalog confirm` if the cluster no longer exists"
    )
