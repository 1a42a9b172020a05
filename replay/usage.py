"""Space usage: records and bytes by type, topic, cause, principal and kind of file.

The stored bytes of a block are divided among its records in proportion to their uncompressed size,
so the shares of all records add up to the size of all blocks. The size of an image is that of the
records that recreate it (`image_records`), encoded but not compressed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import UNSET, UnsetType, structs

from metadata_log.files.names import file_kind
from metadata_log.reader.log_reader import LogReader
from records.avro.codec import encode_rows, payload_size
from records.base import Record, Uuid
from records.configs import ConfigRecord
from records.envelope import Envelope, Origin
from records.partitions import ClearElrRecord
from records.text import uuid_text
from records.topics import MoveTopicRecord, NamespaceRecord, TopicRecord
from replay.image.configs import TOPIC
from replay.image.metadata import NAMESPACE_SEPARATOR, MetadataImage
from replay.image.records import image_records
from replay.not_understood import kind_text, kinds_of, unknown_kinds

WAYS = ("type", "topic", "cause", "principal", "unknown", "file")

UNKNOWN = "unknown"
"""The cause or principal of records that name none, such as all records imported from Kafka."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Space used by one type, topic, cause, principal or kind of file.

    Attributes:
        by: The grouping, one of `WAYS`.
        name: A record type, a topic's last full name (topics with the same last name count
            together; `@` and the id if the name is not known), a command or event, a principal, or
            a kind of file.
        objects: Number of records that recreate this part of the image, or number of files of this
            kind; None for a cause or a principal.
        records: Number of records in the log, base checkpoint included; None for files.
        bytes_log: The records' share of the stored bytes; for files, their current size.
        bytes_image: Size of the image's records; None for a cause, a principal or files.
        first_offset: Only for records not understood (`unknown`): offset of the first such record
            that took effect; None if there is none, or if it is before the kept history.
    """

    by: str
    name: str
    objects: int | None
    records: int | None
    bytes_log: int
    bytes_image: int | None
    first_offset: int | UnsetType | None = UNSET


class _Tally:
    """Records and bytes by name."""

    def __init__(self) -> None:
        self.records: Counter[str | Uuid] = Counter()
        self.size: Counter[str | Uuid] = Counter()

    def add(self, key: str | Uuid, size: int) -> None:
        self.records[key] += 1
        self.size[key] += size


class _TopicNames:
    """Names of topics, including removed ones."""

    def __init__(self) -> None:
        self._namespaces: dict[Uuid, str] = {}
        self._topics: dict[Uuid, tuple[Uuid | None, str]] = {}

    def learn(self, record: Record) -> None:
        match record:
            case TopicRecord(topic_id=topic_id) | MoveTopicRecord(topic_id=topic_id):
                self._topics[topic_id] = (record.namespace_id, record.name)
            case NamespaceRecord():
                self._namespaces[record.namespace_id] = record.name

    def name(self, key: str | Uuid) -> str:
        if isinstance(key, str):
            return key
        if key not in self._topics:
            return f"@{uuid_text(key)}"
        namespace_id, name = self._topics[key]
        if namespace_id is None:
            return name
        namespace = self._namespaces.get(namespace_id, f"@{uuid_text(namespace_id)}")
        return f"{namespace}{NAMESPACE_SEPARATOR}{name}"


def usage(
    reader: LogReader,
    image: MetadataImage,
    at: int,
    progress: Callable[[int], None] = lambda end_offset: None,
) -> list[Usage]:
    """Return the space usage of a log up to offset `at`, largest first within each `by`.

    Args:
        image: The image as of `at`.
        progress: Called with the end offset of each batch as it is read.

    Raises:
        CorruptLogError: the log is damaged.
    """
    names, logged = _TopicNames(), defaultdict[str, _Tally](_Tally)
    for row, size in _sized_rows(reader, at, progress):
        names.learn(row.payload)
        for by, key in _keys(row.payload, row.origin):
            logged[by].add(key, size)
        for kind in dict.fromkeys(kinds_of(row, reader.tables)):
            logged["unknown"].add(kind_text(*kind), size)
    made = defaultdict[str, _Tally](_Tally)
    for record, _ in image_records(image):
        size = payload_size(record)
        for by, key in _image_keys(record):
            made[by].add(key, size)
    found = [
        usage for by in WAYS[:-1] for usage in _usages(by, logged[by], made.get(by), names.name)
    ]
    if logged["unknown"].records:
        since = {kind.text: kind.first_offset for kind in unknown_kinds(reader, at)}
        found = [
            structs.replace(each, first_offset=since.get(each.name))
            if each.by == "unknown"
            else each
            for each in found
        ]
    return sorted((*found, *_files(reader)), key=_order)


def _order(usage: Usage) -> tuple[int, int, int, str]:
    return WAYS.index(usage.by), -usage.bytes_log, -(usage.bytes_image or 0), usage.name


def _files(reader: LogReader) -> Iterator[Usage]:
    tally = _Tally()
    for name, size in reader.file_sizes().items():
        tally.add(file_kind(name), size)
    for kind, files in tally.records.items():
        yield Usage(
            by="file",
            name=str(kind),
            objects=files,
            records=None,
            bytes_log=tally.size[kind],
            bytes_image=None,
        )


def _sized_rows(
    reader: LogReader, at: int, progress: Callable[[int], None]
) -> Iterator[tuple[Envelope, int]]:
    """Yield the rows of the base, and of the log up to `at`, each with its stored size."""
    if reader.base is not None:
        for stored, rows in reader.base.sized_rows():
            yield from _shares(rows, stored)
    for place, block in reader.placed_blocks(reader.start_offset):
        if block.base_offset > at:
            return
        for row, size in _shares(block.rows, place.end_position - place.position):
            if row.offset <= at:
                yield row, size
        progress(block.end_offset)


def _shares(rows: tuple[Envelope, ...], stored: int) -> Iterator[tuple[Envelope, int]]:
    """Yield each row with its share of the stored bytes; the shares add up to `stored`."""
    if len(rows) == 1:
        yield rows[0], stored
        return
    sizes = [len(encode_rows((row,))) for row in rows]
    total, before, seen = sum(sizes), 0, 0
    for row, size in zip(rows, sizes, strict=True):
        seen += size
        until = stored * seen // total
        yield row, until - before
        before = until


def _keys(record: Record, origin: Origin | None) -> Iterator[tuple[str, str | Uuid]]:
    yield from _image_keys(record)
    yield "cause", (origin.command if origin else None) or UNKNOWN
    yield "principal", (origin.principal if origin else None) or UNKNOWN


def _image_keys(record: Record) -> Iterator[tuple[str, str | Uuid]]:
    yield "type", type(record).__name__
    topic = _topic_of(record)
    if topic:
        yield "topic", topic


def _topic_of(record: Record) -> str | Uuid | None:
    """Return the topic of a record: its id, else its name; None if the record has neither."""
    match record:
        case ConfigRecord(resource_type=resource_type, resource_name=name):
            return name if resource_type == TOPIC else None
        case ClearElrRecord(topic_name=name):
            return name
    topic_id: Uuid | None = getattr(record, "topic_id", None)
    return topic_id


def _usages(
    by: str, logged: _Tally, made: _Tally | None, name_of: Callable[[str | Uuid], str]
) -> list[Usage]:
    return [
        Usage(
            by=by,
            name=name,
            objects=None if made is None else sum(made.records[key] for key in keys),
            records=sum(logged.records[key] for key in keys),
            bytes_log=sum(logged.size[key] for key in keys),
            bytes_image=None if made is None else sum(made.size[key] for key in keys),
        )
        for name, keys in _by_name(logged, made, name_of).items()
    ]


def _by_name(
    logged: _Tally, made: _Tally | None, name_of: Callable[[str | Uuid], str]
) -> dict[str, list[str | Uuid]]:
    keys: Iterable[str | Uuid] = dict.fromkeys((*logged.records, *(made.records if made else ())))
    names = defaultdict[str, list[str | Uuid]](list)
    for key in keys:
        names[name_of(key)].append(key)
    return names
