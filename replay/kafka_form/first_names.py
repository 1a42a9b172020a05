"""First names: the names in Kafka's form of topics that were moved, which a state does not have.

Kafka's form calls a topic by the name that it was created with. The header of a base has this name
for each topic of the base that now has another, so that the form stays the same after a cut.
"""

from collections import deque

import msgspec

from metadata_log.format.manifest import Kind
from metadata_log.format.needles import Needles
from metadata_log.reader.log_reader import LogReader
from records.errors import RequestError
from records.text import uuid_text
from records.topics import MoveTopicRecord
from replay.kafka_form.base import form_base
from replay.kafka_form.mapping import KafkaForm
from replay.kafka_form.names import Names

TEXT_BYTES_MAX = 512 * 1024
"""Maximum size of the names in a base's header, of which a reader takes 1 MiB."""


def first_names_at(reader: LogReader, end_offset: int) -> str:
    """Return the first names at an offset, as the header of a base there has them.

    Reads a log with moved topics from its start; O(log) time, O(topics) space.

    Args:
        end_offset: Exclusive; no transaction may be open there.

    Raises:
        RequestError: POLICY_VIOLATION, too many topics were moved for a header.
        CorruptLogError: the log is damaged.
    """
    if reader.kind is Kind.MIRROR or not _has_moves(reader, end_offset):
        return ""
    form = KafkaForm(Names() if reader.base is None else form_base(reader.base).names)
    for batch in reader.batches(reader.start_offset, end_offset):
        rows = [row for row in batch.rows if row.offset < end_offset]
        deque(form.mapped(rows), maxlen=0)
    text = _text_of(form.names)
    if len(text) > TEXT_BYTES_MAX:
        raise RequestError(
            "POLICY_VIOLATION",
            f"the first names of {len(form.names.held)} moved topics have {len(text)} bytes, but a "
            f"base holds {TEXT_BYTES_MAX}; keep the history from before they were moved",
        )
    return text


def _has_moves(reader: LogReader, end_offset: int) -> bool:
    if reader.base is not None and reader.base.header.first_names:
        return True
    needles = Needles()
    needles.add_type(MoveTopicRecord)
    found = reader.skim(needles, end_offset)
    return any(isinstance(row.payload, MoveTopicRecord) for batch in found for row in batch.rows)


def _text_of(names: Names) -> str:
    first = {uuid_text(topic_id): name for name, topic_id in names.held.items()}
    return msgspec.json.encode(first, order="sorted").decode() if first else ""
