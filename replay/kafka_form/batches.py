"""Encodes rows in Kafka's form as record batches: one for each block of the log.

A block gives several batches only where Kafka would not write one: a batch of Kafka never mixes
control and data records, and has at most 8 MiB. A NoOpRunRecord gives batches of at most 10,000
NoOps.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

import msgspec

from metadata_log.kraft_format.batch import LENGTH_END, LENGTH_MAX
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.limits import BATCH_RECORDS_MAX
from records.control import NoOpRunRecord
from records.envelope import Envelope
from records.errors import RequestError
from records.kafka import codec
from records.registry import is_control, newest_version
from replay.kafka_form.mapping import NO_OP, NO_OP_VERSION


class FormBatch(msgspec.Struct, frozen=True, gc=False):
    """A record batch of Kafka's form. `end_offset` is exclusive."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    content: bytes


def encoded_batches(rows: Iterable[Envelope]) -> Iterator[FormBatch]:
    """Yield the batches of a block's rows, which were mapped by `KafkaForm`.

    Raises:
        RequestError: a value does not fit Kafka's field; names the offset.
    """
    for _, run in groupby(_without_runs(rows), lambda row: is_control(row.payload)):
        while some := list(islice(run, BATCH_RECORDS_MAX)):
            yield from _encoded(some)


def _without_runs(rows: Iterable[Envelope]) -> Iterator[Envelope]:
    for row in rows:
        if not isinstance(row.payload, NoOpRunRecord):
            yield row
            continue
        for offset in range(row.offset, row.offset + row.payload.count):
            yield msgspec.structs.replace(
                row, offset=offset, payload=NO_OP, record_version=NO_OP_VERSION, extra=None
            )


def _encoded(rows: Sequence[Envelope]) -> Iterator[FormBatch]:
    content = _encode(rows)
    if len(content) > LENGTH_END + LENGTH_MAX and len(rows) > 1:
        half = len(rows) // 2
        yield from _encoded(rows[:half])
        yield from _encoded(rows[half:])
        return
    yield FormBatch(rows[0].offset, rows[-1].offset + 1, rows[0].leader_epoch, content)


def _encode(rows: Sequence[Envelope]) -> bytes:
    try:
        return encode_batch(rows)
    except RequestError:
        # A record that was appended raw may have a field that its version lacks.
        return encode_batch([_in_fitting_version(row) for row in rows])


def _in_fitting_version(row: Envelope) -> Envelope:
    if is_control(row.payload):
        return row
    try:
        codec.encode_value(row.payload, row.record_version)
    except RequestError:
        return msgspec.structs.replace(row, record_version=newest_version(type(row.payload)))
    return row
