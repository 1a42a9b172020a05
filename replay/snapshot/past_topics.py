"""Reads past states of single topics from a log's snapshots, without loading the snapshots.

The chunks of a part are ordered by the hash of their objects' keys, so a topic is found by
bisection, in the base and in the few chunks of each layer. A chunk that several snapshots share is
read once.
"""

import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from records.base import Uuid
from records.errors import CorruptLogError, RequestError
from replay.image.partition_list import find
from replay.image.versions import partition_offsets
from replay.snapshot.chunks import key_hash
from replay.snapshot.layers import layers_of
from replay.snapshot.stored_topic import StoredTopic
from replay.time_travel.past_topics import PastState, TopicState

# Of these parts, records about topics and partitions take objects for granted.
_SURROUNDINGS = ("namespaces", "pending_partition_removals", "replica_deletions")


_chunk_decoder = msgspec.msgpack.Decoder(list[msgspec.Raw])
_topic_decoder = msgspec.msgpack.Decoder(StoredTopic)

Manifest = Mapping[str, Sequence[bytes]]
"""The chunk hashes of a snapshot, by part, in the order of the chunks."""


class ChunkSource(Protocol):
    """Reads manifests and chunks of snapshots."""

    def manifest(self, end_offset: int) -> Manifest:
        """Return the manifest of a snapshot."""

    def chunk(self, hash_: bytes) -> bytes:
        """Return the MessagePack of a chunk."""


class _Chunk(NamedTuple):
    """The topics of a chunk, each decoded only on demand."""

    first_hash: bytes
    topics: list[msgspec.Raw]

    def find(self, topic_id: Uuid) -> StoredTopic | None:
        # The id of a topic may stand in another one by chance.
        for raw in self.topics:
            if bytes(raw).find(topic_id) >= 0:
                topic = _topic_decoder.decode(raw)
                if topic.topic.topic_id == topic_id:
                    return topic
        return None


class SnapshotTopics:
    """The topics in snapshots; implements `replay.time_travel.past_topics.PastTopics`."""

    def __init__(
        self,
        end_offsets: Sequence[int],
        source: ChunkSource,
        pass_over: Callable[[Exception], None],
    ) -> None:
        """Read topics from the snapshots with these end offsets, which are ascending.

        Args:
            pass_over: Called if a snapshot cannot be read; no snapshot is used after that.
        """
        self._ends = list(end_offsets)
        self._source = source
        self._pass_over = pass_over
        self._manifests: dict[int, Manifest] = {}
        self._chunks: dict[bytes, _Chunk] = {}

    def end_offsets(self) -> list[int]:
        """Return the end offsets of the snapshots, ascending."""
        return self._ends

    def state(
        self, end_offset: int, topic_ids: Collection[Uuid], partition_id: int | None
    ) -> PastState | None:
        """Return the state of topics in a snapshot; None if the snapshot cannot be read."""
        try:
            manifest = self._manifest(end_offset)
            topics = {each: _state(self._topic(manifest, each), partition_id) for each in topic_ids}
        except (sqlite3.Error, CorruptLogError, LookupError, RequestError, ValueError) as error:
            self._pass_over(error)
            self._ends = []
            return None
        surroundings = [
            (name, tuple(hashes))
            for name, hashes in sorted(manifest.items())
            if name.startswith(_SURROUNDINGS)
        ]
        return PastState(
            topics=topics,
            surroundings=tuple(surroundings),
        )

    def _manifest(self, end_offset: int) -> Manifest:
        if end_offset not in self._manifests:
            self._manifests[end_offset] = self._source.manifest(end_offset)
        return self._manifests[end_offset]

    def _topic(self, manifest: Manifest, topic_id: Uuid) -> StoredTopic | None:
        for layer in reversed(layers_of("topics", manifest)):
            changed = self._find(manifest.get(f"topics+{layer}", []), topic_id)
            if changed is not None:
                return changed
            if self._find(manifest.get(f"topics-{layer}", []), topic_id) is not None:
                return None
        return self._find(manifest.get("topics", []), topic_id)

    def _find(self, hashes: Sequence[bytes], topic_id: Uuid) -> StoredTopic | None:
        """Return a topic from chunks ordered by hash of the topic id; None if they lack it."""
        wanted = key_hash(topic_id)
        after = bisect_right(hashes, wanted, key=lambda each: self._chunk(each).first_hash)
        return None if after == 0 else self._chunk(hashes[after - 1]).find(topic_id)

    def _chunk(self, hash_: bytes) -> _Chunk:
        if hash_ not in self._chunks:
            topics = _chunk_decoder.decode(self._source.chunk(hash_))
            first = _topic_decoder.decode(topics[0]).topic.topic_id
            self._chunks[hash_] = _Chunk(key_hash(first), topics)
        return self._chunks[hash_]


def _state(topic: StoredTopic | None, partition_id: int | None) -> TopicState | None:
    if topic is None:
        return None
    version = None
    if partition_id is not None:
        entry = topic.entry()
        if find(entry.partitions, partition_id) is not None:
            version, _ = partition_offsets(entry.offsets, partition_id)
    return TopicState(
        name=topic.topic.name,
        namespace_id=topic.topic.namespace_id,
        version=topic.version,
        partition_version=version,
    )
