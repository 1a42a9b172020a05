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
    """A node of a shared log. `role`: `leader`; or `stopped`, of the last leader."""

    node: int
    role: str
    addresses: dict[str, str]


class SharedLogState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a shared log ends, and which nodes are known to the store."""

    cluster_id: str
    log_id: str
    leader_epoch: int
    log_end: int
    nodes: tuple[SharedLogNode, ...]
