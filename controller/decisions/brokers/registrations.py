"""Brokers: registration, and removal of the registration.

Source: KIP-631 (registration), KIP-858 (log directories), KIP-966 (unclean shutdowns);
docs/kafka_rules.md, section 8.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from controller.decisions.context.context import Context, in_steps
from controller.decisions.levels import CONTROLLED_SHUTDOWN_LEVEL, DIRECTORIES_LEVEL
from controller.decisions.partitions.broker_partitions import forget_partitions, leave_partitions
from controller.decisions.partitions.directories import is_reserved
from controller.decisions.request import Request
from controller.results.result import ControllerResult
from records.base import Record, Uuid
from records.brokers import (
    BrokerEndpoint,
    BrokerFeature,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)
from records.errors import RequestError
from records.partitions import PartitionChangeRecord
from records.text import uuid_text
from replay.image.cluster import Broker

_INT16_MIN, _INT16_MAX = -(2**15), 2**15 - 1
_INT32_MAX = 2**31 - 1
_PORT_MAX = 2**16 - 1


class RegisterBroker(Request["BrokerEpoch"], frozen=True, kw_only=True):
    """A request to register a broker process.

    `incarnation_id` is new with every start of the process. `previous_broker_epoch` is the broker
    epoch of the previous process, if that was shut down cleanly, as found on the broker's disk;
    else -1.
    """

    broker_id: int
    cluster_id: str
    incarnation_id: Uuid
    end_points: tuple[BrokerEndpoint, ...] = ()
    features: tuple[BrokerFeature, ...] = ()
    rack: str | None = None
    log_dirs: tuple[Uuid, ...] = ()
    previous_broker_epoch: int = -1


class UnregisterBroker(Request[None], frozen=True):
    """A request to remove a broker's registration."""

    broker_id: int


class BrokerEpoch(msgspec.Struct, frozen=True):
    """The answer to a registration: the epoch that the broker must send in later requests."""

    broker_epoch: int


def register_broker(context: Context, request: RegisterBroker) -> ControllerResult[BrokerEpoch]:
    """Register a broker process: a new one as fenced, one already registered in its current state.

    The epoch of a new process is the offset at which this decision is written. If the decision
    takes several steps (the old process had many partitions), it is the offset of the last step.

    Raises:
        RequestError: INCONSISTENT_CLUSTER_ID, DUPLICATE_BROKER_REGISTRATION, INVALID_REGISTRATION
            or UNSUPPORTED_VERSION.
    """
    old = context.image.broker(request.broker_id)
    _check_cluster(context, request)
    _check_numbers(request)
    _check_session(context, request, old)
    _check_log_dirs(context, request)
    _check_features(context, request)
    same_process = old is not None and old.incarnation_id == request.incarnation_id
    leaving: Iterable[Record] = ()
    if old is not None and not same_process:
        leaving = _leave_as_old_process(context, request, old)
    level = context.metadata_version
    registration = RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=old.broker_epoch if old and same_process else context.next_offset,
        end_points=request.end_points,
        features=tuple(sorted(request.features, key=lambda feature: feature.name)),
        rack=request.rack,
        fenced=old.fenced if old and same_process else True,
        in_controlled_shutdown=bool(
            level >= CONTROLLED_SHUTDOWN_LEVEL
            and old
            and same_process
            and old.in_controlled_shutdown
        ),
        log_dirs=tuple(sorted(request.log_dirs)) if level >= DIRECTORIES_LEVEL else (),
    )
    return in_steps(
        context, BrokerEpoch(registration.broker_epoch), chain(leaving, (registration,))
    )


def unregister_broker(context: Context, broker_id: int) -> ControllerResult[None]:
    """Remove a broker's registration, after removing it from its partitions' ISRs.

    Raises:
        RequestError: BROKER_ID_NOT_REGISTERED.
    """
    broker = context.image.broker(broker_id)
    if broker is None:
        raise RequestError("BROKER_ID_NOT_REGISTERED", f"broker {broker_id} is not registered")
    removal = UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.broker_epoch)
    return in_steps(context, None, chain(forget_partitions(context, broker_id), (removal,)))


