"""Requests about SCRAM credentials: conversion between Kafka's messages and our commands.

Kafka's request contains the salted password. This module derives the SCRAM keys from it, so that
the command does not contain the salted password.
"""

from collections.abc import Iterable

from api.kafka.errors import code_of, refusal_code, refusal_message
from api.kafka.messages.users import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    ScramCredentialUpsertion,
)
from controller.decisions.outcome import Refusal
from controller.decisions.security.scram import ScramKeys, ScramMechanism, keys_of
from controller.decisions.security.users import (
    AlterUsers,
    ScramDeletion,
    ScramUpsertion,
    UserResult,
)
from controller.descriptions.users import DescribeUsers, UserDescription
from records.errors import RequestError


def description(request: DescribeUserScramCredentialsRequest) -> DescribeUsers:
    """Return the query for a DescribeUserScramCredentials."""
    return DescribeUsers(users=tuple([user.name for user in request.users or ()]))


def description_response(
    users: Iterable[UserDescription],
) -> DescribeUserScramCredentialsResponse:
    """Return the response with the credentials of each user."""
    return DescribeUserScramCredentialsResponse(
        results=tuple(
            [
                DescribeUserScramCredentialsResult(
                    user=user.user,
                    error_code=refusal_code(user.refusal),
                    error_message=refusal_message(user.refusal),
                    credential_infos=tuple(
                        [
                            CredentialInfo(mechanism=c.mechanism, iterations=c.iterations)
                            for c in user.credentials
                        ]
                    ),
                )
                for user in users
            ]
        )
    )


def description_refused(error: RequestError) -> DescribeUserScramCredentialsResponse:
    """Return the response to a request that is refused as a whole."""
    return DescribeUserScramCredentialsResponse(
        error_code=code_of(error.code), error_message=str(error)
    )


def alteration(request: AlterUserScramCredentialsRequest) -> AlterUsers:
    """Return the command for an AlterUserScramCredentials."""
    return AlterUsers(
        deletions=tuple(
            [ScramDeletion(user=item.name, mechanism=item.mechanism) for item in request.deletions]
        ),
        upsertions=tuple([_upsertion(item) for item in request.upsertions]),
    )


def alteration_response(results: Iterable[UserResult]) -> AlterUserScramCredentialsResponse:
    """Return the response with one result per user, even if the request contained a user twice."""
    by_user = {result.user: result for result in results}
    return AlterUserScramCredentialsResponse(
        results=tuple(
            [
                AlterUserScramCredentialsResult(
                    user=result.user,
                    error_code=refusal_code(result.refusal),
                    error_message=refusal_message(result.refusal),
                )
                for result in by_user.values()
            ]
        )
    )


def alteration_refused(
    request: AlterUserScramCredentialsRequest, error: RequestError
) -> AlterUserScramCredentialsResponse:
    """Return the response to a request that is refused as a whole."""
    named = [item.name for item in request.deletions]
    named += [item.name for item in request.upsertions]
    refusal = Refusal.of(error)
    return alteration_response([UserResult(user=name, refusal=refusal) for name in named])


def _upsertion(item: ScramCredentialUpsertion) -> ScramUpsertion:
    keys = _keys(item)
    return ScramUpsertion(
        user=item.name,
        mechanism=item.mechanism,
        iterations=item.iterations,
        salt=item.salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
    )


def _keys(item: ScramCredentialUpsertion) -> ScramKeys:
    """Return the SCRAM keys; empty keys if the mechanism or the password's size is invalid."""
    try:
        mechanism = ScramMechanism(item.mechanism)
    except ValueError:
        return ScramKeys(b"", b"")
    if len(item.salted_password) != mechanism.key_size_bytes:
        return ScramKeys(b"", b"")
    return keys_of(mechanism.hash_name, item.salted_password)
