"""Skims a log for the records of the topics or partitions whose names match a pattern.

In one pass, topics are found by the longest part of the pattern without wildcards, and their
records by the topic ids. The whole log must be read for other kinds of objects, for a topic given
as `@ID`, for patterns that match many topics, and if there are namespaces, because a topic's record
does not contain the name of its namespace.
"""

import re
from collections.abc import Callable, Iterator

from metadata_log.format.needles import Needles
from records.base import Uuid
from records.control import BeginTransactionRecord
from records.envelope import Envelope
from records.partitions import ClearElrRecord
from records.topics import MoveTopicRecord, NamespaceRecord, TopicRecord
from replay.image.metadata import MetadataImage
from replay.loader import BatchSource
from replay.name_patterns import is_pattern, name_matcher
from replay.time_travel.labels import escaped
from replay.time_travel.objects import ObjectName, names_by_id
from replay.time_travel.skim import SkimmableSource, effective_batches

Shown = Callable[[str, str], str]
"""Returns the name of an object as it is matched and shown, from its kind and label."""

TOPICS_MAX = 50
"""Searching a block for more topic ids than this takes as long as decoding the block."""


_LITERAL_MIN = 3


class Missed(Exception):
    """Raised if skipped records turn out to be needed; the whole log must then be read."""


def matching_rows(
    source: BatchSource,
    pattern: ObjectName,
    shown: Shown,
    start: MetadataImage,
    from_offset: int,
    to_offset: int,
) -> Iterator[Envelope] | None:
    """Return the rows in [from_offset, to_offset) that take effect on matching objects.

    Args:
        start: The image before `from_offset`.

    Returns:
        None if the log cannot be skimmed for this pattern. While iterating, Missed or an error
        about the log is raised if rows turn out to be missing; the rows yielded before are correct.
    """
    if not isinstance(source, SkimmableSource) or pattern.kind.name not in ("topic", "partition"):
        return None
    if next(start.namespaces(), None) is not None or names_by_id(pattern.object):
        return None
    search = _Search(pattern, shown, start)
    return None if search.is_wide else search.rows(source, from_offset, to_offset)


class _Search:
    """The matching topics, and the byte strings by which their records are found."""

    def __init__(self, pattern: ObjectName, shown: Shown, start: MetadataImage) -> None:
        self._may_match = _topic_matcher(pattern, shown)
        self._needles = Needles()
        for each in (BeginTransactionRecord, ClearElrRecord, NamespaceRecord, MoveTopicRecord):
            self._needles.add_type(each)
        literal = _longest_literal(pattern)
        if len(literal) < _LITERAL_MIN:
            self._needles.add_type(TopicRecord)
        else:
            self._needles.add(literal.encode("utf-8", "surrogatepass"))
        self._ids: set[Uuid] = set()
        for topic in start.topics():
            if self._may_match(escaped(topic.name)):
                self._add(topic.topic_id)

    @property
    def is_wide(self) -> bool:
        """True if more than TOPICS_MAX topics match, so that skimming saves no time."""
        return len(self._ids) > TOPICS_MAX

    def rows(self, source: SkimmableSource, from_offset: int, to_offset: int) -> Iterator[Envelope]:
        """Yield the rows, in the order in which they take effect."""
        for _, rows in effective_batches(source, from_offset, to_offset, self._needles):
            yield from filter(self._takes, rows)

    def _takes(self, row: Envelope) -> bool:
        record = row.payload
        if isinstance(record, NamespaceRecord):
            raise Missed
        if (
            isinstance(record, TopicRecord | MoveTopicRecord)
            and record.topic_id not in self._ids
            and self._may_match(escaped(record.name))
        ):
            self._add(record.topic_id)
            if self.is_wide or isinstance(record, MoveTopicRecord):
                raise Missed
        # Without a name it concerns all topics.
        return isinstance(record, ClearElrRecord) or getattr(record, "topic_id", None) in self._ids

    def _add(self, topic_id: Uuid) -> None:
        self._ids.add(topic_id)
        self._needles.add_id(topic_id)


def _longest_literal(pattern: ObjectName) -> str:
    """Return the longest text that occurs in the name of every matching topic."""
    text = pattern.object.partition(":")[2]
    if pattern.kind.name == "partition" and "/" in text:
        text = text.rpartition("/")[0]
    # An escape stands for another character, and digits may be a partition's number.
    return max(re.split(r"[*?]|%..|\b[0-9]+\b", text), key=len)


def _topic_matcher(pattern: ObjectName, shown: Shown) -> Callable[[str], bool]:
    """Return a function that checks a topic's label.

    The function returns False only if neither the topic nor an object of the topic can match.
    """
    kind, text = pattern.kind.name, pattern.object.partition(":")[2]
    if kind == "topic":
        matches = name_matcher(pattern.object, ())
        return lambda label: matches(f"topic:{shown('topic', label)}")
    topic, slash, number = text.rpartition("/")
    if slash and "*" not in number:
        return name_matcher(topic, ()) if is_pattern(topic) else topic.__eq__
    literal = text.partition("*")[0].partition("?")[0]
    return lambda label: label.startswith(literal) or literal.startswith(label)
