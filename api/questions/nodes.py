"""The nodes that share a log. Only a running node knows them: it asks the shared log's store."""

import msgspec

from api.questions.past import Past
from api.questions.question import Computed, Question


class ListNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Asks for the nodes of a shared log as they are now."""


class SharedLogNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a shared log, as it told the store `seen_ms` ago.

    `role`: `leader`, `standby`, `stopped`, or `gone` if it says nothing any more. `behind`: records
    that it did not have then. `clock_off_ms`: how far its clock is ahead of the store's. With
    something `not_understood` it never leads; with `other_settings` than the leader's only if told.
    `requests_from`: the same, for it knows the recent requests only from this offset on.
    `lost_from`: it has records from there on that the store has lost.
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
    """Records that a shared log has lost, up to the end of a node's folder, which has them."""

    node: int | None
    from_offset: int
    end_offset: int


class SharedLogState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a shared log ends, and which nodes are known to the store.

    `log_id` is null for a log that no nodes share, and for the past: a log says nothing of its
    nodes. `kept_bytes`: what the groups take in the store, about. A node whose folder ends at
    `kept_from` or later can go on from there. `archived_end`: up to where the leader has archived,
    null if it archives nothing, and then nothing is ever trimmed. `held_by`: a node that does not
    run and lacks what could be trimmed otherwise. `lost`: why no node runs until `nodes repair`.
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
    """Return what a log itself says: where it ends, and no nodes."""
    image = past.image(at)
    answer = SharedLogState(
        cluster_id=past.reader.cluster_id,
        log_id=None,
        leader_epoch=max(image.provenance.leader_epoch, 0),
        log_end=at + 1,
    )
    return Computed(answer=answer, about=lambda: past.about_image(image, at))


NODES = Question(name="nodes list", request=ListNodes, answer=SharedLogState, tell=nodes_listed)
