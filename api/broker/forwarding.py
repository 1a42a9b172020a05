"""Forwards admin requests from a broker to the controller.

Each request is sent in an envelope with the principal and the address of the client. The bytes of
requests and responses are not changed, so that tagged fields unknown to this release are kept.

Source: KIP-590.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from api.kafka import (
    apis,
    cluster,
    configs,
    features,
    partition_removal,
    quorum,
    run_command,
    topic_partitions,
    topics,
)
from api.kafka.apis import Api
from api.kafka.dispatch import Handler
from api.kafka.fields import Response
from api.kafka.frames import RequestFrame
from api.kafka.translations import TRANSLATIONS
from controller.authorization.caller import Caller
from records.errors import RequestError, UnavailableError

Forward = Callable[[RequestFrame, Caller], Awaitable[bytes]]
"""Sends a request to the controller; raises RequestError or UnavailableError."""

_REFUSED: Mapping[Api, Callable[[Any, RequestError], Response]] = {
    apis.CREATE_TOPICS: topics.creation_refused,
    apis.DELETE_TOPICS: topics.deletion_refused,
    apis.DELETE_PARTITIONS: lambda _, error: partition_removal.refused(error),
    apis.DESCRIBE_CONFIGS: configs.description_refused,
    apis.UPDATE_FEATURES: lambda _, error: features.update_refused(error),
    apis.DESCRIBE_CLUSTER: cluster.description_refused,
    apis.DESCRIBE_QUORUM: lambda _, error: quorum.refused(error),
    apis.DESCRIBE_TOPIC_PARTITIONS: topic_partitions.refused,
    apis.LIST_CONFIG_RESOURCES: lambda _, error: cluster.listing_refused(error),
    apis.RUN_COMMAND: lambda _, error: run_command.refused(error),
    **{api: translation.refused for api, translation in TRANSLATIONS.items()},
}
"""The error response to a request that the controller did not answer."""

FORWARDED = tuple(_REFUSED)
"""The requests that only the controller can answer."""


def forwarding_handlers(forward: Forward) -> dict[Api, Handler]:
    """Return a listener's handlers for the requests that are forwarded."""

    async def handle(frame: RequestFrame, caller: Caller) -> Response | bytes:
        try:
            return await forward(frame, caller)
        except RequestError as error:
            return _REFUSED[frame.api](frame.body, error)
        except UnavailableError as error:
            timed_out = RequestError("REQUEST_TIMED_OUT", str(error), outcome=error.outcome)
            return _REFUSED[frame.api](frame.body, timed_out)

    return dict.fromkeys(FORWARDED, handle)
