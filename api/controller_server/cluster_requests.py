"""Handlers of read-only requests about the cluster, answered from the image."""

from functools import partial

from api.kafka import apis, cluster, topic_partitions
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.features import Features
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.large_requests import answered_beside
from api.kafka.messages.cluster import DescribeClusterRequest, ListConfigResourcesRequest
from api.kafka.messages.topic_partitions import DescribeTopicPartitionsRequest
from api.service.service import Service
from controller.authorization.authorizer import CLUSTER, Operation
from controller.authorization.caller import Caller
from records.base import Uuid
from records.errors import RequestError


class ClusterRequests:
    """Handlers of cluster requests for one service."""

    def __init__(self, service: Service, *, strict_modes: bool) -> None:
        """Create the handlers; for `strict_modes` see `ListenerSettings`."""
        self._service = service
        self._strict_modes = strict_modes

    def handlers(self) -> dict[Api, Handler]:
        """Return the handler of each request type, for a listener."""
        return {
            apis.DESCRIBE_CLUSTER: self._describe_cluster,
            apis.DESCRIBE_TOPIC_PARTITIONS: self._describe_topic_partitions,
            apis.LIST_CONFIG_RESOURCES: self._list_config_resources,
        }

    async def _describe_cluster(self, frame: RequestFrame, caller: Caller) -> Response:
        request = frame.body
        assert isinstance(request, DescribeClusterRequest)
        cluster_id = self._service.settings.cluster_id
        try:
            return cluster.described(request, cluster_id, self._service.access(caller))
        except RequestError as error:
            return cluster.description_refused(request, error)

    async def _describe_topic_partitions(
        self, frame: RequestFrame, caller: Caller
    ) -> Response | bytes:
        request = frame.body
        assert isinstance(request, DescribeTopicPartitionsRequest)
        access = self._service.access(caller)
        try:
            respond = partial(
                topic_partitions.described, request, access, strict=self._strict_modes
            )
            return await answered_beside(frame, respond)
        except RequestError as error:
            return topic_partitions.refused(request, error)

    async def _list_config_resources(self, frame: RequestFrame, caller: Caller) -> Response:
        request = frame.body
        assert isinstance(request, ListConfigResourcesRequest)
        access = self._service.access(caller)
        try:
            access.require(Operation.DESCRIBE_CONFIGS, CLUSTER)
            return cluster.resources_listed(request, frame.version, access.image)
        except RequestError as error:
            return cluster.listing_refused(error)


def topic_name(service: Service, topic_id: Uuid) -> str | None:
    """Return the full name of a topic; None if the topic does not exist."""
    topic = service.image.topic(topic_id)
    return None if topic is None else service.image.full_name(topic)


def feature_levels(service: Service) -> Features:
    """Return the finalized feature levels, and the offset of that state."""
    image = service.image
    return Features(levels=image.features(), offset=image.provenance.next_offset - 1)
