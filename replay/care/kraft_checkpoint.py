"""Exports an image as a checkpoint that Kafka can load."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from metadata_log.kraft.checkpoint_writer import write_checkpoint
from metadata_log.kraft.new_directory import new_directory
from metadata_log.kraft_format.names import checkpoint_name
from records.errors import RequestError
from replay.care.kraft_records import LeftOut, kafka_records
from replay.image.metadata import MetadataImage
from replay.kafka_form.base import VersionOf

_NAMED_MAX = 10


class CheckpointExport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an export: the file, its end offset (exclusive), and the objects left out."""

    file: str
    end_offset: int
    leader_epoch: int
    records: int
    left_out: Sequence[LeftOut]


def export_checkpoint(
    image: MetadataImage,
    cluster_id: str,
    target: Path,
    version_of: VersionOf,
    *,
    lossy: bool = False,
) -> CheckpointExport:
    """Write a new node directory whose log is one checkpoint with the image.

    Args:
        image: Records of an open transaction are not exported.
        version_of: Returns the layout version of each record.
        lossy: Leave out objects and fields that Kafka does not support, instead of raising
            RequestError.

    Raises:
        RequestError: `target` exists; the image is empty or ends inside a batch; or, if `lossy` is
            not set, the image contains something that Kafka or this release does not support.
    """
    where = image.provenance
    if where.next_offset == 0:
        raise RequestError(
            "INVALID_REQUEST",
            "the state before offset 0 is empty; export the state at a later offset",
        )
    if where.mid_batch:
        raise RequestError(
            "INVALID_REQUEST",
            f"offset {where.offset} is inside a batch, where Kafka makes no checkpoint; "
            "`metalog dump` shows where batches end",
        )
    found = kafka_records(image, version_of)
    left_out = [*found.left_out, *_not_understood(image)]
    if not lossy:
        _check_nothing_lost(left_out)
    name = checkpoint_name(where.next_offset, where.leader_epoch)
    with new_directory(target, cluster_id) as partition:
        write_checkpoint(
            partition / name,
            found.data,
            leader_epoch=where.leader_epoch,
            timestamp=where.timestamp,
            control=found.control,
        )
    return CheckpointExport(
        file=name,
        end_offset=where.next_offset,
        leader_epoch=where.leader_epoch,
        records=len(found.data),
        left_out=left_out,
    )


def _not_understood(image: MetadataImage) -> list[LeftOut]:
    missed = image.provenance.not_understood
    if missed is None:
        return []
    since = "" if missed.first_offset is None else f" since offset {missed.first_offset}"
    return [LeftOut(object="records", reason=f"{missed.records} were not understood{since}")]


def _check_nothing_lost(left_out: Sequence[LeftOut]) -> None:
    lost = [f"{each.object} ({each.reason})" for each in left_out if each.matters]
    if not lost:
        return
    named = ", ".join(lost[:_NAMED_MAX])
    more = f" and {len(lost) - _NAMED_MAX} more" if len(lost) > _NAMED_MAX else ""
    raise RequestError(
        "INVALID_REQUEST",
        f"Kafka has no records for {named}{more}; --lossy leaves them out and lists them",
    )
