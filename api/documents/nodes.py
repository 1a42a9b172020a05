"""Answers about the nodes of a shared log, as JSON."""

import msgspec
from msgspec import UNSET, UnsetType


class StandsBy(msgspec.Struct, frozen=True, kw_only=True):
    """Line of `serve --shared`: the node stands by, and answers questions at these addresses."""

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


class LostBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that a node's folder has and the shared log lacks; `end_offset` is exclusive."""

    base_offset: int
    end_offset: int
    leader_epoch: int
    time: str
    principal: str
    command: str | None = None
    request_id: str | None = None


class LostGroups(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive batch groups that are missing from the middle of a shared log.

    `end_offset` is exclusive. `in_log`: whether the folder has all records of these groups; if not,
    the groups may have ended before `end_offset`. `from_offset` is null if the store does not tell
    where the groups begin, because the group before them is gone, too: then no folder can put them
    back.
    """

    first_group: int
    last_group: int
    from_offset: int | None
    end_offset: int
    in_log: bool


class SharedLogRepair(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `nodes repair`; ends are exclusive.

    `done`: `nothing`, `put back`, or `given up`, which sets `copy`. `lost`: the batches that the
    shared log lacks. `appended`: records that other nodes have written at the same offsets.
    `may_run`: whether nodes may run again. `groups`: batch groups missing from the middle; `lost`
    then has only their batches, and the end of the shared log was not compared.
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
    groups: tuple[LostGroups, ...] = ()
