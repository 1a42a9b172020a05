"""Logs of several nodes compared."""

from collections.abc import Sequence

import msgspec


class ComparedNode(msgspec.Struct, frozen=True, kw_only=True):
    """One of the logs.

    Attributes:
        name: As it was given.
        cluster_id, node_id, directory_id: None if the folder does not say.
        end: Exclusive.
        last_epoch: None if it is empty.
        committed_end: All below it is known to be committed by this log alone.
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
    """Where logs part: the epoch that each has at the offset, None if it ends before."""

    offset: int
    epochs: dict[str, int | None]


class NotOnAll(msgspec.Struct, frozen=True, kw_only=True):
    """Something that some logs tell and others do not."""

    from_offset: int
    to_offset: int
    text: str
    on: Sequence[str]


class NodesCompared(msgspec.Struct, frozen=True, kw_only=True):
    """How logs relate.

    `common_end`: all are equal below it; None if they are of several clusters, or some have no
    offset in common. `behind`: by name, how many records of the log ahead a log lacks, without
    those that lack none. `untold`: the logs of which `differences` lacks what only they hold; a
    remark says why.
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
        """True if the logs are whole, of one cluster, and do not part."""
        is_whole = all(node.damage is None for node in self.nodes)
        return is_whole and len(self.clusters) <= 1 and self.divergence is None
