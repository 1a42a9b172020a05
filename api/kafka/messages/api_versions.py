"""ApiVersions messages: the requests that a listener supports. Source: KIP-35, KIP-511, KIP-584."""

from typing import Annotated

from api.kafka.fields import Int16, Int32, Int64, Message, Request, Response, since, tagged


class ApiVersionsRequest(Request, frozen=True, kw_only=True):
    """Ask which requests a listener supports; usually a client's first request."""

    client_software_name: Annotated[str, since(3)] = ""
    client_software_version: Annotated[str, since(3)] = ""


class ApiVersion(Message, frozen=True, kw_only=True):
    """The supported versions of one request, both bounds inclusive."""

    api_key: Int16
    min_version: Int16
    max_version: Int16


class SupportedFeature(Message, frozen=True, kw_only=True):
    """The levels of a feature that this server supports."""

    name: str
    min_version: Int16
    max_version: Int16


class FinalizedFeature(Message, frozen=True, kw_only=True):
    """A feature's finalized level."""

    name: str
    max_version_level: Int16
    min_version_level: Int16


class ApiVersionsResponse(Response, frozen=True, kw_only=True):
    """The supported requests and features; the response header always has version 0."""

    error_code: Int16 = 0
    api_keys: tuple[ApiVersion, ...] = ()
    throttle_time_ms: Annotated[Int32, since(1)] = 0
    supported_features: Annotated[tuple[SupportedFeature, ...], tagged(0, 3)] = ()
    finalized_features_epoch: Annotated[Int64, tagged(1, 3)] = -1
    finalized_features: Annotated[tuple[FinalizedFeature, ...], tagged(2, 3)] = ()
