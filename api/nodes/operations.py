"""Operations on a shared log's nodes: list them, change the leader, remove a node."""

import asyncio
import secrets

from msgspec.structs import replace

from api.nodes.options import handing_over, leader_of
from api.nodes.state import state_of
from api.nodes.stores import opened
from api.questions.nodes import SharedLogState
from metadata_log.shared.shared_log import NONCE_SIZE, SharedLog
from records.errors import Outcome, RequestError, UnavailableError

_HAND_OVER_LEASES = 5
"""Lease durations after which a node that does not lead yet is given up."""

_HAND_OVER_LOOK_S = 0.1

_CANNOT_LEAD = {
    "stopped": "it is stopped",
    "gone": "it has not registered with the store for 20 s; look whether it runs",
}


async def look(url: str) -> SharedLogState:
    """Return the state of a shared log and of its nodes; raises the errors of `open_store`."""
    async with opened(url) as log:
        return await state_of(log)


async def change_leader(url: str, node_id: int) -> SharedLogState:
    """Let the leader hand over to a node; return the shared log's state once that node leads.

    Raises:
        RequestError: INVALID_REQUEST, the node does not stand by, or no node leads; or as
            `open_store`.
        UnavailableError: the node does not lead in time, or the store cannot be reached.
    """
    await _check_can_lead(url, node_id)
    async with opened(url) as log:
        before = await _leader_id(log)
        timeout_s = _HAND_OVER_LEASES * await ask_to_hand_over(log, node_id)
        try:
            async with asyncio.timeout(timeout_s):
                while (leads := await _leader_id(log)) != node_id:
                    if leads not in (None, before):
                        raise UnavailableError(
                            f"node {leads} leads now, not node {node_id}: it was faster, or an "
                            "operator chose it; run again"
                        )
                    await asyncio.sleep(_HAND_OVER_LOOK_S)
        except TimeoutError:
            raise UnavailableError(
                f"node {node_id} does not lead after {timeout_s:.0f} s; see `metalog nodes list`",
                outcome=Outcome.UNKNOWN,
            ) from None
    return await look(url)


async def _leader_id(log: SharedLog) -> int | None:
    leader = leader_of(await log.lease())
    return None if leader is None else leader.node_id


async def _check_can_lead(url: str, node_id: int) -> None:
    nodes = (await look(url)).nodes
    node = next((each for each in nodes if each.node == node_id), None)
    if node is None:
        why: str | None = "there is no such node"
    elif node.not_understood:
        why = f"its release does not understand {', '.join(node.not_understood)}"
    else:
        why = _CANNOT_LEAD.get(node.role)
    if why is not None:
        raise RequestError("INVALID_REQUEST", f"node {node_id} cannot lead: {why}")
    # Of a leader that has vanished, another node takes the lease.
    if all(each.role != "leader" for each in nodes):
        raise RequestError(
            "INVALID_REQUEST", "no node leads now, so none can hand over; see `metalog nodes list`"
        )


async def ask_to_hand_over(log: SharedLog, node_id: int) -> float:
    """Ask the leader, in the lease, to hand over to a node; return the lease's duration in s."""
    while True:
        lease = await log.lease()
        assert lease is not None, "a node leads"
        nonce = secrets.token_bytes(NONCE_SIZE)
        wished = replace(lease, nonce=nonce, content=handing_over(lease, node_id))
        # The leader may have renewed it in between.
        if lease.node_id == node_id or await log.renew(wished, instead_of=lease):
            return lease.duration_ms / 1_000


async def remove_node(url: str, node_id: int) -> None:
    """Remove the registration of a node that has stopped; raises the errors of `open_store`.

    Raises:
        RequestError: INVALID_REQUEST, there is no such node, or the node runs.
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
