"""The parts common to all requests: the caller, the query, and headers stored in the log."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec

from api.http.callers import headers_of
from api.http.parameters import one
from api.http.versions import expected_versions
from api.service.service import Service
from controller.authorization.caller import Caller
from controller.decisions.versions import ExpectedVersion
from records.errors import RequestError, UnavailableError

if TYPE_CHECKING:
    from api.http.shared_state import SharedState

# Source: W3C Trace Context, version 00 and later.
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")

_FIELDS_MAX = 5_000


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a request that do not depend on its path.

    Attributes:
        documents: Semaphore that is held while a large answer is made.
    """

    documents: asyncio.Semaphore
    service: Service
    caller: Caller
    values: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]

    def acting_caller(self) -> Caller:
        """Return the caller, acting as the identity in the parameter `as` if that is given.

        Raises:
            RequestError: CLUSTER_AUTHORIZATION_FAILED.
        """
        return self.service.access(self.caller).acting_as(one(self.values, "as"))

    @property
    def reason(self) -> str | None:
        """The reason for a change, to be stored in the log."""
        return one(self.values, "reason")

    @property
    def request_id(self) -> str | None:
        """The id that makes the request safe to repeat; None if it has no id."""
        given = self.headers.get("idempotency-key")
        return given if given is None else given.removeprefix('"').removesuffix('"')

    @property
    def trace_parent(self) -> str | None:
        """The W3C trace parent of the request; None if it is invalid, as the W3C requires."""
        found = self.headers.get("traceparent", "")
        return found if _TRACE_PARENT.fullmatch(found) else None

    @property
    def expected_versions(self) -> tuple[ExpectedVersion, ...]:
        """The versions that objects must have, from the header If-Match.

        Raises:
            RequestError: INVALID_REQUEST, the header cannot be read.
        """
        return expected_versions(self.headers.get("if-match"))


SHARED = "shared"
"""Where a request's state holds what the handlers share."""


def shared_state(scope: Mapping[str, Any]) -> "SharedState":
    """Return the state that the handlers of all requests share."""
    shared: SharedState = scope["state"][SHARED]
    return shared


def asked_of(scope: Mapping[str, Any]) -> Asked:
    """Return the parts of a request that do not depend on its path.

    Raises:
        UnavailableError: the service is still loading the log.
        RequestError: INVALID_REQUEST, the query cannot be read.
    """
    shared = shared_state(scope)
    if shared.service is None:
        raise UnavailableError("the service is loading the log; ask again")
    return Asked(
        documents=shared.documents,
        service=shared.service,
        caller=scope["state"]["caller"],
        values=_query(scope["query_string"]),
        headers=headers_of(scope),
    )


def _query(raw: bytes) -> dict[str, list[str]]:
    if not raw:
        return {}
    try:
        return parse_qs(
            raw.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_FIELDS_MAX,
        )
    except ValueError as error:
        raise RequestError("INVALID_REQUEST", f"the query cannot be read: {error}") from error
