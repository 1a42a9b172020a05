"""Kafka requests that are run as commands, and the conversions of their messages."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from api.kafka import acls, apis, cluster, configs, partitions, quotas, tokens, users
from api.kafka.apis import Api
from api.kafka.fields import Response
from api.kafka.messages.cluster import UnregisterBrokerResponse
from records.errors import RequestError


class Translation(msgspec.Struct, frozen=True):
    """A command, and functions that convert a Kafka request to and from the command's messages.

    `request` converts the request, and raises RequestError if no command can express it. `response`
    converts the command's result to a response; `refused` converts an error to a response, if the
    whole request is refused. If `needs_authorizer`, the request is refused on a cluster whose
    authorizer allows everything.
    """

    command: str
    request: Callable[[Any], Any]
    response: Callable[[Any], Response]
    refused: Callable[[Any, RequestError], Response]
    needs_authorizer: bool = False


TRANSLATIONS: Mapping[Api, Translation] = {
    apis.DESCRIBE_ACLS: Translation(
        "acls list",
        acls.listing,
        acls.listing_response,
        lambda _, error: acls.listing_refused(error),
        needs_authorizer=True,
    ),
    apis.CREATE_ACLS: Translation(
        "acls create",
        acls.creation,
        acls.creation_response,
        acls.creation_refused,
        needs_authorizer=True,
    ),
    apis.DELETE_ACLS: Translation(
        "acls delete",
        acls.deletion,
        acls.deletion_response,
        acls.deletion_refused,
        needs_authorizer=True,
    ),
    apis.ALTER_CONFIGS: Translation(
        "configs replace",
        configs.replacement,
        configs.replacement_response,
        configs.replacement_refused,
    ),
    apis.INCREMENTAL_ALTER_CONFIGS: Translation(
        "configs alter",
        configs.alteration,
        configs.alteration_response,
        configs.alteration_refused,
    ),
    apis.CREATE_PARTITIONS: Translation(
        "partitions create",
        partitions.growth,
        partitions.growth_response,
        partitions.growth_refused,
    ),
    apis.ELECT_LEADERS: Translation(
        "leaders elect",
        partitions.election,
        partitions.election_response,
        lambda _, error: partitions.election_refused(error),
    ),
    apis.ALTER_PARTITION_REASSIGNMENTS: Translation(
        "reassignments alter",
        partitions.moves,
        partitions.moves_response,
        lambda _, error: partitions.moves_refused(error),
    ),
    apis.LIST_PARTITION_REASSIGNMENTS: Translation(
        "reassignments list",
        partitions.listing,
        partitions.listing_response,
        lambda _, error: partitions.listing_refused(error),
    ),
    apis.UNREGISTER_BROKER: Translation(
        "brokers unregister",
        cluster.unregistration,
        lambda _: UnregisterBrokerResponse(),
        lambda _, error: cluster.unregistration_refused(error),
    ),
    apis.CREATE_DELEGATION_TOKEN: Translation(
        "tokens create", tokens.creation, tokens.creation_response, tokens.creation_refused
    ),
    apis.RENEW_DELEGATION_TOKEN: Translation(
        "tokens renew", tokens.renewal, tokens.renewal_response, tokens.renewal_refused
    ),
    apis.EXPIRE_DELEGATION_TOKEN: Translation(
        "tokens expire", tokens.expiration, tokens.expiration_response, tokens.expiration_refused
    ),
    apis.DESCRIBE_DELEGATION_TOKEN: Translation(
        "tokens describe",
        tokens.description,
        tokens.description_response,
        tokens.description_refused,
    ),
    apis.DESCRIBE_CLIENT_QUOTAS: Translation(
        "quotas describe",
        quotas.description,
        quotas.description_response,
        lambda _, error: quotas.description_refused(error),
    ),
    apis.ALTER_CLIENT_QUOTAS: Translation(
        "quotas alter", quotas.alteration, quotas.alteration_response, quotas.alteration_refused
    ),
    apis.DESCRIBE_USER_SCRAM_CREDENTIALS: Translation(
        "users describe",
        users.description,
        users.description_response,
        lambda _, error: users.description_refused(error),
    ),
    apis.ALTER_USER_SCRAM_CREDENTIALS: Translation(
        "users alter", users.alteration, users.alteration_response, users.alteration_refused
    ),
}
