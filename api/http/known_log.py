"""What is known of a log at once: its bounds, and the newest state that need not be replayed."""

import msgspec

from metadata_log.format.parts import Gap
from records.errors import UnavailableError


class KnownState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a cluster, in a snapshot or at the end of a log that was read.

    Attributes:
        as_of: The last offset that the state contains.
        fenced: How many of the brokers are fenced.
        controllers: Node ids of the registered controllers.
        leaderless, under_replicated: Numbers of partitions.
    """

    as_of: int
    brokers: int
    fenced: int
    controllers: tuple[int, ...]
    topics: int
    partitions: int
    leaderless: int
    under_replicated: int


class KnownLog(msgspec.Struct, frozen=True, kw_only=True):
    """What the files of a log say, and the newest state that need not be replayed.

    Attributes:
        log: The log as given on the command line, or the address of its service.
        log_end: The end of its records, exclusive.
        from_time, to_time: Times of its first and latest record, ms since 1970; None in an empty
            log.
        bytes: The size of its segments.
        gaps: The gaps of a recording, oldest first.
        state: The newest state once the log was read, that of the newest snapshot before; None if
            there is no snapshot, or it is not loaded yet.
    """

    log: str
    cluster_id: str
    log_end: int
    from_time: int | None
    to_time: int | None
    segments: int
    bytes: int
    gaps: tuple[Gap, ...] = ()
    state: KnownState | None = None


class StillReadingError(UnavailableError):
    """A log is being read; answers the little that is known of it.

    Attributes:
        known: What its files and its newest snapshot say.
    """

    def __init__(self, message: str, known: KnownLog) -> None:
        super().__init__(message)
        self.known = known
