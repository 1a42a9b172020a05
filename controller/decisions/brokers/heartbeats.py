"""Heartbeats: the four states of a broker and their transitions.

A broker is FENCED until it has applied its own registration, and UNFENCED while it serves. It is in
CONTROLLED_SHUTDOWN until it leads no partition and all active brokers have applied this. It is then
told to SHUTDOWN_NOW.

Source: KIP-631 (fencing), KIP-841 (controlled shutdown), KIP-1066 (cordoned directories);
docs/kafka_rules.md, section 8.
"""

import enum
from collections.abc import Callable, Iterator
from itertools import chain

import msgspec
from msgspec.structs import replace

from controller.decisions.brokers.registrations import checked_broker
from controller.decisions.context.context import Context, in_steps
from controller.decisions.context.sessions import ReplicaLag, Sessions
from controller.decisions.levels import (
    CONTROLLED_SHUTDOWN_LEVEL,
    DIRECTORIES_LEVEL,
    REGISTRATION_CHANGE_LEVEL,
)
from controller.decisions.partitions.broker_partitions import (
    leave_partitions,
    leave_these,
    return_to_partitions,
)
from controller.results.result import ControllerResult
from records.base import Record, Uuid
from records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
)
from records.metadata_versions import CORDONED_LOG_DIRS_LEVEL
from replay.image.cluster import Broker

FENCE = 1
UNFENCE = -1
_IN_CONTROLLED_SHUTDOWN = 1


class BrokerState(enum.Enum):
    """State of a broker."""

    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """A broker's heartbeat: its applied offset and the state that it requests.

    `metadata_offset` is the last offset that the broker has applied. `offline_log_dirs` are its
    failed directories, `cordoned_log_dirs` those that get no new partitions. `lags` are the lags of
    its replicas. None means unchanged.
    """

    broker_id: int
    broker_epoch: int
    metadata_offset: int
    want_fence: bool = False
    want_shutdown: bool = False
    offline_log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None
    lags: tuple[ReplicaLag, ...] | None = None


class HeartbeatReply(msgspec.Struct, frozen=True, kw_only=True):
    """The broker's state after its heartbeat, and whether it should shut down."""

    is_caught_up: bool
    is_fenced: bool
    in_controlled_shutdown: bool
    should_shut_down: bool


def heartbeat(context: Context, request: Heartbeat) -> ControllerResult[HeartbeatReply]:
    """Process a heartbeat, and move the broker to its next state; may take several steps.

    Raises:
        RequestError: STALE_BROKER_EPOCH.
    """
    broker = checked_broker(context, request.broker_id, request.broker_epoch)
    before = after = _current_state(context, broker)
    lost = _lost_directories(context, broker, request)
    # Handle a failed directory first, and the requested state with the next heartbeat: together
    # they would change some partitions twice.
    if lost and lost != set(broker.log_dirs):
        records = _lose_directories(context, broker, lost)
    else:
        after = _next_state(context, request, before, all_lost=bool(lost))
        records = _cordon(context, broker, request)
        if after is not before:
            records = chain(records, _transition(context, broker, after))
        elif _is_first(context, broker):
            records = chain(records, return_to_partitions(context, broker.broker_id))
    reply = HeartbeatReply(
        is_caught_up=_is_caught_up(context, request),
        is_fenced=after in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW),
        in_controlled_shutdown=after is BrokerState.CONTROLLED_SHUTDOWN,
        should_shut_down=after is BrokerState.SHUTDOWN_NOW,
    )
    if lost or after is BrokerState.UNFENCED:
        # The rest of these records does not follow from the state after the first ones.
        context = replace(context, step_max=None)
    return in_steps(context, reply, records)


def sessions_after(
    sessions: Sessions,
    request: Heartbeat,
    reply: HeartbeatReply,
    *,
    next_offset: int,
    now_ms: int,
) -> Sessions:
    """Return the sessions after a heartbeat was answered.

    Args:
        next_offset: The end of the log, including the heartbeat's records.
    """
    sessions = sessions.heard_of(
        request.broker_id,
        metadata_offset=request.metadata_offset,
        now_ms=now_ms,
        lags=request.lags,
    )
    if reply.in_controlled_shutdown:
        sessions = sessions.shutting_down(request.broker_id, next_offset - 1)
    return sessions


