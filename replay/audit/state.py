"""The state at an offset, computed in Spark alone: its parts, in a few frames.

docs/replay.md describes the effect of each record. This module implements it independently of
`replay/image`, the other implementation, and uses nothing of it.
"""

from collections.abc import Iterator

from pyspark.sql import DataFrame

from replay.audit.history import History
from replay.audit.parts import last_words as words
from replay.audit.parts.brokers import brokers
from replay.audit.parts.configs import topic_configs
from replay.audit.parts.partitions import partitions
from replay.audit.parts.removals import pending_partition_removals
from replay.audit.parts.voters import voters

PARTS = words.PARTS | {"brokers", "partitions", "pending_partition_removals", "voters"}
"""Names of the parts, as in docs/digest.md."""


def state(history: History) -> list[DataFrame]:
    """Return the objects of all parts that may have any, lazily evaluated.

    Returns:
        Frames with one row per object and a column per part, of which one is not null: a struct of
        the part's fields, with the records' field names and types. Ids and bytes are binary, lists
        are as written. The objects of a part may be in several frames.
    """
    spoken = {word.part for name, word in words.WORDS.items() if history.has(name)}
    present = {"partitions", *spoken}
    if history.has("RegisterBrokerRecord"):
        present.add("brokers")
    if history.has("DeleteTopicPartitionsRecord"):
        present.add("pending_partition_removals")
    if history.has("VotersRecord"):
        present.add("voters")
    return list(_frames(history, present))


def part(history: History, name: str) -> DataFrame:
    """Return the objects of one part, with a column per field."""
    frames = [frame.select(f"{name}.*") for frame in _frames(history, {name})]
    return frames[0] if len(frames) == 1 else frames[0].union(frames[1])


def _frames(history: History, parts: set[str]) -> Iterator[DataFrame]:
    if spoken := parts & words.PARTS:
        yield words.last_words(history, spoken)
    if "configs" in parts and words.follow_topics(history):
        yield topic_configs(history)
    if "brokers" in parts:
        yield brokers(history)
    if "partitions" in parts:
        yield partitions(history)
    if "pending_partition_removals" in parts:
        yield pending_partition_removals(history)
    if "voters" in parts:
        yield voters(history)
