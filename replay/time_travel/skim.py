"""Skim, then read: finds the rows that affect one topic without decoding the other blocks.

A record that changes a topic or its partitions has the topic's id, with few exceptions:
ClearElrRecord (by name, or all topics) and transaction markers. Blocks are searched for these, for
the requested name and for the topic's namespace, and only matching ones are decoded. The rows found
are a history of their own: replayed alone, they lead to the same topic.

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

_TYPES = (BeginTransactionRecord, ClearElrRecord)


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
        # Topics and namespaces whose records are searched for.
        self._ids: set[Uuid] = set()
        # Those of them whose earlier records may have been skipped.
        self._missed: set[Uuid] = set()
        # Last parts of the names that the topics had.
        self._names: set[str] = set()
        # The last part of the requested name; any topic with it may be the one.
        self._asked: str | None = None
        if topic.startswith("@"):
            self._add_id(parse_uuid(topic[1:]))
        else:
            namespace, _, self._asked = unescaped(topic).rpartition(NAMESPACE_SEPARATOR)
            for name in filter(None, (namespace, self._asked)):
                self.needles.add(name.encode("utf-8", "surrogatepass"))

    def add_missed(self) -> bool:
        """Search for what was found too late as well; True if there is any, then read again."""
        missed, self._missed = self._missed, set()
        for found in missed:
            self._add_id(found)
        return bool(missed)

    def takes(self, row: Envelope) -> bool:
        """True if a row can affect the topics. Call it with rows of decoded blocks, in order."""
        match row.payload:
            case TopicRecord(topic_id=topic_id, name=name, namespace_id=namespace_id):
                if name == self._asked:
                    self._add_id(topic_id)
                if topic_id in self._ids:
                    self._names.add(name)
                    self._need(namespace_id)
            case MoveTopicRecord(topic_id=topic_id, name=name, namespace_id=namespace_id):
                if name == self._asked:
                    self._need(topic_id)
                if topic_id in self._ids:
                    self._names.add(name)
                    self._need(namespace_id)
            case NamespaceRecord(namespace_id=namespace_id):
                # Its removal must be found, too: the name may be taken again.
                self._add_id(namespace_id)
                return True
            case RemoveNamespaceRecord(namespace_id=namespace_id):
                return namespace_id in self._ids
            case ClearElrRecord(topic_name=name):
                return not name or name in self._names
        return getattr(row.payload, "topic_id", None) in self._ids

    def _need(self, found: Uuid | None) -> None:
        if found is not None and found not in self._ids:
            self._missed.add(found)

    def _add_id(self, found: Uuid) -> None:
        self._ids.add(found)
        self.needles.add(found)
