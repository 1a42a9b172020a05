"""The options of a node, and what a leader tells the others."""

import msgspec


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
