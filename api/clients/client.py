"""A typed client of a running service, over Kafka's protocol.

    async with await MetadataClient.connect("kafka://127.0.0.1:9092") as client:
        (result,) = await client.create_topics(CreateTopics(topics=(NewTopic(name="orders"),)))

Requests and results have the same types as in the service's process (`api.Service`), so the same
code works there and over a connection.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from api.kafka import partition_removal, run_command, topics
from api.kafka.connection import REQUEST_TIMEOUT_S, Connection
from api.kafka.errors import check
from api.kafka.fields import Request, Response
from api.kafka.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from api.kafka.messages.topics import (
    CreateTopicsResponse,
    DeletePartitionsResponse,
    DeleteTopicsResponse,
    RunCommandRequest,
    RunCommandResponse,
)
from api.requests.wire_requests import CommandClient, WireAnswer, WireRequest
from api.security.client import ClientSecurity
from api.security.listeners import SecurityProtocol
from controller.decisions.topics.partition_removal import DeletePartitions, ShrinkResult
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, TopicResult
from records.errors import RequestError, UnavailableError

R = TypeVar("R", bound=Response)
T = TypeVar("T")

_CLIENT_ID = "metalog"
DEFAULT_PORT = 9092
_PROTOCOLS = {
    "": SecurityProtocol.PLAINTEXT,
    "kafka": SecurityProtocol.PLAINTEXT,
    **{protocol.name.lower(): protocol for protocol in SecurityProtocol},
}
_HTTP = ("http", "https")

ANSWER_TIMEOUT_S = 600.0
"""Longest wait for an answer: some questions require reading all of a long log."""


class ServerAddress(msgspec.Struct, frozen=True):
    """Address of a service and its security protocol, parsed from a URL."""

    host: str
    port: int
    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT


def server_address(url: str) -> ServerAddress:
    """Parse the address of a service; the port is optional.

    Args:
        url: `kafka://HOST:PORT`, `HOST:PORT`, or a URL with a security protocol, such as
            `sasl_ssl://HOST:PORT`.

    Raises:
        RequestError: INVALID_REQUEST, the URL has none of these forms.
    """
    # The standard library knows no schemes with an underscore.
    scheme, separator, rest = url.rpartition("://")
    parts = urlsplit(f"//{rest}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    protocol = _PROTOCOLS.get(scheme)
    if scheme.lower() in _HTTP:
        raise RequestError(
            "INVALID_REQUEST",
            f"{url!r} is a service's address for HTTP; name the address of its Kafka listener "
            "instead, such as kafka://127.0.0.1:9092",
        )
    if not host or protocol is None or (separator and not scheme):
        raise RequestError(
            "INVALID_REQUEST", f"{url!r} is not a server; name one such as kafka://127.0.0.1:9092"
        )
    return ServerAddress(host, DEFAULT_PORT if port is None else port, protocol)


def server_addresses(url: str) -> tuple[ServerAddress, ...]:
    """Parse the addresses of the nodes of a service, such as `kafka://HOST:PORT,HOST:PORT`.

    Raises:
        RequestError: as for `server_address`.
    """
    scheme, separator, rest = url.rpartition("://")
    return tuple([server_address(f"{scheme}{separator}{each}") for each in rest.split(",")])


async def first_that_answers(
    addresses: Sequence[ServerAddress], connect: Callable[[ServerAddress], Awaitable[T]]
) -> T:
    """Try to connect to the addresses in turn; return the first connection that can be made.

    Raises:
        UnavailableError: no address answers; the error contains the error of each.
        RequestError: as `connect`.
    """
    errors = []
    for at in addresses:
        try:
            return await connect(at)
        except UnavailableError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    raise UnavailableError("; ".join(map(str, errors))) from errors[-1]


class MetadataClient(CommandClient):
    """A client of one service; requests may run concurrently.

    Attributes:
        connection: The Kafka connection, for requests that have no method here.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @classmethod
    async def connect(
        cls, url: str, *, client_id: str = _CLIENT_ID, security: ClientSecurity | None = None
    ) -> Self:
        """Connect to a service.

        Args:
            url: `kafka://HOST:PORT`, or a URL with a security protocol, such as
                `sasl_ssl://HOST:PORT`; several nodes as `HOST:PORT,HOST:PORT`.
            security: The user for SASL and the files for TLS; None: as in the file
                `$METALOG_CLIENT`.

        Raises:
            UnavailableError: the address does not answer, or a certificate is refused.
            RequestError: INVALID_REQUEST, the URL is malformed; or INVALID_CONFIG or
                SASL_AUTHENTICATION_FAILED.
        """
        addresses = server_addresses(url)
        if security is None:
            security = ClientSecurity.of_environment()
        used = security.used_with(addresses[0].protocol)

        async def connect(at: ServerAddress) -> Connection:
            return await Connection.open(at.host, at.port, client_id, used)

        return cls(await first_that_answers(addresses, connect))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def is_open(self) -> bool:
        """True if requests can still be sent."""
        return self.connection.is_open

    async def close(self) -> None:
        """Close the connection."""
        await self.connection.close()

    async def metadata(self, names: Sequence[str] | None = None) -> MetadataResponse:
        """Return the brokers and the topics in `names` (None: all topics), with partition modes.

        Raises:
            UnavailableError: no answer.
        """
        asked = None
        if names is not None:
            asked = tuple([MetadataRequestTopic(name=name) for name in names])
        return await self._ask(
            MetadataRequest(topics=asked, allow_auto_topic_creation=False, knows_modes=True),
            MetadataResponse,
        )

    async def create_topics(self, request: CreateTopics) -> tuple[TopicResult, ...]:
        """Create topics; returns one result per topic.

        Raises:
            RequestError: INVALID_REQUEST, a placement or a topic id is given; use `run` for these.
            UnavailableError: no answer, the outcome is unknown.
        """
        response = await self._ask(topics.creation_request(request), CreateTopicsResponse)
        return topics.created(response, with_configs=request.with_configs)

    async def delete_topics(self, request: DeleteTopics) -> tuple[TopicResult, ...]:
        """Delete topics; returns one result per topic.

        Raises:
            RequestError: INVALID_REQUEST, the request has `validate_only`; use `run` for that.
            UnavailableError: no answer, the outcome is unknown.
        """
        response = await self._ask(topics.deletion_request(request), DeleteTopicsResponse)
        return topics.deleted(response)

    async def delete_partitions(self, request: DeletePartitions) -> tuple[ShrinkResult, ...]:
        """Start the removal of partitions; returns one result per topic.

        Raises:
            RequestError: the whole request is refused.
            UnavailableError: no answer, the outcome is unknown.
        """
        response = await self._ask(partition_removal.message(request), DeletePartitionsResponse)
        check(response.error_code, response.error_message)
        return partition_removal.results_of(response)

    async def run_wire(self, request: WireRequest) -> WireAnswer:
        """Send an encoded command or question; raises as `run`."""
        response = await self.connection.request(
            RunCommandRequest(
                command=request.command,
                reason=request.reason,
                payload=request.request,
                request_id=request.request_id,
                trace_parent=request.trace_parent,
                principal=request.principal,
                point=request.point,
                cursor=request.cursor,
                min_offset=-1 if request.min_offset is None else request.min_offset,
                consistent=request.consistent,
            ),
            RunCommandResponse,
            timeout_s=ANSWER_TIMEOUT_S if request.is_question else REQUEST_TIMEOUT_S,
        )
        if response.error_code:
            raise run_command.error_of(response)
        return WireAnswer(
            response=response.payload,
            end_offset=response.end_offset,
            wrote=response.wrote,
            about=response.about,
            cursor=response.cursor,
            versions=response.versions,
        )

    async def _ask(self, request: Request, response: type[R]) -> R:
        return await self.connection.request(request, response)
