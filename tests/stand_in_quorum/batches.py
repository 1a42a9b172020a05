"""Batches of a test's own: a new leader's first one, NoOps, and any metadata records."""

import struct
from collections.abc import Mapping, Sequence

import google_crc32c

from tests.stand_in_quorum.log import Batch, split
from tests.stand_in_quorum.wire import Writer, varint

CONTROL = 0x20
# Keys of control records: version 0, and the type.
LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER = b"\0\0\0\2", b"\0\0\0\3", b"\0\0\0\4"
KRAFT_VERSION, KRAFT_VOTERS = b"\0\0\0\5", b"\0\0\0\6"
NO_OP = varint(1) + varint(20) + varint(0) + varint(0)  # frame, key, version, no tags


def _zigzag(value: int) -> bytes:
    return varint(2 * value if value >= 0 else -2 * value - 1)


def _record(delta: int, key: bytes | None, value: bytes) -> bytes:
    size = _zigzag(-1) if key is None else _zigzag(len(key)) + key
    body = b"\0" + _zigzag(0) + _zigzag(delta) + size + _zigzag(len(value)) + value + _zigzag(0)
    return _zigzag(len(body)) + body


def batch(
    base_offset: int,
    epoch: int,
    records: Sequence[tuple[bytes | None, bytes]],
    *,
    attributes: int = 0,
    time_ms: int = 1_700_000_000_000,
) -> Batch:
    """Return a batch of (key, value) records."""
    last = len(records) - 1
    covered = struct.pack(">hiqqqhii", attributes, last, time_ms, time_ms, -1, -1, -1, last + 1)
    covered += b"".join(_record(index, *record) for index, record in enumerate(records))
    crc = google_crc32c.value(covered)
    data = struct.pack(">qiibI", base_offset, len(covered) + 9, epoch, 2, crc) + covered
    (made,) = split(data)
    return made


def leader_change(
    base_offset: int,
    epoch: int,
    leader_id: int,
    voters: Sequence[int] = (1, 2, 3),
    *,
    granting: Sequence[int] | None = None,
    time_ms: int = 1_700_000_000_000,
) -> Batch:
    """Return the batch that opens an epoch."""
    value = Writer(is_flexible=True).int16(0).int32(leader_id)
    for ids in (voters, voters if granting is None else granting):
        value.count(len(ids))
        for voter in ids:
            value.int32(voter).tags()
    record = (LEADER_CHANGE, value.tags().done())
    return batch(base_offset, epoch, [record], attributes=CONTROL, time_ms=time_ms)


def kraft_version(level: int) -> tuple[bytes, bytes]:
    """Return the control record that sets kraft.version."""
    return KRAFT_VERSION, Writer(is_flexible=True).int16(0).int16(level).tags().done()


def voters(
    addresses: Mapping[int, tuple[str, int]], listener: str = "CONTROLLER"
) -> tuple[bytes, bytes]:
    """Return the control record with all voters, each with one listener."""
    out = Writer(is_flexible=True).int16(0).count(len(addresses))
    for voter_id, (host, port) in addresses.items():
        out.int32(voter_id).raw(bytes([voter_id]) * 16).count(1)
        out.string(listener).string(host).raw(port.to_bytes(2, "big")).tags()
        out.int16(0).int16(1).tags().tags()
    return KRAFT_VOTERS, out.tags().done()


def control(base_offset: int, epoch: int, *records: tuple[bytes, bytes]) -> Batch:
    """Return a batch of control records."""
    return batch(base_offset, epoch, records, attributes=CONTROL)


def no_ops(base_offset: int, epoch: int, count: int = 1) -> Batch:
    """Return a batch of `count` NoOp records."""
    return batch(base_offset, epoch, [(None, NO_OP)] * count)


def snapshot(
    epoch: int, values: Sequence[bytes] = (), *, time_ms: int = 1_700_000_000_000
) -> bytes:
    """Return a snapshot of metadata records; without any it is that of a log of NoOps."""
    header = Writer(is_flexible=True).int16(0).int64(time_ms).tags().done()
    footer = Writer(is_flexible=True).int16(0).tags().done()
    batches = [batch(0, epoch, [(SNAPSHOT_HEADER, header)], attributes=CONTROL)]
    if values:
        batches.append(batch(1, epoch, [(None, value) for value in values]))
    last = batch(batches[-1].end_offset, epoch, [(SNAPSHOT_FOOTER, footer)], attributes=CONTROL)
    return b"".join(each.data for each in [*batches, last])
