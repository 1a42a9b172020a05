"""The nodes that share a log. Only a running node can list them: it asks the log's store."""

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question


class ListNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the nodes of a shared log as they are now."""


class SharedLogNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a shared log, as it registered with the store `seen_ms` ago.

    `role`: `leader`, `standby`, `stopped`, or `gone` if it no longer registers. `behind`: number of
    records that it lacked then. `clock_off_ms`: how far its clock is ahead of the store's. A node
    with anything `not_understood` never leads. A node whose `other_settings` differ from the
    leader's, or that knows recent requests only from `requests_from` on, leads only if an operator
    says so. `lost_from`: the node has records from this offset on that the store has lost.
    """

    node: int
    role: str
    log_end: int
    behind: int
    seen_ms: int
    clock_off_ms: int
    version: str
    addresses: dict[str, str]
    not_understood: tuple[str, ...] = ()
    other_settings: tuple[str, ...] = ()
    requests_from: int | None = None
    lost_from: int | None = None


class LostRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records that a shared log has lost and a node still has, up to the end of its folder."""

    node: int | None
    from_offset: int
    end_offset: int


class SharedLogState(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a shared log, and the nodes that are registered with the store.

    `log_id` is null for a log that no nodes share, and for past points: a log does not record its
    nodes. `kept_bytes`: approximate size of the batches in the store. A node whose folder ends at
    `kept_from` or later can continue from the store. `archived_end`: end of what the leader has
    archived; null if it archives nothing, and then nothing is trimmed. `held_by`: a node that does
    not run and still needs batches that could otherwise be trimmed. `lost`: lost records, because
    of which no node runs until `nodes repair`.
    """

    cluster_id: str
    log_id: str | None
    leader_epoch: int
    log_end: int
    nodes: tuple[SharedLogNode, ...] = ()
    kept_bytes: int = 0
    kept_from: int = 0
    archived_end: int | None = None
    held_by: int | None = None
    lost: LostRecords | None = None


def nodes_listed(past: Past, at: int, request: ListNodes) -> Computed:
    """Return the state of a log without asking its store: the log's end, and no nodes."""
    image = past.image(at)
    answer = SharedLogState(
        cluster_id=past.reader.cluster_id,
        log_id=None,
        leader_epoch=max(image.provenance.leader_epoch, 0),
        log_end=at + 1,
    )
    return Computed(answer=answer, about=lambda: past.about_image(image, at))


NODES = Question(name="nodes list", request=ListNodes, answer=SharedLogState, tell=nodes_listed)
