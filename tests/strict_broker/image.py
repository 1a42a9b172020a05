"""What a broker's loader makes of committed records, as far as its start depends on them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.stand_in_quorum.wire import MalformedError, Reader
from tests.strict_broker.batches import Batch, Record, records
from tests.strict_broker.messages import Address, Endpoint
from tests.strict_broker.releases import Release
from tests.strict_broker.traps import BrokenError, Trap

METADATA_VERSION = "metadata.version"
_KRAFT_VERSION, _VOTERS = 5, 6
_SNAPSHOT_HEADER, _SNAPSHOT_FOOTER = 3, 4
_BEGIN, _END, _ABORT = 23, 24, 25


@dataclass(frozen=True)
class Registration:
    """A broker as the log has it."""

    node_id: int
    incarnation: bytes
    epoch: int
    endpoints: tuple[Endpoint, ...]
    features: dict[str, tuple[int, int]]
    is_fenced: bool
    is_shutting_down: bool
    directories: tuple[bytes, ...]


VoterKey = tuple[int, bytes]


@dataclass
class Image:
    """The state up to `applied_offset`, inclusive; -1 before the first record.

    `voters` are those of the log's control records, by id and directory, each with its address by
    listener; None if it has none.
    """

    release: Release
    applied_offset: int = -1
    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, Registration] = field(default_factory=dict)
    kraft_version: int = 0
    voters: dict[VoterKey, dict[str, Address]] | None = None
    record_count: int = 0
    highest_broker_epoch: int = -1
    _held: list[Record] | None = None
    _is_snapshot: bool = False

    def apply(self, batch: Batch) -> None:
        """Apply a committed batch; what is inside a transaction is seen at its end.

        Raises:
            BrokenError: A record cannot be decoded, or contradicts those before it.
        """
        for record in records(batch):
            if batch.is_control:
                self._apply_control(record)
            else:
                self._apply_or_hold(record)
        if self._held is None:
            self.applied_offset = batch.end_offset - 1

    def load(self, batches: list[Batch], end_offset: int) -> None:
        """Replace the state by a snapshot of the log below `end_offset`."""
        fresh = Image(self.release, _is_snapshot=True)
        kinds = [r.key for b in batches if b.is_control for r in records(b)]
        if kinds[:1] != [_SNAPSHOT_HEADER] or kinds[-1:] != [_SNAPSHOT_FOOTER]:
            raise BrokenError(Trap.SNAPSHOT_INCOMPLETE, f"control records {kinds}")
        for batch in batches:
            fresh.apply(batch)
        fresh.applied_offset, fresh._is_snapshot = end_offset - 1, False
        self.__dict__.update(fresh.__dict__)

    def _apply_control(self, record: Record) -> None:
        reader = Reader(record.value, is_flexible=True)
        reader.int16()
        if record.key == _KRAFT_VERSION:
            self.kraft_version = reader.int16()
        elif record.key == _VOTERS:
            voters = dict(reader.items(lambda: _voter(reader)))
            if self.voters is not None and not _overlap(set(self.voters), set(voters)):
                detail = f"{sorted(voters)} after {sorted(self.voters)}"
                raise BrokenError(Trap.VOTERS_APART, f"offset {record.offset}: {detail}")
            self.voters = voters

    def voter(self, node_id: int, listener: str) -> Address | None:
        """Return a voter's address at a listener, as the log has it."""
        for (voter_id, _), listeners in (self.voters or {}).items():
            if voter_id == node_id:
                return listeners.get(listener)
        return None

    def _apply_or_hold(self, record: Record) -> None:
        key, _, _ = self._opened(record)
        self.record_count += 1
        if key == _BEGIN:
            self._require(self._held is None, record, "a transaction begins inside another")
            self._held = []
        elif key in (_END, _ABORT):
            self._require(self._held is not None, record, "a transaction ends that did not begin")
            held, self._held = self._held or [], None
            for each in held if key == _END else ():
                self._replay(each)
        elif self._held is not None:
            self._held.append(record)
        else:
            self._replay(record)

    def _opened(self, record: Record) -> tuple[int, int, Reader]:
        """Return the key and the version of a metadata record, and a reader at its message."""
        reader = Reader(record.value, is_flexible=True)
        try:
            frame, key, version = reader.varint(), reader.varint(), reader.varint()
        except MalformedError as bad:
            raise BrokenError(Trap.BAD_RECORD, f"offset {record.offset}: {bad}") from None
        if frame != 1 or not 0 <= version <= self.release.records.get(key, -1):
            raise BrokenError(
                Trap.BAD_RECORD,
                f"offset {record.offset}: frame {frame}, key {key}, version {version}",
            )
        return key, version, reader

    def _replay(self, record: Record) -> None:
        key, version, reader = self._opened(record)
        replay = _REPLAYS.get(key)
        if replay is None:
            return
        try:
            replay(self, record, version, reader)
            reader.end()
        except MalformedError as bad:
            raise BrokenError(Trap.BAD_RECORD, f"offset {record.offset}: {bad}") from None

    def _require(self, holds: bool, record: Record, detail: str) -> None:
        if not holds:
            raise BrokenError(Trap.CONTRADICTION, f"offset {record.offset}: {detail}")

    def _feature(self, record: Record, version: int, reader: Reader) -> None:
        name, level = reader.text(), reader.int16()
        reader.tags()
        self.features[name] = level
        low, high = self.release.levels
        if name == METADATA_VERSION and not low <= level <= high:
            raise BrokenError(
                Trap.METADATA_VERSION, f"level {level}, where {low} to {high} are known"
            )

    def _register(self, record: Record, version: int, reader: Reader) -> None:
        made = _registration(version, reader)
        old = self.brokers.get(made.node_id)
        is_same = old is not None and old.incarnation == made.incarnation
        if old is not None and is_same:
            self._require(made.epoch == old.epoch, record, "the same process, another epoch")
        elif not self._is_new_epoch(made.epoch):
            raise BrokenError(
                Trap.BROKER_EPOCH,
                f"broker {made.node_id} has {made.epoch} after {self.highest_broker_epoch}",
            )
        self.highest_broker_epoch = max(made.epoch, self.highest_broker_epoch)
        self.brokers[made.node_id] = made

    def _is_new_epoch(self, epoch: int) -> bool:
        """True if no broker had the epoch; a snapshot has its brokers in any order."""
        if self._is_snapshot:
            return epoch not in {broker.epoch for broker in self.brokers.values()}
        return epoch > self.highest_broker_epoch

    def _of_epoch(self, record: Record, node_id: int, epoch: int) -> Registration:
        found = self.brokers.get(node_id)
        self._require(found is not None, record, f"broker {node_id} is not registered")
        assert found is not None
        self._require(found.epoch == epoch, record, f"broker {node_id} has epoch {found.epoch}")
        return found

    def _unregister(self, record: Record, version: int, reader: Reader) -> None:
        node_id, epoch = reader.int32(), reader.int64()
        reader.tags()
        self._of_epoch(record, node_id, epoch)
        del self.brokers[node_id]

    def _fence(self, record: Record, version: int, reader: Reader) -> None:
        self._set_fenced(record, reader, is_fenced=True)

    def _unfence(self, record: Record, version: int, reader: Reader) -> None:
        self._set_fenced(record, reader, is_fenced=False)

    def _set_fenced(self, record: Record, reader: Reader, *, is_fenced: bool) -> None:
        node_id, epoch = reader.int32(), reader.int64()
        reader.tags()
        found = self._of_epoch(record, node_id, epoch)
        self.brokers[node_id] = replace(found, is_fenced=is_fenced)

    def _change(self, record: Record, version: int, reader: Reader) -> None:
        node_id, epoch, tags = reader.int32(), reader.int64(), reader.tags()
        found = self._of_epoch(record, node_id, epoch)
        fenced = _tagged_int8(tags, 0)
        self._require(fenced in (-1, 0, 1), record, f"fenced {fenced}")
        if fenced:
            found = replace(found, is_fenced=fenced == 1)
        if _tagged_int8(tags, 1) == 1:
            found = replace(found, is_shutting_down=True)
        if 2 in tags:
            found = replace(found, directories=tuple(_uuids(tags[2])))
        self.brokers[node_id] = found


