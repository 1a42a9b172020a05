"""Messages about the whole cluster: its nodes, resources with configs, removal of brokers.

Source: KIP-700 and KIP-919 (DescribeCluster), KIP-1073 (fenced brokers), KIP-1142
(ListConfigResources), KIP-500 (UnregisterBroker).
"""

from typing import Annotated

from api.kafka.fields import Int8, Int16, Int32, Message, Request, Response, since
from api.kafka.messages.metadata import OPERATIONS_UNKNOWN
from replay.image.configs import CLIENT_METRICS

BROKERS = 1
CONTROLLERS = 2
"""Endpoint type of controllers; BROKERS is that of brokers."""


class DescribeClusterRequest(Request, frozen=True, kw_only=True):
    """Describe the brokers or the controllers of the cluster."""

    include_cluster_authorized_operations: bool
    endpoint_type: Annotated[Int8, since(1)] = BROKERS
    include_fenced_brokers: Annotated[bool, since(2)] = False


class DescribedNode(Message, frozen=True, kw_only=True):
    """A node's id, address and rack, and whether it is a fenced broker."""

    broker_id: Int32
    host: str
    port: Int32
    rack: str | None = None
    is_fenced: Annotated[bool, since(2)] = False


class DescribeClusterResponse(Response, frozen=True, kw_only=True):
    """The nodes of the cluster, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    endpoint_type: Annotated[Int8, since(1)] = BROKERS
    cluster_id: str = ""
    controller_id: Int32 = -1
    brokers: tuple[DescribedNode, ...] = ()
    cluster_authorized_operations: Int32 = OPERATIONS_UNKNOWN


class ListConfigResourcesRequest(Request, frozen=True, kw_only=True):
    """List the resources of the given types; an empty list means all types.

    Version 0 lists only client metrics.
    """

    resource_types: Annotated[tuple[Int8, ...], since(1)] = ()


class ListedConfigResource(Message, frozen=True, kw_only=True):
    """Name and type of one resource."""

    resource_name: str
    resource_type: Annotated[Int8, since(1)] = CLIENT_METRICS


class ListConfigResourcesResponse(Response, frozen=True, kw_only=True):
    """The resources of the requested types, or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    config_resources: tuple[ListedConfigResource, ...] = ()


class UnregisterBrokerRequest(Request, frozen=True, kw_only=True):
    """Remove the registration of a broker that will not return."""

    broker_id: Int32


class UnregisterBrokerResponse(Response, frozen=True, kw_only=True):
    """Response to UnregisterBroker: success or an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
