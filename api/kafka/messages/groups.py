"""Requests of consumer group members, and the lookup of group coordinators.

Source: KIP-62, KIP-345 (static members), KIP-699 (many coordinators), KIP-848
(ConsumerGroupHeartbeat).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since, until
from records.base import Uuid


class FindCoordinatorRequest(Request, frozen=True, kw_only=True):
    """Find the coordinators of groups, transactions or share groups."""

    key: Annotated[str, until(3)] = ""
    key_type: Annotated[Int8, since(1)] = 0
    coordinator_keys: Annotated[tuple[str, ...], since(4)] = ()


class FoundCoordinator(Message, frozen=True, kw_only=True):
    """The coordinator of one key, or an error."""

    key: str
    node_id: Int32
    host: str
    port: Int32
    error_code: Int16 = 0
    error_message: str | None = None


class FindCoordinatorResponse(Response, frozen=True, kw_only=True):
    """The coordinator of the requested key; since version 4, of each requested key."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Annotated[Int16, until(3)] = 0
    error_message: Annotated[str | None, since(1, 3)] = None
    node_id: Annotated[Int32, until(3)] = 0
    host: Annotated[str, until(3)] = ""
    port: Annotated[Int32, until(3)] = 0
    coordinators: Annotated[tuple[FoundCoordinator, ...], since(4)] = ()


class GroupProtocol(Message, frozen=True, kw_only=True):
    """A partition assignment strategy that a member supports."""

    name: str
    metadata: bytes


class JoinGroupRequest(Request, frozen=True, kw_only=True):
    """Join a consumer group."""

    group_id: str
    session_timeout_ms: Int32
    rebalance_timeout_ms: Annotated[Int32, since(1)] = -1
    member_id: str
    group_instance_id: Annotated[str | None, since(5)] = None
    protocol_type: str
    protocols: tuple[GroupProtocol, ...]
    reason: Annotated[str | None, since(8)] = None


class JoinedMember(Message, frozen=True, kw_only=True):
    """A member, as described to the leader of the group."""

    member_id: str
    group_instance_id: Annotated[str | None, since(5)] = None
    metadata: bytes


class JoinGroupResponse(Response, frozen=True, kw_only=True):
    """The new generation of the group; the group's leader also gets the list of members."""

    throttle_time_ms: Annotated[Int32, since(2)] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[str | None, since(7)] = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: Annotated[bool, since(9)] = False
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()


class MemberAssignment(Message, frozen=True, kw_only=True):
    """The partitions assigned to one member."""

    member_id: str
    assignment: bytes


class SyncGroupRequest(Request, frozen=True, kw_only=True):
    """Request a member's assignment; the group's leader also sends every member's assignment."""

    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: Annotated[str | None, since(3)] = None
    protocol_type: Annotated[str | None, since(5)] = None
    protocol_name: Annotated[str | None, since(5)] = None
    assignments: tuple[MemberAssignment, ...]


class SyncGroupResponse(Response, frozen=True, kw_only=True):
    """The member's assignment, or an error."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    protocol_type: Annotated[str | None, since(5)] = None
    protocol_name: Annotated[str | None, since(5)] = None
    assignment: bytes = b""


class HeartbeatRequest(Request, frozen=True, kw_only=True):
    """A heartbeat of a group member."""

    group_id: str
    generation_id: Int32
    member_id: str
    group_instance_id: Annotated[str | None, since(3)] = None


class HeartbeatResponse(Response, frozen=True, kw_only=True):
    """Response to a group member's heartbeat: success or an error."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0


class LeavingMember(Message, frozen=True, kw_only=True):
    """A member to remove from the group."""

    member_id: str
    group_instance_id: str | None = None
    reason: Annotated[str | None, since(5)] = None


class LeaveGroupRequest(Request, frozen=True, kw_only=True):
    """Remove members from a group."""

    group_id: str
    member_id: Annotated[str, until(2)] = ""
    members: Annotated[tuple[LeavingMember, ...], since(3)] = ()


class LeftMember(Message, frozen=True, kw_only=True):
    """Result of removing one member."""

    member_id: str
    group_instance_id: str | None
    error_code: Int16 = 0


class LeaveGroupResponse(Response, frozen=True, kw_only=True):
    """One result for each member, or an error."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    members: Annotated[tuple[LeftMember, ...], since(3)] = ()


class OwnedPartitions(Message, frozen=True, kw_only=True):
    """Partitions of one topic that a member owns."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


class ConsumerGroupHeartbeatRequest(Request, frozen=True, kw_only=True):
    """Join, stay in, or leave a group of the consumer protocol."""

    group_id: str
    member_id: str
    member_epoch: Int32
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: Annotated[str | None, since(1)] = None
    server_assignor: str | None = None
    topic_partitions: tuple[OwnedPartitions, ...] | None = None


class GroupPartitions(Message, frozen=True, kw_only=True):
    """Partitions of one topic that are assigned to a member."""

    topic_id: Uuid
    partitions: tuple[Int32, ...]


class GroupAssignment(Message, frozen=True, kw_only=True):
    """All partitions assigned to a member."""

    topic_partitions: tuple[GroupPartitions, ...]


class ConsumerGroupHeartbeatResponse(Response, frozen=True, kw_only=True):
    """The member's epoch, and the member's assignment if that has changed."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: GroupAssignment | None = None
