"""JSON form of results about logs: created, synced, archived; and of positions in a log.

An answer's position (`replay.about.About`) is printed beside the answer.
"""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from metadata_log.format.parts import Gap
from replay.about import About
from replay.image.provenance import NotUnderstood


class Place(About, frozen=True, kw_only=True):
    """The position of an answer, and the time zone assumed for a point that names none."""

    time_zone: str | UnsetType = UNSET

    @classmethod
    def of(cls, about: About, zone: str | None) -> "Place":
        """Return a position with its time zone.

        Args:
            zone: The time zone that was assumed; None: no time zone was assumed.
        """
        fields = {name: getattr(about, name) for name in about.__struct_fields__}
        return cls(**fields, time_zone=UNSET if zone is None else zone)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The known part of an answer's position, if a log is damaged or a service is gone.

    The fields are those of `About`.
    """

    as_of: int | None
    log_end: int | None
    history_start: int | None = None
    not_understood: NotUnderstood | UnsetType | None = None
    not_counted: str | UnsetType = UNSET

    @classmethod
    def of_gone_service(cls, as_of: int | None) -> "Known":
        """Return the known position for a service that made a change and is now unreachable."""
        return cls(
            as_of=as_of,
            log_end=None if as_of is None else as_of + 1,
            not_understood=UNSET,
            not_counted="the service did not say it",
        )


class End(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of a stream: the position of the answer in the log."""

    end: Place


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A log that was created."""

    log: str
    cluster_id: str


class Demo(msgspec.Struct, frozen=True, kw_only=True):
    """The log of a demo.

    `changes` counts the requests and events of each kind; times are in ms since 1970; `log_end` is
    exclusive.
    """

    log: str
    cluster_id: str
    log_end: int
    start_timestamp: int
    end_timestamp: int
    changes: dict[str, int]


class NothingArchived(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an archive run that found no sealed segment."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    archived_end: int | None = None


class HistorySynced(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a sync: offsets [from, to) and the rows that were added to the SQL tables.

    `unconfirmed_to`: end of the records after `to` that the next sync replaces; null if there are
    none. `gaps`: the gaps of the recording in this range, whose offsets were not recorded.
    """

    from_: int = msgspec.field(name="from")
    to: int
    unconfirmed_to: int | None
    changes: int
    rows: dict[str, int]
    gaps: tuple[Gap, ...] | UnsetType = UNSET


class Confirmed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of `confirm`: offsets [from, to) of a mirror now count as committed.

    `equal_up_to`: the logs of other nodes, and the offset below which each is equal to the mirror.
    """

    from_: int = msgspec.field(name="from")
    to: int
    reason: str
    equal_up_to: Mapping[str, int]
