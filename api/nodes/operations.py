"""What an operator does with the nodes of a shared log: looks, changes the leader, removes one."""

import asyncio
import secrets
from collections.abc import Sequence

from msgspec.structs import replace

from api.documents.nodes import LostRecords, SharedLogNode, SharedLogState
from api.nodes.membership import GONE_MS, content_of
from api.nodes.options import content_of as lease_content
from api.nodes.options import handing_over, leader_of
from api.nodes.stores import opened
from metadata_log.shared.shared_log import NONCE_SIZE, Lease, Member, Position, SharedLog
from records.errors import Outcome, RequestError, UnavailableError

_HAND_OVER_LEASES = 5
"""Until a node that does not lead then will not."""

_HAND_OVER_LOOK_S = 0.1


async def look(url: str) -> SharedLogState:
    """Return where a shared log ends, and its nodes; errors as for `open_store`."""
    async with opened(url) as log:
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
    """Return the offset at which a folder must end to go on with the first group that is kept."""
    start = await log.start()
    if start == 0:
        return 0
    (first, *_) = await log.read(start, 0)
    return first.end_offset


def held_by(members: Sequence[Member], nodes: Sequence[SharedLogNode]) -> int | None:
    """Return the node that does not run and is the furthest behind of all."""
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


async def change_leader(url: str, node_id: int) -> SharedLogState:
    """Let the leader hand over to a node; return the nodes when that node leads.

    Raises:
        RequestError: INVALID_REQUEST, no such node stands by, or none leads; or as `open_store`.
        UnavailableError: the node does not lead in time, or the store cannot be reached.
    """
    await _check_can_lead(url, node_id)
    async with opened(url) as log:
        timeout_s = _HAND_OVER_LEASES * await ask_to_hand_over(log, node_id)
        try:
            async with asyncio.timeout(timeout_s):
                while (leader := leader_of(await log.lease())) is None or leader.node_id != node_id:
                    await asyncio.sleep(_HAND_OVER_LOOK_S)
        except TimeoutError:
            raise UnavailableError(
                f"node {node_id} does not lead after {timeout_s:.0f} s; see `metalog nodes list`",
                outcome=Outcome.UNKNOWN,
            ) from None
    return await look(url)


async def _check_can_lead(url: str, node_id: int) -> None:
    nodes = (await look(url)).nodes
    node = next((each for each in nodes if each.node == node_id), None)
    if node is None:
        why: str | None = "there is no such node"
    elif node.not_understood:
        why = f"its release does not understand {', '.join(node.not_understood)}"
    else:
        why = None if node.role in ("leader", "standby") else node.role
    if why is not None:
        raise RequestError("INVALID_REQUEST", f"node {node_id} cannot lead: {why}")
    # Of a leader that has vanished, another node takes the lease.
    if all(each.role != "leader" for each in nodes):
        raise RequestError("INVALID_REQUEST", "no node leads now that could hand over")


async def ask_to_hand_over(log: SharedLog, node_id: int) -> float:
    """Write the wish into the lease, unless the node leads; return the lease's seconds."""
    while True:
        lease = await log.lease()
        assert lease is not None, "a node leads"
        nonce = secrets.token_bytes(NONCE_SIZE)
        wished = replace(lease, nonce=nonce, content=handing_over(lease, node_id))
        # The leader may have renewed it in between.
        if lease.node_id == node_id or await log.renew(wished, instead_of=lease):
            return lease.duration_ms / 1_000


async def remove_node(url: str, node_id: int) -> None:
    """Forget a node that has stopped; errors as for `open_store`.

    Raises:
        RequestError: INVALID_REQUEST, there is no such node, or it runs.
    """
    nodes = (await look(url)).nodes
    role = next((each.role for each in nodes if each.node == node_id), None)
    if role not in ("stopped", "gone"):
        raise RequestError(
            "INVALID_REQUEST",
            f"there is no node {node_id}"
            if role is None
            else f"node {node_id} runs; stop it first",
        )
    async with opened(url) as log:
        await log.unregister(node_id)
