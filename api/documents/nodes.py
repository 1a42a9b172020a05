"""Answers about the nodes of a shared log, as JSON."""

import msgspec
from msgspec import UNSET, UnsetType


class StandsBy(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `serve --shared`: the node follows, and answers questions at these addresses."""

    node: int
    role: str = "standby"
    log_end: int
    kafka: str
    socket: str | UnsetType = UNSET
    http: str | UnsetType = UNSET


class SharedLogCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A shared log that `nodes create` has made; `shared` is its URL without a password."""

    shared: str
    log_id: str
    cluster_id: str
    log_end: int


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

    `kept_bytes`: what the groups take in the store, about. A node whose folder ends at `kept_from`
    or later can go on from there. `archived_end`: up to where the leader has archived, null if it
    archives nothing, and then nothing is ever trimmed. `held_by`: a node that does not run and
    lacks what could be trimmed otherwise. `lost`: why no node runs until `nodes repair`.
    """

    cluster_id: str
    log_id: str
    leader_epoch: int
    log_end: int
    nodes: tuple[SharedLogNode, ...]
    kept_bytes: int
    kept_from: int
    archived_end: int | None = None
    held_by: int | None = None
    lost: LostRecords | None = None


class LostBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that a node's folder has and the shared log lacks; `end_offset` is exclusive."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    time: str
    principal: str
    command: str | None = None
    request_id: str | None = None


class SharedLogRepair(msgspec.Struct, frozen=True, kw_only=True):
    """What `nodes repair` found and did; ends are exclusive.

    `done`: `nothing`, `put back` or `given up`, then with the `copy`. `appended`: records that
    others have written in the place of the `lost` ones. `may_run`: whether nodes may run again.
    """

    log: str
    shared: str
    from_offset: int
    folder_end: int
    shared_end: int
    appended: int
    lost: tuple[LostBatch, ...]
    done: str
    copy: str | None = None
    may_run: bool | None = None
