"""Requests about the whole cluster: conversion between Kafka's messages and our commands."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from api.kafka.errors import code_of
from api.kafka.messages.cluster import (
    BROKERS,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribedNode,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListedConfigResource,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from api.kafka.metadata import cluster_operations, forwarding_broker
from controller.authorization.authorizer import Access
from records.errors import RequestError
from replay.image.cluster import Broker
from replay.image.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from replay.image.metadata import MetadataImage

_LISTED_TYPES = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


def described(
    request: DescribeClusterRequest, cluster_id: str, access: Access
) -> DescribeClusterResponse:
    """Return the response with the brokers in the image of `access`.

    Raises:
        RequestError: UNSUPPORTED_ENDPOINT_TYPE, the request is for controllers, whose addresses are
            not in the log.
    """
    if request.endpoint_type != BROKERS:
        raise RequestError(
            "UNSUPPORTED_ENDPOINT_TYPE",
            f"endpoint type {request.endpoint_type} is not supported; ask for brokers (1)",
        )
    brokers = sorted(access.image.brokers(), key=lambda broker: broker.broker_id)
    live = [broker for broker in brokers if not broker.fenced and broker.end_points]
    shown = brokers if request.include_fenced_brokers else live
    response = DescribeClusterResponse(
        cluster_id=cluster_id,
        controller_id=forwarding_broker([broker.broker_id for broker in live]),
        brokers=tuple([_node(broker) for broker in shown if broker.end_points]),
    )
    if request.include_cluster_authorized_operations:
        return replace(response, cluster_authorized_operations=cluster_operations(access))
    return response


def description_refused(
    request: DescribeClusterRequest, error: RequestError
) -> DescribeClusterResponse:
    """Return the response to a refused DescribeCluster."""
    return DescribeClusterResponse(
        error_code=code_of(error.code),
        error_message=str(error),
        endpoint_type=request.endpoint_type,
    )


def _node(broker: Broker) -> DescribedNode:
    return DescribedNode(
        broker_id=broker.broker_id,
        host=broker.end_points[0].host,
        port=broker.end_points[0].port,
        rack=broker.rack,
        is_fenced=broker.fenced,
    )


def resources_listed(
    request: ListConfigResourcesRequest, version: int, image: MetadataImage
) -> ListConfigResourcesResponse:
    """Return the response with the resources of the requested types.

    It lists all topics and brokers; of any other type, it lists only the resources that have
    configs.

    Raises:
        RequestError: UNSUPPORTED_VERSION, resources of a requested type cannot be listed.
    """
    types = tuple(dict.fromkeys(request.resource_types)) or _LISTED_TYPES
    if version == 0:
        types = (CLIENT_METRICS,)
    unknown = [each for each in types if each not in _LISTED_TYPES]
    if unknown:
        raise RequestError(
            "UNSUPPORTED_VERSION", f"resources of type {unknown[0]} cannot be listed"
        )
    return ListConfigResourcesResponse(
        config_resources=tuple(
            [
                ListedConfigResource(resource_name=name, resource_type=each)
                for each in types
                for name in sorted(_names(each, image))
            ]
        )
    )


def listing_refused(error: RequestError) -> ListConfigResourcesResponse:
    """Return the response to a refused ListConfigResources."""
    return ListConfigResourcesResponse(error_code=code_of(error.code))


def _names(resource_type: int, image: MetadataImage) -> Iterator[str]:
    """Yield the names of a type's resources: all topics or brokers, else those with configs."""
    if resource_type == TOPIC:
        yield from map(image.full_name, image.topics())
    elif resource_type in (BROKER, BROKER_LOGGER):
        yield from [str(broker.broker_id) for broker in image.brokers()]
    else:
        yield from _configured(resource_type, image)


def _configured(resource_type: int, image: MetadataImage) -> Iterable[str]:
    return [name for (kind, name), _ in image.configs() if kind == resource_type]


def unregistration(request: UnregisterBrokerRequest) -> int:
    """Return the id of the broker to unregister; the command's request is just this id."""
    return request.broker_id


def unregistration_refused(error: RequestError) -> UnregisterBrokerResponse:
    """Return the response to a refused UnregisterBroker."""
    return UnregisterBrokerResponse(error_code=code_of(error.code), error_message=str(error))
