"""Authorizers: decide if a caller may do an operation on a resource.

Source: AclOperation and ResourceType of Kafka 4.0 (names and codes), KIP-11.
"""

import enum
from collections.abc import Mapping
from typing import NoReturn, Protocol

import msgspec

from controller.authorization.caller import Caller
from records.base import Uuid
from records.errors import RequestError
from replay.image.metadata import MetadataImage


class Operation(enum.Enum):
    """Kafka's operations, with their codes. ALL is for ACLs only."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class ResourceType(enum.Enum):
    """Kafka's resource types, with their codes; NAMESPACE is ours."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7
    NAMESPACE = 100


class Resource(msgspec.Struct, frozen=True):
    """An object that rights apply to; a topic is identified by its full name."""

    type: ResourceType
    name: str


CLUSTER = Resource(ResourceType.CLUSTER, "kafka-cluster")


def topic_resource(full_name: str) -> Resource:
    """Return the resource of a topic."""
    return Resource(ResourceType.TOPIC, full_name)


def namespace_resource(name: str) -> Resource:
    """Return the resource of a namespace."""
    return Resource(ResourceType.NAMESPACE, name)


def group_resource(name: str) -> Resource:
    """Return the resource of a consumer group."""
    return Resource(ResourceType.GROUP, name)


def user_resource(principal: str) -> Resource:
    """Return the resource of a user, for the right of others to act as that user."""
    return Resource(ResourceType.USER, principal)


class Authorizer(Protocol):
    """Decides whether operations are allowed; the current image is its only changing input."""

    def allows(
        self, image: MetadataImage, caller: Caller, operation: Operation, resource: Resource
    ) -> bool:
        """True if a caller may do an operation on a resource."""


class AllowAll:
    """Allows everything, like Kafka without an authorizer."""

    def allows(
        self, image: MetadataImage, caller: Caller, operation: Operation, resource: Resource
    ) -> bool:
        """Return True."""
        return True


ALLOW_ALL = AllowAll()

# Kafka has no errors for namespaces; as elsewhere, the errors of topics are used.
_CODES = {
    ResourceType.TOPIC: "TOPIC_AUTHORIZATION_FAILED",
    ResourceType.NAMESPACE: "TOPIC_AUTHORIZATION_FAILED",
    ResourceType.GROUP: "GROUP_AUTHORIZATION_FAILED",
    ResourceType.CLUSTER: "CLUSTER_AUTHORIZATION_FAILED",
    ResourceType.TRANSACTIONAL_ID: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    ResourceType.DELEGATION_TOKEN: "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
    ResourceType.USER: "CLUSTER_AUTHORIZATION_FAILED",
}


class Access(msgspec.Struct, frozen=True):
    """A caller's current rights; requests use the authorizer only through this class.

    Attributes:
        past_names: For a question about the past, the full names that topics had then, by topic id.
            None: the names in `image` are used.
    """

    authorizer: Authorizer
    image: MetadataImage
    caller: Caller
    past_names: Mapping[Uuid, str] | None = None

    def topic_name(self, topic_id: Uuid) -> str | None:
        """Return the full name by which rights on a topic are checked; None if it is unknown."""
        if self.past_names is not None:
            return self.past_names.get(topic_id)
        topic = self.image.topic(topic_id)
        return None if topic is None else self.image.full_name(topic)

    @property
    def allows_all(self) -> bool:
        """True if everything is allowed, so that answers need no filtering."""
        return self.caller.is_internal or self.authorizer is ALLOW_ALL

    def allows(self, operation: Operation, resource: Resource) -> bool:
        """True if the caller may do an operation on a resource."""
        if self.caller.is_internal:
            return True
        return self.authorizer.allows(self.image, self.caller, operation, resource)

    def require(self, operation: Operation, *resources: Resource) -> None:
        """Check that the operation is allowed on at least one of the resources.

        Raises:
            RequestError: TOPIC_AUTHORIZATION_FAILED or CLUSTER_AUTHORIZATION_FAILED, by the type of
                the last resource.
        """
        for resource in resources:
            if self.allows(operation, resource):
                return
        self.refuse(operation, resources[-1])

    def refuse(self, operation: Operation, resource: Resource) -> NoReturn:
        """Refuse an operation on a resource.

        Raises:
            RequestError: always; the same error as from `require`.
        """
        name = "" if resource == CLUSTER else f" {resource.name!r}"
        raise RequestError(
            _CODES[resource.type],
            f"{self.caller.principal} may not {operation.name} the {resource.type.name.lower()}"
            f"{name}",
        )

    def acting_as(self, principal: str | None) -> Caller:
        """Return the caller acting as `principal`; None means the caller's own principal.

        Requires Kafka's CREATE_TOKENS on that user: the right to act as the user (KIP-373).

        Raises:
            RequestError: CLUSTER_AUTHORIZATION_FAILED, the caller may not act as that user.
        """
        if principal is None or principal == self.caller.principal:
            return self.caller
        self.require(Operation.CREATE_TOKENS, user_resource(principal))
        return self.caller.acting_as(principal)


UNRESTRICTED = Access(ALLOW_ALL, MetadataImage.EMPTY, Caller())
"""The access on a node without authorization."""
