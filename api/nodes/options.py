"""The options of a node, and what a leader tells the others."""

import msgspec

from metadata_log.shared.shared_log import Lease


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a node takes part.

    Attributes:
        node_id: Its number, which no other node has.
        lease_ms: Time after which another node may lead when this one has vanished.
        addresses: Where clients reach it while it leads, by listener.
    """

    node_id: int
    lease_ms: int = 3_000
    addresses: dict[str, str] = {}


class LeaderContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a leader tells the other nodes in its lease."""

    addresses: dict[str, str] = {}


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """The node that leads, as other nodes know it.

    Attributes:
        addresses: Where clients reach it, by listener.
    """

    node_id: int
    addresses: dict[str, str] = {}


def leader_of(lease: Lease | None) -> Leader | None:
    """Return who leads by a lease; None if it was given away, or nobody ever had it."""
    if lease is None or lease.duration_ms == 0:
        return None
    return Leader(node_id=lease.node_id, addresses=addresses_in(lease))


def addresses_in(lease: Lease) -> dict[str, str]:
    """Return where clients reach the holder of a lease, by listener."""
    return msgspec.msgpack.decode(lease.content, type=LeaderContent).addresses
