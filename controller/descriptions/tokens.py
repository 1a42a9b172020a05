"""Describes delegation tokens, without their HMACs.

Source: KIP-48 (DescribeDelegationToken), KIP-373 (requester).
"""

import msgspec
from msgspec.structs import replace

from controller.authorization.authorizer import (
    Access,
    Operation,
    Resource,
    ResourceType,
    user_resource,
)
from controller.decisions.request import Request
from controller.descriptions.view import View
from records.secrets import REDACTED
from replay.image.fields import copied


class DescribeTokens(Request["tuple[TokenDescription, ...]"], frozen=True, kw_only=True):
    """A request for tokens that one of `owners` owns, requested or may renew; empty: all tokens.

    `show_secrets`: include the ids of the tokens, which requires a separate right.
    """

    owners: tuple[str, ...] = ()
    show_secrets: bool = False


class TokenDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A token; times in ms since 1970."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    expiration_timestamp: int
    max_timestamp: int

    def concerns(self, principal: str) -> bool:
        """True if the principal is the token's owner, its requester, or one of its renewers."""
        return principal in (self.owner, self.requester, *self.renewers)


def tokens_described(view: View, request: DescribeTokens) -> tuple[TokenDescription, ...]:
    """Describe tokens in the order of their creation."""
    found = [
        copied(token, TokenDescription)
        for token in sorted(
            view.image.delegation_tokens(), key=lambda t: (t.issue_timestamp, t.token_id)
        )
    ]
    wanted = [
        token
        for token in found
        if not request.owners or any(token.concerns(owner) for owner in request.owners)
    ]
    return tuple([token if request.show_secrets else _redacted(token) for token in wanted])


def _redacted(token: TokenDescription) -> TokenDescription:
    return replace(token, token_id=REDACTED)


def visible_tokens(
    access: Access, request: DescribeTokens, response: tuple[TokenDescription, ...]
) -> tuple[TokenDescription, ...]:
    """Remove the tokens of other users that the caller may not describe.

    The caller may describe a token with DESCRIBE_TOKENS on the token's owner, or DESCRIBE on the
    token resource `*`. Kafka also accepts DESCRIBE on the single token, but ids are redacted here.
    """
    if access.allows(Operation.DESCRIBE, Resource(ResourceType.DELEGATION_TOKEN, "*")):
        return response
    return tuple(
        [
            token
            for token in response
            if token.concerns(access.caller.principal)
            or access.allows(Operation.DESCRIBE_TOKENS, user_resource(token.owner))
        ]
    )
