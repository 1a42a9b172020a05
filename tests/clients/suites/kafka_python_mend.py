"""A defect of kafka-python 3.0.12 that fails its suite on a busy machine, and its mend.

A client has one Metadata request in flight. Topics that are subscribed to meanwhile are not in that
request, but its response marks the metadata as up to date: a consumer without a group then receives
nothing until `metadata_max_age_ms` has passed, 5 minutes by default.
"""

from kafka.cluster import ClusterMetadata
from kafka.protocol.metadata import MetadataResponse

update_as_released = ClusterMetadata.update_metadata


def mend() -> None:
    """Let clients of this process request the topics that an answer leaves out."""
    ClusterMetadata.update_metadata = _update


def _update(metadata: ClusterMetadata, response: MetadataResponse) -> None:
    update_as_released(metadata, response)
    # A response names each requested topic, also those that do not exist.
    if metadata._topics - {topic.name for topic in response.topics}:
        metadata.request_update()
