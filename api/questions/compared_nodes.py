"""Result of comparing the logs of several nodes."""

from collections.abc import Sequence

import msgspec


class ComparedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One of the compared logs.

    Attributes:
        name: The log's name, as given in the request.
        cluster_id, node_id, directory_id: None if they are not stored in the folder.
        end: End offset of the log, exclusive.
        last_epoch: Epoch of the last record; None if the log is empty.
        committed_end: This log alone proves that all records below this offset are committed.
        trailing_bytes: Size of an incomplete last batch.
        damage: The error at `end`, if the log is damaged there.
    """

    name: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    start: int
    end: int
    last_epoch: int | None
    committed_end: int
    trailing_bytes: int
    damage: str | None


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The first offset at which logs differ, and the epoch of each log at that offset.

    The epoch is None for a log that ends before the offset.
    """

    offset: int
    epochs: dict[str, int | None]


class NotOnAll(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is in some logs but not in all."""

    from_offset: int
    to_offset: int
    text: str
    on: Sequence[str]


class NodesCompared(msgspec.Struct, frozen=True, kw_only=True):
    """The relation of several logs to each other.

    `common_end`: the logs are equal below this offset; None if they are of several clusters, or
    have no offset in common. `behind`: by log, the number of records that the log `ahead` has and
    this log lacks; logs that lack no records are left out. `untold`: the logs whose changes could
    not be read and are missing from `differences`; a remark gives the reason.
    """

    clusters: Sequence[str]
    nodes: Sequence[ComparedNode]
    ahead: str | None
    common_end: int | None
    divergence: Divergence | None
    behind: dict[str, int]
    differences: Sequence[NotOnAll]
    untold: Sequence[str]
    remarks: Sequence[str]

    @property
    def is_sound(self) -> bool:
        """True if the logs are undamaged, of one cluster, and do not diverge."""
        is_whole = all(node.damage is None for node in self.nodes)
        return is_whole and len(self.clusters) <= 1 and self.divergence is None
