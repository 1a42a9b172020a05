"""The end of a shared log, and its nodes, as known to the store."""

from collections.abc import Sequence

from api.nodes.membership import GONE_MS, content_of
from api.nodes.options import content_of as lease_content
from api.nodes.options import leader_of
from api.questions.nodes import LostRecords, SharedLogNode, SharedLogState
from metadata_log.shared.shared_log import EMPTY, Lease, Member, Position, SharedLog, kept_group


async def state_of(log: SharedLog) -> SharedLogState:
    """Return the end of a shared log, and its nodes.

    Raises:
        UnavailableError: the store does not answer.
    """
    identity, end, lease = await log.identity(), await log.end(), await log.lease()
    members, kept_bytes = await log.members(), await log.size_bytes()
    first_offset = await kept_from(log)
    leader = leader_of(lease)
    nodes = [node_of(member, end, None if leader is None else leader.node_id) for member in members]
    archived = [content_of(member).archived_end for member in members]
    return SharedLogState(
        cluster_id=identity.cluster_id,
        log_id=identity.log_id,
        leader_epoch=end.epoch,
        log_end=end.end_offset,
        nodes=tuple(nodes),
        kept_bytes=kept_bytes,
        kept_from=first_offset,
        archived_end=max(filter(None, archived), default=None),
        held_by=held_by(members, nodes),
        lost=_lost_of(lease),
    )


async def kept_from(log: SharedLog) -> int:
    """Return the least end offset with which a folder can still follow the trimmed shared log."""
    start, end = await log.start(), await log.end()
    return 0 if end == EMPTY else (await kept_group(log, start, end.number - 1)).end_offset


def held_by(members: Sequence[Member], nodes: Sequence[SharedLogNode]) -> int | None:
    """Return the node whose folder ends first, if that node does not run, else None."""
    ends = {member.node_id: content_of(member).durable_end for member in members}
    last = min(nodes, key=lambda node: ends[node.node], default=None)
    return last.node if last is not None and last.role in ("stopped", "gone") else None


def _lost_of(lease: Lease | None) -> LostRecords | None:
    mark = None if lease is None else lease_content(lease).lost
    if mark is None:
        return None
    return LostRecords(node=mark.node_id, from_offset=mark.from_offset, end_offset=mark.end_offset)


def node_of(member: Member, end: Position, leader_id: int | None) -> SharedLogNode:
    """Return what is known of a node of a shared log that ends at `end`."""
    content = content_of(member)
    role = content.role
    if role != "stopped":
        role = "leader" if member.node_id == leader_id else "standby"
        if member.age_ms > GONE_MS:
            role = "gone"
    return SharedLogNode(
        node=member.node_id,
        role=role,
        log_end=content.log_end,
        # The leader has everything, also what it wrote since it registered.
        behind=0 if role == "leader" else max(end.end_offset - content.log_end, 0),
        seen_ms=member.age_ms,
        clock_off_ms=content.clock_off_ms,
        version=content.version,
        addresses=content.addresses,
        not_understood=content.unfit.not_understood,
        other_settings=content.unfit.other_settings,
        requests_from=content.unfit.requests_from,
        lost_from=content.lost_from,
    )
