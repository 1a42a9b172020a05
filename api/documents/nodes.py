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


class SharedLogState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a shared log ends, and which nodes are known to the store."""

    cluster_id: str
    log_id: str
    leader_epoch: int
    log_end: int
    nodes: tuple[SharedLogNode, ...]
