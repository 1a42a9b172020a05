"""A log whose requests are carried out by others, and who asked for each record that does so."""

import msgspec

from metadata_log.format.batch import Batch
from records.base import Record
from records.control import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord
from records.envelope import Origin
from records.partitions import (
    CancelDeleteTopicPartitionsRecord,
    DeleteTopicPartitionsRecord,
    RemovePartitionsRecord,
    ReplicaDeletionRecord,
)
from records.topics import RemoveTopicRecord
from replay.image.partitions import NONE, READ_ONLY, READ_WRITE
from tests.replay.builders import batches, change, partition, topic, uid

_STARTED, _SUCCESSFUL, _GONE = 4, 5, 7


def shrink(name: str, *numbers: int) -> Record:
    """Return the record that begins the removal of partitions."""
    return DeleteTopicPartitionsRecord(
        topic_id=uid(name), partition_ids=numbers, delay_ms=60_000, create_time_ms=0
    )


def removal(name: str, *numbers: int) -> Record:
    """Return the record that removes partitions."""
    return RemovePartitionsRecord(topic_id=uid(name), partition_ids=numbers)


def deletion(name: str, number: int, state: int) -> Record:
    """Return a record about the deletion of a partition's replica on broker 1."""
    return ReplicaDeletionRecord(topic_id=uid(name), partition_id=number, broker_id=1, state=state)


_CANCEL = CancelDeleteTopicPartitionsRecord(topic_id=uid("orders"), partition_ids=(2,))

# Who writes a batch, its records, and by record who asked for it, if another record did.
_WRITTEN: tuple[tuple[str, tuple[Record, ...], tuple[str | None, ...]], ...] = (
    ("ada", (topic("orders"), *(partition("orders", n) for n in range(3))), (None,) * 4),
    ("ada", (topic("sales"), *(partition("sales", n) for n in range(2))), (None,) * 3),
    # A reassignment, and what happens meanwhile.
    (
        "ana",
        (change("orders", 0, replicas=(1, 2, 3, 4), adding_replicas=(4,), removing_replicas=(3,)),),
        (None,),
    ),
    ("broker-1", (change("orders", 0, isr=(1, 2, 3, 4)),), (None,)),
    (
        "broker-1",
        (
            change(
                "orders",
                0,
                replicas=(1, 2, 4),
                isr=(1, 2, 4),
                adding_replicas=(),
                removing_replicas=(),
            ),
        ),
        ("ana",),
    ),
    # One that is replaced by another, which is cancelled.
    (
        "ben",
        (change("orders", 0, replicas=(1, 2, 4, 5), adding_replicas=(5,), removing_replicas=(4,)),),
        (None,),
    ),
    ("cid", (change("orders", 0, adding_replicas=(5,), removing_replicas=(2, 4)),), (None,)),
    (
        "cam",
        (change("orders", 0, replicas=(1, 2, 4), adding_replicas=(), removing_replicas=()),),
        (None,),
    ),
    # One that only drops a replica.
    ("dan", (change("orders", 0, removing_replicas=(4,)),), (None,)),
    ("broker-2", (change("orders", 0, replicas=(1, 2), removing_replicas=()),), ("dan",)),
    # A removal that is cancelled, and one that is not.
    ("eve", (shrink("orders", 2), change("orders", 2, mode=READ_ONLY)), (None, "eve")),
    ("broker-1", (change("orders", 2, leader=2),), (None,)),
    ("fay", (_CANCEL, change("orders", 2, mode=READ_WRITE)), (None, None)),
    ("eve", (shrink("orders", 2), change("orders", 2, mode=READ_ONLY)), (None, "eve")),
    ("gus", (shrink("orders", 1),), (None,)),
    (
        "controller",
        (
            change("orders", 2, mode=NONE),
            change("orders", 1, mode=NONE),
            deletion("orders", 2, _STARTED),
            deletion("orders", 1, _STARTED),
        ),
        ("eve", "gus", "eve", "gus"),
    ),
    ("broker-1", (deletion("orders", 2, _SUCCESSFUL),), ("eve",)),
    (
        "broker-1",
        (deletion("orders", 2, _GONE), deletion("orders", 1, _GONE), removal("orders", 1, 2)),
        ("eve", "gus", "eve gus"),
    ),
    # A topic that is deleted while partitions are removed.
    ("eve", (shrink("sales", 1), deletion("sales", 1, _STARTED)), (None, "eve")),
    ("hal", (RemoveTopicRecord(topic_id=uid("sales")),), (None,)),
    ("broker-1", (deletion("sales", 1, _GONE),), ("hal",)),
    # Transactions: what is aborted asks for nothing.
    ("ada", (partition("orders", 1),), (None,)),
    ("ivy", (BeginTransactionRecord(), shrink("orders", 1), AbortTransactionRecord()), (None,) * 3),
    ("ada", (change("orders", 1, mode=READ_ONLY),), (None,)),
    ("joe", (BeginTransactionRecord(), shrink("orders", 1), EndTransactionRecord()), (None,) * 3),
    ("controller", (change("orders", 1, mode=NONE),), ("joe",)),
)


def asked_log() -> list[Batch]:
    """Return the log."""
    made = batches(*(records for _, records, _ in _WRITTEN))
    return [_by(who, each) for (who, _, _), each in zip(_WRITTEN, made, strict=True)]


def who_asked() -> dict[int, str]:
    """Return who asked for the records that carry out another's request, by their offsets.

    A record that carries out several requests has the names of all who asked, by partition.
    """
    asked = [each for _, _, of_batch in _WRITTEN for each in of_batch]
    return {offset: who for offset, who in enumerate(asked) if who is not None}


def _by(who: str, made: Batch) -> Batch:
    origin = Origin(principal=f"User:{who}", command="topics alter", reason=f"{who} said so")
    return Batch.of([msgspec.structs.replace(row, origin=origin) for row in made.rows])