_REPLAYS: dict[int, Callable[[Image, Record, int, Reader], None]] = {
    0: Image._register,
    1: Image._unregister,
    7: Image._fence,
    8: Image._unfence,
    12: Image._feature,
    17: Image._change,
}


def _registration(version: int, reader: Reader) -> Registration:
    """Decode a RegisterBrokerRecord."""
    node_id = reader.int32()
    if version >= 2:
        reader.boolean()  # of a broker that migrates from ZooKeeper
    incarnation, epoch = reader.uuid(), reader.int64()
    endpoints = reader.items(lambda: _endpoint(reader))
    features = dict(reader.items(lambda: _feature_range(reader)))
    reader.string()
    is_fenced = reader.boolean()
    is_shutting_down = version >= 1 and reader.boolean()
    tags = reader.tags()
    directories = _uuids(tags[0]) if version >= 3 and 0 in tags else []
    return Registration(
        node_id,
        incarnation,
        epoch,
        tuple(endpoints),
        features,
        is_fenced,
        is_shutting_down,
        tuple(directories),
    )


def _endpoint(reader: Reader) -> Endpoint:
    name, host = reader.text(), reader.text()
    port = int.from_bytes(reader.take(2), "big")
    found = Endpoint(name, host, port, reader.int16())
    reader.tags()
    return found


def _feature_range(reader: Reader) -> tuple[str, tuple[int, int]]:
    found = reader.text(), (reader.int16(), reader.int16())
    reader.tags()
    return found


def _overlap(before: set[VoterKey], after: set[VoterKey]) -> bool:
    """True if any majority of the one has a voter of any majority of the other."""
    return len(before - after) <= 1 and len(after - before) <= 1


def _voter(reader: Reader) -> tuple[VoterKey, dict[str, Address]]:
    key = reader.int32(), reader.uuid()
    listeners = dict(reader.items(lambda: _listener(reader)))
    reader.int16()
    reader.int16()
    reader.tags()
    reader.tags()
    return key, listeners


def _listener(reader: Reader) -> tuple[str, Address]:
    name = reader.text()
    found = reader.text(), int.from_bytes(reader.take(2), "big")
    reader.tags()
    return name, found


def _uuids(data: bytes) -> list[bytes]:
    reader = Reader(data, is_flexible=True)
    return reader.items(reader.uuid)


def _tagged_int8(tags: dict[int, bytes], tag: int) -> int:
    return Reader(tags[tag], is_flexible=True).int8() if tag in tags else 0
