"""JSON form of what `doctor` finds about a quorum."""

import msgspec


class ExaminedController(msgspec.Struct, frozen=True, kw_only=True):
    """One of the given controllers.

    Attributes:
        address: `HOST:PORT`.
        release: Releases of Kafka that take the same versions of Fetch; null if it did not answer.
        leader_id: The leader that it names; null if it names none.
        leader_epoch: That leader's epoch; null if it names none.
        problem: What stands in the way, with what to do; null: nothing.
    """

    address: str
    release: str | None = None
    leader_id: int | None = None
    leader_epoch: int | None = None
    problem: str | None = None


class ExaminedLog(msgspec.Struct, frozen=True, kw_only=True):
    """What the leader would serve.

    Attributes:
        address: The leader's.
        log_start: First offset that it keeps.
        log_end: The end of its log, exclusive.
        starts_from_snapshot: True if a new mirror would start from a snapshot, not from offset 0.
        bytes_per_day: Growth of Kafka's log in 24 hours at the rate seen now.
    """

    address: str
    log_start: int
    log_end: int
    starts_from_snapshot: bool
    bytes_per_day: int


class Examined(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a quorum can be recorded, and what a recording would have.

    `problem` is what keeps the leader from being read; null: nothing.
    """

    ready: bool
    controllers: tuple[ExaminedController, ...]
    log: ExaminedLog | None = None
    problem: str | None = None
