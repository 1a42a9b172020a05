"""JSON form of the result of `doctor`, which examines a quorum."""

import msgspec


class ExaminedController(msgspec.Struct, frozen=True, kw_only=True):
    """One of the controllers that were given to `doctor`.

    Attributes:
        address: `HOST:PORT`.
        release: Releases of Kafka that take the same versions of Fetch; null if it did not answer.
        leader_id: The leader that the controller names; null if it names none.
        leader_epoch: The epoch of that leader; null if the controller names none.
        problem: What prevents reading from the controller, and what to do; null: nothing.
    """

    address: str
    release: str | None = None
    leader_id: int | None = None
    leader_epoch: int | None = None
    problem: str | None = None


class ExaminedLog(msgspec.Struct, frozen=True, kw_only=True):
    """The leader's log, as far as it would be recorded.

    Attributes:
        address: The leader's address.
        log_start: First offset that the leader keeps.
        log_start_timestamp: When it was appended, ms since 1970; null: no record is kept yet.
        log_end: The end of the leader's log, exclusive.
        starts_from_snapshot: True if a new mirror would start from a snapshot.
        mirror_start: Where a new mirror would start: offset 0 or 1, or the snapshot's end.
        bytes_per_day: Growth of Kafka's log in 24 hours at the rate seen now.
    """

    address: str
    log_start: int
    log_start_timestamp: int | None
    log_end: int
    starts_from_snapshot: bool
    mirror_start: int
    bytes_per_day: int


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What may be in the way, as far as the address suggests it, and the lines that change it.

    Words in capitals in the lines stand for names that the address does not contain.
    """

    text: str
    lines: tuple[str, ...] = ()


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a quorum can be recorded, and which records a recording would have.

    `problem` is what prevents reading from the leader; null: nothing.
    """

    ready: bool
    controllers: tuple[ExaminedController, ...]
    log: ExaminedLog | None = None
    problem: str | None = None
    advice: tuple[Advice, ...] = ()
