"""ApiVersions responses: the requests that a listener supports."""

from collections.abc import Iterable

from api.kafka import frames
from api.kafka.apis import API_VERSIONS, Api
from api.kafka.errors import CODES
from api.kafka.frames import UnsupportedVersionError
from api.kafka.messages.api_versions import ApiVersion, ApiVersionsResponse


def versions_response(apis: Iterable[Api], error_code: int = 0) -> ApiVersionsResponse:
    """Return the ApiVersions response of a listener that supports these requests."""
    ranges = [
        ApiVersion(
            api_key=api.key,
            min_version=api.min_version if api.advertised_from is None else api.advertised_from,
            max_version=api.max_version,
        )
        for api in sorted(apis, key=lambda api: api.key)
    ]
    return ApiVersionsResponse(error_code=error_code, api_keys=tuple(ranges))


def unsupported_versions(apis: Iterable[Api], error: UnsupportedVersionError) -> bytes:
    """Return the response frame for an ApiVersions request of an unsupported version.

    As in Kafka, the response is of version 0.
    """
    refusal = versions_response(apis, CODES["UNSUPPORTED_VERSION"])
    return frames.encode_response(API_VERSIONS, 0, error.correlation_id, refusal)
