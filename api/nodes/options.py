"""The options of a node, and what a leader tells the others."""

import msgspec

from metadata_log.shared.shared_log import Lease


class NodeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a node of a shared log.

    Attributes:
        node_id: The node's number, which no other node has.
        lease_ms: Time after which another node may lead when this one has vanished.
        addresses: Where clients reach the node while it leads, by listener.
        own_settings: Whether the node leads even if the last leader had other settings.
        shared: The URL of the store, to be recorded in the node's folder.
    """

    node_id: int
    lease_ms: int = 3_000
    addresses: dict[str, str] = {}
    own_settings: bool = False
    shared: str = ""


class LostMark(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of records that the shared log has lost, set by a node that has them.

    Attributes:
        node_id: A node that has the lost records; None for a backup.
        from_offset: Offset of the first lost record.
        end_offset: The end of that node's folder, exclusive.
    """

    node_id: int | None
    from_offset: int
    end_offset: int

    @property
    def text(self) -> str:
        """A text that says which node has which lost records."""
        who = "a backup" if self.node_id is None else f"node {self.node_id}"
        return (
            f"{who} has records {self.from_offset} to {self.end_offset - 1}, which "
            "the shared log has lost"
        )


class LeaderContent(msgspec.Struct, frozen=True, kw_only=True):
    """What a leader tells the other nodes in its lease.

    Attributes:
        addresses: Where clients reach it, by listener.
        hands_over: Whether the leader is about to give the lease away; standbys then read it often.
        next_leader: The node that is to lead next; the others wait in case it does not.
        version: The release of the program that the leader runs.
        not_understood: What its release did not understand of the log when it began to lead.
        settings: A digest of each of the leader's settings, by name.
        lost: Records that the shared log has lost; no node leads until `metalog nodes repair`.
        requests_from: Offset from which the leader knew the ids of requests when it began to lead;
            0: all of the request window.
    """

    addresses: dict[str, str] = {}
    hands_over: bool = False
    next_leader: int | None = None
    version: str = ""
    not_understood: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    lost: LostMark | None = None
    requests_from: int = 0

    def is_for(self, node_id: int) -> bool:
        """Return whether a node may lead as soon as the lease is given away."""
        return self.next_leader in (None, node_id)


class Leader(msgspec.Struct, frozen=True, kw_only=True):
    """The node that leads, as other nodes know it.

    Attributes:
        addresses: Where clients reach it, by listener.
    """

    node_id: int
    addresses: dict[str, str] = {}


def leader_of(lease: Lease | None) -> Leader | None:
    """Return the node that leads by a lease; None if the lease is None or was given away."""
    if lease is None or lease.duration_ms == 0:
        return None
    return Leader(node_id=lease.node_id, addresses=addresses_in(lease))


def addresses_in(lease: Lease) -> dict[str, str]:
    """Return where clients reach the holder of a lease, by listener."""
    return content_of(lease).addresses


def content_of(lease: Lease) -> LeaderContent:
    """Return what the holder of a lease tells the other nodes."""
    return msgspec.msgpack.decode(lease.content, type=LeaderContent)


def taking(before: Lease | None, own: LeaderContent) -> bytes:
    """Return the content of a lease with which a node takes it.

    Until the node leads, the lease repeats what the last leader wrote, because the node may find
    that it must not lead. If the two have different releases, the lease names no release, so that
    no other node counts as fit only because it has the same release.
    """
    if before is None:
        return msgspec.msgpack.encode(own)
    found = content_of(before)
    content = msgspec.structs.replace(
        own,
        version=own.version if own.version == found.version else "",
        not_understood=found.not_understood,
        settings=found.settings,
        requests_from=found.requests_from,
    )
    return msgspec.msgpack.encode(content)


def handing_over(lease: Lease, next_leader: int | None = None) -> bytes:
    """Return a lease's content that announces that the holder gives the lease away."""
    content = content_of(lease)
    return msgspec.msgpack.encode(
        msgspec.structs.replace(content, hands_over=True, next_leader=next_leader)
    )
