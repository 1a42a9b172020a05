"""Skim, then read: finds the rows that affect one topic without decoding the other blocks.

A record that changes a topic or its partitions has the topic's id, with few exceptions: namespaces
(the topic's full name), ClearElrRecord (by name, or all topics), and transaction markers. Blocks
are searched for these, and only matching ones are decoded. The rows found are a history of their
own: replayed alone, they lead to the same topic.

A record that contradicts the state of another topic goes unnoticed, as it does with a snapshot.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, runtime_checkable

from metadata_log.batch import Batch
from metadata_log.needles import Needles
from records.base import Uuid
from records.control import BeginTransactionRecord
from records.envelope import Envelope
from records.errors import CorruptLogError
from records.partitions import ClearElrRecord
from records.text import parse_uuid
from records.topics import MoveTopicRecord, NamespaceRecord, RemoveNamespaceRecord, TopicRecord
from replay.image.metadata import NAMESPACE_SEPARATOR
from replay.loader import BatchSource
from replay.time_travel.escapes import unescaped
from replay.time_travel.objects import ObjectName
from replay.transactions import Transactions, rows_within

# How many numbers follow the topic in an object's name.
_NUMBERS = {"topic": 0, "partition": 1, "removal": 1}

_TYPES = (BeginTransactionRecord, ClearElrRecord, NamespaceRecord, RemoveNamespaceRecord)


@runtime_checkable
class SkimmableSource(BatchSource, Protocol):
    """A log whose blocks can be searched without decoding them."""

    def skim(self, needles: Needles, to_offset: int | None = None) -> Iterator[Batch]:
        """Yield the batches below `to_offset` that hold a needle, and possibly others."""


def reaching_rows(
    source: BatchSource,
    name: ObjectName,
    end: int,
    progress: Callable[[int], None] | None = None,
) -> tuple[list[Envelope], list[Envelope]] | None:
    """Return the rows below offset `end` that can affect an object, in the order they take effect.

    Returns:
        Rows of the base state, and rows of the log that take effect; None if the log cannot be
        skimmed for such an object, and must be read completely.
    """
    topic = _topic_in(name)
    if topic is None or not isinstance(source, SkimmableSource):
        return None
    try:
        reach = _Reach(topic)
        while True:
            found = _rows_of(source, reach, end, progress)
            if not reach.add_missed():
                return found
    except (CorruptLogError, ValueError):
        # Reading the whole log raises the same error as other commands.
        return None


def _topic_in(name: ObjectName) -> str | None:
    """Return the topic in an object's name, None for other kinds."""
    numbers = _NUMBERS.get(name.kind.name)
    if numbers is None:
        return None
    return name.name.rsplit("/", numbers)[0] if numbers else name.name


def _rows_of(
    source: SkimmableSource,
    reach: "_Reach",
    end: int,
    progress: Callable[[int], None] | None,
) -> tuple[list[Envelope], list[Envelope]]:
    base = [] if source.base is None else _flat(source.base.rows())
    before = [row for row in base if reach.takes(row)]
    after: list[Envelope] = []
    transactions = Transactions()
    for batch in source.skim(reach.needles, end):
        rows = rows_within(batch, source.history_start, end)
        after += [row for row in transactions.effective(rows) if reach.takes(row)]
        reach.needles.everything = transactions.begin_offset is not None
        if progress is not None:
            progress(batch.end_offset)
    reach.needles.everything = False
    return before, after


def _flat(batches: Iterable[tuple[Envelope, ...]]) -> list[Envelope]:
    return [row for rows in batches for row in rows]


class _Reach:
    """The topics that a name may mean, and the needles to find them.

    Attributes:
        needles: Byte strings to search for.
    """

    def __init__(self, topic: str) -> None:
        """Start with a topic from an object's name: its full name, or `@` and its id.

        Raises:
            ValueError: the id is invalid.
        """
        self.needles = Needles()
        for record_type in _TYPES:
            self.needles.add_type(record_type)
        self._ids: set[Uuid] = set()
        # Topics moved to the requested name; their earlier records were skipped.
        self._missed: set[Uuid] = set()
        # Last parts of the topics' earlier names.
        self._names: set[str] = set()
        # The last part of the requested name; any topic with it may be the one.
        self._asked: str | None = None
        if topic.startswith("@"):
            self._add_id(parse_uuid(topic[1:]))
        else:
            self._asked = unescaped(topic).rpartition(NAMESPACE_SEPARATOR)[2]
            self._add_name(self._asked)

    def add_missed(self) -> bool:
        """Add topics found too late; True if there are any, then read again."""
        missed, self._missed = self._missed, set()
        for topic_id in missed:
            self._add_id(topic_id)
        return bool(missed)

    def takes(self, row: Envelope) -> bool:
        """True if a row can affect the topics. Call it with the rows of decoded blocks, in
        order.
        """
        match row.payload:
            case TopicRecord(topic_id=topic_id, name=name):
                if name == self._asked:
                    self._add_id(topic_id)
                elif topic_id in self._ids:
                    self._add_name(name)
            case MoveTopicRecord(topic_id=topic_id, name=name):
                if topic_id in self._ids:
                    self._add_name(name)
                elif name == self._asked:
                    self._missed.add(topic_id)
            case NamespaceRecord() | RemoveNamespaceRecord():
                return True
            case ClearElrRecord(topic_name=name):
                return not name or name in self._names
        return getattr(row.payload, "topic_id", None) in self._ids

    def _add_id(self, topic_id: Uuid) -> None:
        if topic_id not in self._ids:
            self._ids.add(topic_id)
            self.needles.add(topic_id)

    def _add_name(self, name: str) -> None:
        if name not in self._names:
            self._names.add(name)
            self.needles.add(name.encode("utf-8", "surrogatepass"))