def fence_stale_broker(context: Context) -> ControllerResult[int | None]:
    """Fence the broker with the oldest expired session; the response is its id or None.

    Fences one broker at a time, so that each leader election takes the earlier ones into account.
    The broker leaves its partitions in steps. If it sends a heartbeat between two steps, it is
    fenced all the same, and gets its partitions back with the heartbeat after that.
    """
    broker_id = context.sessions.stale_broker(context.image, context.now_ms, context.begun)
    broker = None if broker_id is None else context.image.broker(broker_id)
    if broker is None:
        return ControllerResult(response=None)
    return in_steps(context, broker_id, _fence(context, broker))


def stale_reason(session_timeout_ms: int) -> str:
    """Return the reason that the records of `fence_stale_broker` give."""
    return f"no heartbeat within the session timeout of {session_timeout_ms} ms"


def _is_first(context: Context, broker: Broker) -> bool:
    """True for the first heartbeat of an active broker since the controller's start.

    The last controller may have failed while the broker was leaving its partitions. Partitions
    without another in-sync replica then lack a leader, though the broker was not fenced.
    """
    if not context.is_active(broker.broker_id):
        return False
    session = context.sessions.get(broker.broker_id)
    return session is not None and session.metadata_offset is None


def _current_state(context: Context, broker: Broker) -> BrokerState:
    """Return the broker's state.

    A new controller does not know the offset of a controlled shutdown that is under way, and starts
    the shutdown again.
    """
    if broker.fenced:
        return BrokerState.FENCED
    session = context.sessions.get(broker.broker_id)
    if session is None or session.shutdown_offset is None:
        return BrokerState.UNFENCED
    # In a fork of the past the beginning may have been dropped; the session is that of the log.
    is_recorded = context.metadata_version >= CONTROLLED_SHUTDOWN_LEVEL
    if is_recorded and not broker.in_controlled_shutdown:
        return BrokerState.UNFENCED
    return BrokerState.CONTROLLED_SHUTDOWN


def _next_state(
    context: Context, request: Heartbeat, state: BrokerState, *, all_lost: bool
) -> BrokerState:
    """Return the next state; a broker without working directories cannot be UNFENCED."""
    if all_lost:
        request = replace(request, want_fence=True)
    match state:
        case BrokerState.FENCED:
            return _after_fenced(context, request)
        case BrokerState.UNFENCED:
            return _after_unfenced(context, request)
        case _:
            return _after_controlled_shutdown(context, request)


def _after_fenced(context: Context, request: Heartbeat) -> BrokerState:
    if request.want_shutdown:
        return BrokerState.SHUTDOWN_NOW
    if _is_caught_up(context, request) and not request.want_fence:
        return BrokerState.UNFENCED
    return BrokerState.FENCED


def _after_unfenced(context: Context, request: Heartbeat) -> BrokerState:
    if request.want_fence:
        return BrokerState.SHUTDOWN_NOW if request.want_shutdown else BrokerState.FENCED
    if not request.want_shutdown:
        return BrokerState.UNFENCED
    if _has_to_leave(context, request.broker_id):
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.SHUTDOWN_NOW


def _has_to_leave(context: Context, broker_id: int) -> bool:
    """True if a broker leads partitions, or is on the way out of those that it does not lead."""
    broker = context.image.broker(broker_id)
    if broker is not None and broker.in_controlled_shutdown:
        return any(context.index.partitions_to_leave(context.image, broker_id))
    return context.index.leads_any(context.image, broker_id)


def _after_controlled_shutdown(context: Context, request: Heartbeat) -> BrokerState:
    """Return the next state of a broker in a controlled shutdown.

    It is SHUTDOWN_NOW once the broker leads no partition, and all active brokers have applied the
    records that moved its leaderships.
    """
    session = context.sessions.get(request.broker_id)
    assert session is not None and session.shutdown_offset is not None
    if context.index.leads_any(context.image, request.broker_id):
        return BrokerState.CONTROLLED_SHUTDOWN
    lowest = context.sessions.lowest_active_offset(context.image)
    if lowest is None or session.shutdown_offset <= lowest:
        return BrokerState.SHUTDOWN_NOW
    return BrokerState.CONTROLLED_SHUTDOWN


