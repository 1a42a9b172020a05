"""Refuses changes of ACLs that would lock their author or the brokers out of the cluster.

With `allow.everyone.if.no.acl.found`, the first entry on the cluster takes the rights on the
cluster from all callers that the entry does not name. Without that config, a DENY may do the same.
"""

import contextlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import asdict, replace

from api.requests.commands import any_command
from api.requests.transactions import Transact, requests_of
from controller.authorization.authorizer import CLUSTER, Access, Operation
from controller.authorization.caller import Caller
from controller.decisions.security.acls import (
    AclBinding,
    CreateAcls,
    DeleteAcls,
    check_comparisons,
    select_acls,
)
from records.base import Record, Uuid
from records.envelope import Envelope
from records.errors import RequestError
from records.security import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage


def check_lockout(access: Access, request: Any, brokers: Mapping[int, Caller]) -> None:
    """Refuse a change of ACLs after which the caller or a broker would lack rights that it needs.

    Args:
        access: The caller's rights now.
        request: Any request; of a transaction, the steps that change ACLs are checked together.
        brokers: The caller with which each broker sends its heartbeats.

    Raises:
        RequestError: POLICY_VIOLATION, the caller could no longer change ACLs, or a broker could no
            longer reach the controller.
    """
    changes = list(_changes(request))
    if not changes or not access.allows(Operation.ALTER, CLUSTER):
        return  # a caller without the right is refused without a word about the brokers
    after = access.image
    for change in changes:
        after = _after(after, change)
    lost = [
        *_lost_by_caller(access, after),
        *_lost_by_brokers(access, after, brokers),
    ]
    if lost and not all(change.allow_lockout for change in changes):
        raise RequestError(
            "POLICY_VIOLATION",
            f"{' and '.join(lost)}; create the entries that they need in the same request, or "
            "allow it with --allow-lockout",
        )


def _changes(request: Any) -> Iterator[CreateAcls | DeleteAcls]:
    if isinstance(request, Transact):
        # A step that cannot be decoded is refused by the decision, which names it.
        with contextlib.suppress(RequestError):
            for step in requests_of(request, any_command):
                yield from _changes(step)
    elif isinstance(request, CreateAcls | DeleteAcls):
        yield request


def _lost_by_caller(access: Access, after: MetadataImage) -> Iterator[str]:
    if _loses(access, after, Operation.ALTER):
        yield f"{access.caller.principal} could not change ACLs any more"


def _lost_by_brokers(
    access: Access, after: MetadataImage, brokers: Mapping[int, Caller]
) -> Iterator[str]:
    locked_out = {
        broker_id: caller.principal
        for broker_id, caller in sorted(brokers.items())
        if access.image.broker(broker_id) is not None
        and _loses(replace(access, caller=caller), after, Operation.CLUSTER_ACTION)
    }
    if locked_out:
        ids = ", ".join(map(str, locked_out))
        users = ", ".join(dict.fromkeys(locked_out.values()))
        yield f"brokers {ids} ({users}) could not reach the controller any more"


def _loses(access: Access, after: MetadataImage, operation: Operation) -> bool:
    """True if a caller has a right on the cluster now, and not afterwards."""
    left = replace(access, image=after)
    return access.allows(operation, CLUSTER) and not left.allows(operation, CLUSTER)


def _after(image: MetadataImage, change: CreateAcls | DeleteAcls) -> MetadataImage:
    """Return an image with the entries that a request creates or deletes on it."""
    delta = MetadataDelta(image)
    for record in _records(image, change):
        delta.replay(_row(record, image.provenance.next_offset))
    return delta.apply(image.provenance)


def _records(image: MetadataImage, change: CreateAcls | DeleteAcls) -> Iterable[Record]:
    if isinstance(change, CreateAcls):
        return [_record(acl) for acl in change.acls]
    check_comparisons(image, change.filters)
    found: set[Uuid] = set()
    for wanted in change.filters:
        with contextlib.suppress(RequestError):  # a filter that the decision refuses, too
            found.update(acl.acl_id for acl in select_acls(image, wanted))
    return [RemoveAccessControlEntryRecord(id=acl_id) for acl_id in sorted(found)]


def _record(acl: AclBinding) -> Record:
    return AccessControlEntryRecord(id=Uuid(secrets.token_bytes(16)), **asdict(acl))


def _row(record: Record, offset: int) -> Envelope:
    return Envelope(
        offset=offset,
        leader_epoch=0,
        timestamp=0,
        batch_offset=offset,
        record_version=0,
        payload=record,
    )
