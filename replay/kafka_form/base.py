"""The base of a log in Kafka's form: the records of a checkpoint, and the names at its end."""

from collections.abc import Callable, Iterator
from itertools import chain

import msgspec
from immutables import Map

from metadata_log.format.checkpoint import Checkpoint
from records.base import Record, Uuid
from records.configs import FeatureLevelRecord
from records.errors import CorruptLogError, RequestError
from records.kafka import codec
from records.metadata_versions import METADATA_VERSION
from records.registry import is_control, newest_version
from records.text import parse_uuid
from records.topics import NamespaceRecord
from replay.kafka_form.mapping import NO_OP, KafkaForm
from replay.kafka_form.names import Names

VersionOf = Callable[[Record, int], int]
"""Returns the layout version in which Kafka writes a record at a metadata.version."""

METADATA_VERSION_OLDEST = 1


class FormBase(msgspec.Struct, frozen=True, kw_only=True):
    """A base checkpoint, read once so that it can be written in Kafka's form.

    Attributes:
        control: Control records of the checkpoint, which are written next to its header.
        names: The names at the end of the base.
    """

    checkpoint: Checkpoint
    control: tuple[Record, ...]
    names: Names
    metadata_version: int

    def records(self, version_of: VersionOf) -> Iterator[tuple[Record, int]]:
        """Yield the data records, each with its layout version.

        Raises:
            CorruptLogError: the base is damaged.
        """
        form = KafkaForm(_names_before(self.checkpoint))
        for row in chain.from_iterable(map(form.mapped, self.checkpoint.rows())):
            record = row.payload
            if record is NO_OP or is_control(record):
                continue
            of_level = version_of(record, self.metadata_version)
            yield record, fitting_version(record, of_level, row.record_version)


def form_base(checkpoint: Checkpoint) -> FormBase:
    """Read a base checkpoint for writing in Kafka's form.

    Raises:
        CorruptLogError: the base is damaged.
    """
    form = KafkaForm(_names_before(checkpoint))
    control: list[Record] = []
    level = METADATA_VERSION_OLDEST
    for row in chain.from_iterable(map(form.mapped, checkpoint.rows())):
        if is_control(row.payload):
            control.append(row.payload)
        elif isinstance(row.payload, FeatureLevelRecord) and row.payload.name == METADATA_VERSION:
            level = row.payload.feature_level
    return FormBase(
        checkpoint=checkpoint,
        control=tuple(control),
        names=form.names,
        metadata_version=level,
    )


def fitting_version(record: Record, *versions: int) -> int:
    """Return the first of some layout versions that can encode a record.

    If none of them can, returns the newest version of the record's type; if that one cannot encode
    the record either, the first of the given versions.
    """
    for version in (*versions, newest_version(type(record))):
        try:
            codec.encode_value(record, version)
        except RequestError:
            continue
        return version
    return versions[0]


def _names_before(checkpoint: Checkpoint) -> Names:
    """Return the names that are needed to read a base: its namespaces, which it lists after its
    topics, and its topics' first names.
    """
    names = Names(first=_first_names(checkpoint))
    for row in chain.from_iterable(checkpoint.rows()):
        if isinstance(row.payload, NamespaceRecord):
            names = names.with_namespace(row.payload)
    return names


def _first_names(checkpoint: Checkpoint) -> Map[Uuid, str]:
    """Return the first names in a base's header; earlier releases wrote none."""
    text = checkpoint.header.first_names
    if not text:
        return Map()
    try:
        found = msgspec.json.decode(text, type=dict[str, str])
        return Map({parse_uuid(topic_id): name for topic_id, name in found.items()})
    except (msgspec.DecodeError, ValueError) as error:
        raise CorruptLogError(
            f"{checkpoint.path} byte 0: the header's first names cannot be read: {error}"
        ) from error