def checked_broker(context: Context, broker_id: int, broker_epoch: int) -> Broker:
    """Return the broker that sent a request.

    Raises:
        RequestError: STALE_BROKER_EPOCH, the sender is not the registered process.
    """
    broker = context.image.broker(broker_id)
    if broker is None:
        raise RequestError("STALE_BROKER_EPOCH", f"broker {broker_id} is not registered")
    if broker.broker_epoch != broker_epoch:
        raise RequestError(
            "STALE_BROKER_EPOCH",
            f"broker {broker_id} has epoch {broker.broker_epoch}, the request says {broker_epoch}",
        )
    return broker


def _leave_as_old_process(
    context: Context, request: RegisterBroker, old: Broker
) -> Iterator[PartitionChangeRecord]:
    """Yield the changes that take a broker's stopped process out of ISRs and leadership."""
    stopped_cleanly = request.previous_broker_epoch == old.broker_epoch
    if context.elr_enabled and not stopped_cleanly:
        return forget_partitions(context, old.broker_id)
    return leave_partitions(context, old.broker_id)


def _check_cluster(context: Context, request: RegisterBroker) -> None:
    expected = context.settings.cluster_id
    if request.cluster_id != expected:
        raise RequestError(
            "INCONSISTENT_CLUSTER_ID",
            f"broker {request.broker_id} is of cluster {request.cluster_id!r}, not {expected!r}",
        )


def _check_numbers(request: RegisterBroker) -> None:
    if not 0 <= request.broker_id <= _INT32_MAX:
        raise _invalid_registration(request, f"has an id that is not from 0 to {_INT32_MAX}")
    for point in request.end_points:
        if not 0 <= point.port <= _PORT_MAX:
            raise _invalid_registration(
                request, f"names port {point.port}; ports go from 0 to {_PORT_MAX}"
            )
    protocols = [point.security_protocol for point in request.end_points]
    levels = [
        n for f in request.features for n in (f.min_supported_version, f.max_supported_version)
    ]
    for number in (*protocols, *levels):
        if not _INT16_MIN <= number <= _INT16_MAX:
            raise _invalid_registration(
                request, f"has {number} as a protocol or level, not {_INT16_MIN} to {_INT16_MAX}"
            )


def _check_session(context: Context, request: RegisterBroker, old: Broker | None) -> None:
    if (
        old is not None
        and old.incarnation_id != request.incarnation_id
        and context.sessions.is_live(old, context.now_ms)
    ):
        raise RequestError(
            "DUPLICATE_BROKER_REGISTRATION",
            f"broker {request.broker_id} is registered by another live process; wait for "
            "its session to end",
        )


def _check_log_dirs(context: Context, request: RegisterBroker) -> None:
    if context.metadata_version < DIRECTORIES_LEVEL:
        return
    if not request.log_dirs:
        raise _invalid_registration(request, "names no log directory")
    if len(set(request.log_dirs)) < len(request.log_dirs):
        raise _invalid_registration(request, "names a log directory twice")
    for directory in request.log_dirs:
        if is_reserved(directory):
            raise _invalid_registration(request, f"names the reserved {uuid_text(directory)}")
    for other in context.image.brokers():
        shared = set(other.log_dirs) & set(request.log_dirs)
        if shared and other.broker_id != request.broker_id:
            raise _invalid_registration(
                request,
                f"names {uuid_text(min(shared))}, a log directory of broker {other.broker_id}",
            )


def _invalid_registration(request: RegisterBroker, reason: str) -> RequestError:
    return RequestError("INVALID_REGISTRATION", f"broker {request.broker_id} {reason}")


def _check_features(context: Context, request: RegisterBroker) -> None:
    ranges = {feature.name: feature for feature in request.features}
    for name, level in sorted(context.image.features().items()):
        supported = ranges.get(name)
        if (
            supported is None
            or not supported.min_supported_version <= level <= supported.max_supported_version
        ):
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"broker {request.broker_id} does not support {name} at level {level}",
            )
