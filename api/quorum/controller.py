"""A connection to one controller: its supported requests, sent one at a time."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Self, TypeVar

from api.kafka.apis import BY_REQUEST, FETCH, FETCH_SNAPSHOT
from api.kafka.connection import Connection
from api.kafka.errors import name_of
from api.kafka.fields import Request, Response
from api.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from api.quorum.requests import FETCH_VERSION_MIN
from api.security.client import ConnectionSecurity
from records.errors import RequestError

R = TypeVar("R", bound=Response)

CLIENT_ID = "metalog"

API_VERSIONS_VERSION = 3
"""Version of ApiVersions that every release with a quorum has; before 4.x, the latest version."""


def software() -> ApiVersionsRequest:
    """Return an ApiVersions request with this software's name and version, which Kafka requires."""
    return ApiVersionsRequest(
        client_software_name=CLIENT_ID, client_software_version=version("metadata-log")
    )


class Controller:
    """One controller of a quorum. Only one request is in flight at a time.

    Attributes:
        address: `HOST:PORT`, for errors.
    """

    def __init__(self, address: str, connection: Connection, versions: Mapping[int, int]) -> None:
        """Use an open connection; `versions` has the newest supported version of each API key."""
        self.address = address
        self._connection = connection
        self._versions = versions

    @classmethod
    async def open(
        cls, host: str, port: int, security: ConnectionSecurity, timeout_s: float
    ) -> Self:
        """Connect to a controller, and ask which requests it takes.

        Raises:
            UnavailableError: no answer in time, or one side refuses the other's certificate.
            RequestError: the server refuses the login, is a broker, or its release is too old.
        """
        address = f"{host}:{port}"
        connection = await Connection.open(host, port, CLIENT_ID, security)
        try:
            answer = await connection.request(
                software(),
                ApiVersionsResponse,
                version=API_VERSIONS_VERSION,
                timeout_s=timeout_s,
            )
            if answer.error_code:
                name = name_of(answer.error_code)
                raise RequestError(name, f"{address} refuses ApiVersions: {name}")
            versions = {each.api_key: each.max_version for each in answer.api_keys}
            _check_versions(versions, address)
        except BaseException:
            await connection.close()
            raise
        return cls(address, connection, versions)

    @property
    def is_open(self) -> bool:
        """True if requests can still be sent."""
        return self._connection.is_open

    @property
    def newest_fetch(self) -> int:
        """The newest version of Fetch that the controller takes."""
        return self._versions[FETCH.key]

    def version_of(self, body: type[Request]) -> int:
        """Return the newest version of a request that both sides support."""
        api = BY_REQUEST[body]
        return min(api.max_version, self._versions[api.key])

    async def ask(self, body: Request, response: type[R], timeout_s: float) -> R:
        """Send a request and wait for its answer.

        Raises:
            UnavailableError: no answer in time; close the connection.
        """
        return await self._connection.request(
            body, response, version=self.version_of(type(body)), timeout_s=timeout_s
        )

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


def _check_versions(versions: Mapping[int, int], address: str) -> None:
    if FETCH_SNAPSHOT.key not in versions or FETCH.key not in versions:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{address} does not serve the metadata log: it is a broker's listener, or not "
            "Kafka's; name a controller's listener (controller.listener.names)",
        )
    if versions[FETCH.key] < FETCH_VERSION_MIN:
        raise RequestError(
            "UNSUPPORTED_VERSION",
            f"{address} takes Fetch up to version {versions[FETCH.key]}, as Kafka 3.0 does: the "
            "quorum's log can be read over the network from Kafka 3.1 on; import a node's "
            "directory with `metalog import kraft`",
        )
