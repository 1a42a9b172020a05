"""Requests of administrators about groups: list, describe, delete.

Source: KIP-518 and KIP-848 (filters), KIP-1043 (errors of DescribeGroups).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since
from api.kafka.messages.metadata import OPERATIONS_UNKNOWN
from records.base import Uuid


class ListGroupsRequest(Request, frozen=True, kw_only=True):
    """List groups by state and type; an empty filter matches all groups."""

    states_filter: Annotated[tuple[str, ...], since(4)] = ()
    types_filter: Annotated[tuple[str, ...], since(5)] = ()


class ListedGroup(Message, frozen=True, kw_only=True):
    """Id, type and state of one group."""

    group_id: str
    protocol_type: str
    group_state: Annotated[str, since(4)] = ""
    group_type: Annotated[str, since(5)] = ""


class ListGroupsResponse(Response, frozen=True, kw_only=True):
    """The matching groups, or an error."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    error_code: Int16 = 0
    groups: tuple[ListedGroup, ...] = ()


class DescribeGroupsRequest(Request, frozen=True, kw_only=True):
    """Describe groups of the classic protocol."""

    groups: tuple[str, ...]
    include_authorized_operations: Annotated[bool, since(3)] = False


class DescribedGroupMember(Message, frozen=True, kw_only=True):
    """A member of a group."""

    member_id: str
    group_instance_id: Annotated[str | None, since(4)] = None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


class DescribedGroup(Message, frozen=True, kw_only=True):
    """State and members of one group, or an error."""

    error_code: Int16 = 0
    error_message: Annotated[str | None, since(6)] = None
    group_id: str
    group_state: str
    protocol_type: str
    protocol_data: str
    members: tuple[DescribedGroupMember, ...]
    authorized_operations: Annotated[Int32, since(3)] = OPERATIONS_UNKNOWN


class DescribeGroupsResponse(Response, frozen=True, kw_only=True):
    """One description for each group."""

    throttle_time_ms: Annotated[Int32, since(1)] = 0
    groups: tuple[DescribedGroup, ...] = ()


class DeleteGroupsRequest(Request, frozen=True, kw_only=True):
    """Delete groups without members."""

    groups_names: tuple[str, ...]


class DeletableGroupResult(Message, frozen=True, kw_only=True):
    """Result of deleting one group."""

    group_id: str
    error_code: Int16 = 0


class DeleteGroupsResponse(Response, frozen=True, kw_only=True):
    """The results of DeleteGroups, one for each group."""

    throttle_time_ms: Int32 = 0
    results: tuple[DeletableGroupResult, ...] = ()


class ConsumerGroupDescribeRequest(Request, frozen=True, kw_only=True):
    """Describe groups of the consumer protocol, in which the coordinator assigns the partitions."""

    group_ids: tuple[str, ...]
    include_authorized_operations: bool


class ConsumerTopicPartitions(Message, frozen=True, kw_only=True):
    """Partitions of one topic in an assignment."""

    topic_id: Uuid
    topic_name: str
    partitions: tuple[Int32, ...]


class ConsumerAssignment(Message, frozen=True, kw_only=True):
    """The current or target assignment of partitions to a member."""

    topic_partitions: tuple[ConsumerTopicPartitions, ...]


class ConsumerGroupMember(Message, frozen=True, kw_only=True):
    """A member of a group of the consumer protocol."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: Int32
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None = None
    assignment: ConsumerAssignment
    target_assignment: ConsumerAssignment
    member_type: Annotated[Int8, since(1)] = -1


class DescribedConsumerGroup(Message, frozen=True, kw_only=True):
    """State and members of one group, or an error."""

    error_code: Int16 = 0
    error_message: str | None = None
    group_id: str
    group_state: str = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: str = ""
    members: tuple[ConsumerGroupMember, ...]
    authorized_operations: Int32 = OPERATIONS_UNKNOWN


class ConsumerGroupDescribeResponse(Response, frozen=True, kw_only=True):
    """One description for each group."""

    throttle_time_ms: Int32 = 0
    groups: tuple[DescribedConsumerGroup, ...] = ()
