"""Asks a broker for its cluster's id, which controllers expect in a reader's requests.

Source: KIP-78.
"""

from api.clients.client import ServerAddress
from api.kafka.apis import METADATA
from api.kafka.connection import Connection
from api.kafka.messages.api_versions import ApiVersionsResponse
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse
from api.quorum.controller import API_VERSIONS_VERSION, CLIENT_ID, software
from api.security.client import ConnectionSecurity
from records.errors import RequestError


async def cluster_id_of(broker: ServerAddress, security: ConnectionSecurity) -> str:
    """Return the id of the cluster that a broker is in.

    Raises:
        UnavailableError: no answer.
        RequestError: the server is no broker, or refuses the login.
    """
    address = f"{broker.host}:{broker.port}"
    connection = await Connection.open(broker.host, broker.port, CLIENT_ID, security)
    try:
        versions = await connection.request(
            software(), ApiVersionsResponse, version=API_VERSIONS_VERSION
        )
        newest = {each.api_key: each.max_version for each in versions.api_keys}
        if METADATA.key not in newest:
            raise RequestError(
                "UNSUPPORTED_VERSION",
                f"{address} does not answer Metadata requests, so it is not a broker's listener; "
                "name one with --brokers",
            )
        version = min(METADATA.max_version, newest[METADATA.key])
        answer = await connection.request(
            MetadataRequest(topics=(), allow_auto_topic_creation=False),
            MetadataResponse,
            version=version,
        )
    finally:
        await connection.close()
    if not answer.cluster_id:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{address} does not name its cluster; give its id with --cluster-id",
        )
    return answer.cluster_id