def _transition(context: Context, broker: Broker, after: BrokerState) -> Iterator[Record]:
    transitions: dict[BrokerState, Callable[[Context, Broker], Iterator[Record]]] = {
        BrokerState.FENCED: _fence,
        BrokerState.UNFENCED: _unfence,
        BrokerState.CONTROLLED_SHUTDOWN: _begin_shutdown,
        BrokerState.SHUTDOWN_NOW: _fence,
    }
    return transitions[after](context, broker)


def _fence(context: Context, broker: Broker) -> Iterator[Record]:
    if broker.fenced:
        return
    yield from leave_partitions(context, broker.broker_id)
    yield _fencing(context, broker, FENCE)


def _unfence(context: Context, broker: Broker) -> Iterator[Record]:
    yield _fencing(context, broker, UNFENCE)
    yield from return_to_partitions(context, broker.broker_id)


def _begin_shutdown(context: Context, broker: Broker) -> Iterator[Record]:
    if not broker.in_controlled_shutdown and context.metadata_version >= CONTROLLED_SHUTDOWN_LEVEL:
        yield BrokerRegistrationChangeRecord(
            broker_id=broker.broker_id,
            broker_epoch=broker.broker_epoch,
            in_controlled_shutdown=_IN_CONTROLLED_SHUTDOWN,
        )
    yield from leave_partitions(context, broker.broker_id)


def _fencing(context: Context, broker: Broker, change: int) -> Record:
    if context.metadata_version >= REGISTRATION_CHANGE_LEVEL:
        return BrokerRegistrationChangeRecord(
            broker_id=broker.broker_id, broker_epoch=broker.broker_epoch, fenced=change
        )
    if change == FENCE:
        return FenceBrokerRecord(id=broker.broker_id, epoch=broker.broker_epoch)
    return UnfenceBrokerRecord(id=broker.broker_id, epoch=broker.broker_epoch)


def _lost_directories(context: Context, broker: Broker, request: Heartbeat) -> set[Uuid]:
    """Return the directories that failed since the last heartbeat."""
    if context.metadata_version < DIRECTORIES_LEVEL:
        return set()
    return set(broker.log_dirs) & set(request.offline_log_dirs)


def _lose_directories(context: Context, broker: Broker, lost: set[Uuid]) -> Iterator[Record]:
    """Yield the changes for failed directories `lost`: of partitions in them, and of the broker.

    The broker leaves the ISRs of these partitions; its registration keeps only its other
    directories.
    """
    broker_id = broker.broker_id
    in_lost = [
        partition
        for partition in context.index.partitions_on(context.image, broker_id)
        if dict(zip(partition.replicas, partition.directories, strict=False)).get(broker_id) in lost
    ]
    yield from leave_these(context, broker_id, in_lost)
    yield BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=broker.broker_epoch,
        log_dirs=tuple([directory for directory in broker.log_dirs if directory not in lost]),
    )


def _cordon(context: Context, broker: Broker, request: Heartbeat) -> Iterator[Record]:
    """Yield the change of the broker's cordoned directories, if they did change."""
    cordoned = request.cordoned_log_dirs
    if cordoned is None or context.metadata_version < CORDONED_LOG_DIRS_LEVEL:
        return
    if set(cordoned) != set(broker.cordoned_log_dirs):
        yield BrokerRegistrationChangeRecord(
            broker_id=broker.broker_id,
            broker_epoch=broker.broker_epoch,
            cordoned_log_dirs=tuple(sorted(cordoned)),
        )


def _is_caught_up(context: Context, request: Heartbeat) -> bool:
    """True if the broker has applied its own registration."""
    session = context.sessions.get(request.broker_id)
    registered_at = request.broker_epoch if session is None else session.registration_offset
    return request.metadata_offset >= registered_at
