"""Logs: what was made, checked or added to, and their position beside an answer.

What an answer says of its place in the log is beside it: `replay.about.About`.
"""

import msgspec
from msgspec import UNSET, UnsetType

from replay.about import About
from replay.image.provenance import NotUnderstood


class Place(About, frozen=True, kw_only=True):
    """The position of an answer, and the time zone that was assumed for a time without one."""

    time_zone: str | UnsetType = UNSET

    @classmethod
    def of(cls, about: About, zone: str | None) -> "Place":
        """Return a position with the zone; None if none was assumed."""
        fields = {name: getattr(about, name) for name in about.__struct_fields__}
        return cls(**fields, time_zone=UNSET if zone is None else zone)


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an answer's position: less than `About` where a service or log is damaged or
    gone. Fields are as there.
    """

    as_of: int | None
    log_end: int | None
    history_start: int | None = None
    not_understood: NotUnderstood | UnsetType | None = None
    not_counted: str | UnsetType = UNSET

    @classmethod
    def of_gone_service(cls, as_of: int | None) -> "Known":
        """Return what is known if a service has answered a change, and then nothing more."""
        return cls(
            as_of=as_of,
            log_end=None if as_of is None else as_of + 1,
            not_understood=UNSET,
            not_counted="the service did not say it",
        )


class End(msgspec.Struct, frozen=True, kw_only=True):
    """The last line of a stream."""

    end: Place


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A new log."""

    log: str
    cluster_id: str


class Demo(msgspec.Struct, frozen=True, kw_only=True):
    """A demo's log: `changes` counts the requests and events of each kind; times in ms since 1970;
    `log_end` is exclusive.
    """

    log: str
    cluster_id: str
    log_end: int
    start_timestamp: int
    end_timestamp: int
    changes: dict[str, int]


class NothingArchived(msgspec.Struct, frozen=True, kw_only=True):
    """An archive run that found no sealed segment."""

    files: tuple[str, ...] = ()
    bytes: int = 0
    archived_end: int | None = None


class HistorySynced(msgspec.Struct, frozen=True, kw_only=True):
    """The offsets [from, to) brought into the SQL tables, and the rows that were added."""

    from_: int = msgspec.field(name="from")
    to: int
    changes: int
    rows: dict[str, int]
