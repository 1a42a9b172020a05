"""Notifications to receivers: an alert fires, or an alert is resolved."""

import hashlib
from enum import StrEnum
from typing import Self

import msgspec

from api.printable import printable_json
from controller.invariants.history import Key, Violation
from controller.log_check import EXPECT


class Status(StrEnum):
    """Whether an alert begins or ends."""

    FIRING = "firing"
    RESOLVED = "resolved"


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """A check that began to fail, or ceased to.

    Attributes:
        id: Id of the alert; the same in both of its notifications, and each time they are sent.
        log: The name of the log.
        check: The name of the expectation or of the invariant.
        is_expected: True for an expectation; False for an invariant.
        object: The topic or partition whose invariant fails; None: `text` names the object.
        text: The expression, or how the invariant fails.
        objects: Names of objects for which the expression's condition fails, the first ones.
        object_count: How many objects fail the condition.
        offset, time: Where the failure began: last offset of the batch, and its append time in ms
            since 1970; None: before the kept history.
        type, principal, reason: That batch's first record type, principal and reason; None if the
            log does not have them.
        until, until_time: Where the failure ended; None while it lasts.
        as_of, as_of_time: Offset as of which the notification is true, and its append time.
        after_gap: True if offset and time are those at which the change was found after a gap.
    """

    id: str
    status: Status
    log: str
    cluster_id: str
    check: str
    is_expected: bool
    object: str | None
    text: str
    objects: tuple[str, ...] = ()
    object_count: int = 0
    offset: int | None
    time: int | None
    type: str | None
    principal: str | None
    reason: str | None
    until: int | None = None
    until_time: int | None = None
    as_of: int
    as_of_time: int
    after_gap: bool = False

    @property
    def key(self) -> Key:
        """The check and object that fail; they identify an alert."""
        return (EXPECT if self.is_expected else self.check, self.object, self.text)

    @property
    def delivery_id(self) -> str:
        """Id of this notification, the same each time it is sent."""
        return f"{self.id}-{self.status}"

    def resolved(self, offset: int, time_ms: int, *, after_gap: bool = False) -> Self:
        """Return the notification that the alert was resolved at an offset and time."""
        return msgspec.structs.replace(
            self,
            status=Status.RESOLVED,
            until=offset,
            until_time=time_ms,
            as_of=offset,
            as_of_time=time_ms,
            after_gap=self.after_gap or after_gap,
        )

    def line(self) -> str:
        """Return the notification as a line of JSON, safe to print on a terminal."""
        return printable_json(msgspec.json.encode(self).decode())


def firing(
    found: Violation, check: str, *, log: str, cluster_id: str, as_of: int, as_of_time: int
) -> Notification:
    """Return the notification that an alert has begun (firing).

    Args:
        check: The name of the check.
        as_of, as_of_time: The offset and time at which the violation was found.
    """
    facts = [cluster_id, check, found.object, found.text, found.offset]
    digest = hashlib.sha256(msgspec.json.encode(facts)).hexdigest()
    return Notification(
        id=digest[:32],
        status=Status.FIRING,
        log=log,
        cluster_id=cluster_id,
        check=check,
        is_expected=found.invariant == EXPECT,
        object=found.object,
        text=found.text,
        offset=found.offset,
        time=found.time,
        type=found.type,
        principal=found.principal,
        reason=found.reason,
        as_of=as_of,
        as_of_time=as_of_time,
    )
