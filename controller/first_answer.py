"""The first answer to a request that was carried out already, made again from its records.

A decision depends on nothing but the state it reads and chance. Taken again on the state before its
records it gives the same answer, except for the ids that it drew; those stand in the records.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

import msgspec

from controller.controller import Decision
from controller.decisions.cluster_index import ClusterIndex
from controller.decisions.context import Context, Settings
from controller.decisions.sessions import Sessions
from controller.parking import Answer
from metadata_log.batch import Batch
from records.base import Record, Uuid
from records.errors import RequestError
from records.topics import NamespaceRecord, TopicRecord
from replay.image.metadata import MetadataImage

T = TypeVar("T")


def first_answer(
    decide: Decision[T], before: MetadataImage, batches: Sequence[Batch], settings: Settings
) -> Answer[T]:
    """Return what the caller was answered, or would have been.

    Args:
        before: The state on which the request was decided.
        batches: What it wrote; one batch, unless the records did not fit one.

    Raises:
        RequestError: DUPLICATE_REQUEST, it was carried out, and cannot be answered again: what the
            controller is started with has changed since.
    """
    context = Context(
        image=before,
        index=ClusterIndex.of(before),
        # Nobody's session stands in the way of what was let in then.
        sessions=Sessions(timeout_ms=settings.session_timeout_ms),
        settings=settings,
        rng=Random(0),
        now_ms=batches[0].timestamp,
        next_offset=batches[0].base_offset,
    )
    written = [row.payload for batch in batches for row in batch.rows]
    try:
        again = decide(context)
    except RequestError as error:
        raise carried_out(batches[0].base_offset, str(error)) from error
    if [_shape(record) for record in again.records] != [_shape(record) for record in written]:
        raise carried_out(batches[0].base_offset, "today it would be decided in another way")
    ids = dict(zip(_ids(again.records), _ids(written), strict=True))
    return Answer(_with_ids(again.response, ids), batches[-1].end_offset)


def carried_out(base_offset: int, why: str) -> RequestError:
    """Return the error of a request that was carried out, and whose first answer is lost."""
    return RequestError(
        "DUPLICATE_REQUEST",
        f"the request was carried out, its records begin at offset {base_offset}; "
        f"its answer cannot be told again: {why}",
    )


def _shape(record: Record) -> tuple[type[Record], int]:
    """Return what of a record chance leaves as it is: it chooses who replicates, not how many."""
    return type(record), len(getattr(record, "replicas", None) or ())


def _ids(records: Sequence[Record]) -> list[Uuid]:
    """Return the ids that records bring into being."""
    ids = []
    for record in records:
        match record:
            case TopicRecord(topic_id=new) | NamespaceRecord(namespace_id=new):
                ids.append(new)
    return ids


def _with_ids(value: Any, ids: dict[Uuid, Uuid]) -> Any:
    """Return a response with other ids in it."""
    match value:
        case bytes():
            # The responses of a transaction's steps are packed, ids and all.
            for again, written in ids.items():
                value = value.replace(again, written)
            return value
        case tuple():
            return tuple([_with_ids(item, ids) for item in value])
        case msgspec.Struct():
            fields = type(value).__struct_fields__
            return type(value)(**{f: _with_ids(getattr(value, f), ids) for f in fields})
    return value
