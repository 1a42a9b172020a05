"""Forwards admin requests from a broker to the controller.

They travel in an envelope with the principal and the address of the client. Requests and responses
keep their bytes, so that tagged fields unknown to this release get through.

Source: KIP-590.
"""

from collections.abc import Awaitable, Callable

from api.kafka import apis, configs, features, topics
from api.kafka.apis import Api
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.listener import Handler
from api.kafka.messages.configs import DescribeConfigsRequest
from api.kafka.messages.features import UpdateFeaturesRequest
from api.kafka.messages.topics import (
    CreateTopicsRequest,
    DeletePartitionsRequest,
    DeleteTopicsRequest,
    RunCommandRequest,
)
from api.kafka.translations import TRANSLATIONS
from controller.authorization.caller import Caller
from records.errors import RequestError, UnavailableError

Forward = Callable[[RequestFrame, Caller], Awaitable[bytes]]
"""Sends a request to the controller; raises RequestError or UnavailableError."""

FORWARDED = (
    apis.CREATE_TOPICS,
    apis.DELETE_TOPICS,
    apis.DELETE_PARTITIONS,
    apis.DESCRIBE_CONFIGS,
    apis.UPDATE_FEATURES,
    apis.RUN_COMMAND,
    *TRANSLATIONS,
)
"""The requests that only the controller can answer."""


def forwarding_handlers(forward: Forward) -> dict[Api, Handler]:
    """Return the handlers of forwarded requests, for a listener."""

    async def handle(frame: RequestFrame, caller: Caller) -> Response | bytes:
        try:
            return await forward(frame, caller)
        except RequestError as error:
            return _refused(frame, error)
        except UnavailableError as error:
            return _refused(
                frame, RequestError("REQUEST_TIMED_OUT", str(error), outcome=error.outcome)
            )

    return dict.fromkeys(FORWARDED, handle)


def _refused(frame: RequestFrame, error: RequestError) -> Response:
    """Return the error response for a request that the controller did not answer."""
    if frame.api in TRANSLATIONS:
        return TRANSLATIONS[frame.api].refused(frame.body, error)
    match frame.body:
        case CreateTopicsRequest() as request:
            return topics.creation_refused(request, error)
        case DeleteTopicsRequest() as request:
            return topics.deletion_refused(request, error)
        case DeletePartitionsRequest():
            return topics.shrinking_refused(error)
        case DescribeConfigsRequest() as request:
            return configs.description_refused(request, error)
        case UpdateFeaturesRequest():
            return features.update_refused(error)
        case RunCommandRequest():
            return topics.command_refused(error)
    raise AssertionError(f"{frame.api.name} is not forwarded")
