"""Delegation tokens over Kafka's protocol."""

from pathlib import Path

import pytest

from api.kafka import apis, frames
from api.kafka.errors import CODES
from api.kafka.messages import tokens
from controller.decisions.context.context import Settings
from controller.decisions.security.tokens import SECRET_KEY, token_hmac
from tests.api.kafka.servers import server

_SETTINGS = Settings(static_configs={SECRET_KEY: "key"})
_ANN = tokens.TokenPrincipal(principal_type="User", principal_name="ann")
_ANONYMOUS = tokens.TokenPrincipal(principal_type="User", principal_name="ANONYMOUS")


@pytest.mark.parametrize("version", [1, 2])
async def test_token_lives_and_ends(tmp_path: Path, version: int) -> None:
    async with server(tmp_path, settings=_SETTINGS) as at:
        connection = at.client.connection
        created = await connection.request(
            tokens.CreateDelegationTokenRequest(
                owner_principal_type="User", owner_principal_name="ann", renewers=(_ANONYMOUS,)
            ),
            tokens.CreateDelegationTokenResponse,
        )
        assert created.error_code == 0
        assert (created.principal_type, created.principal_name) == ("User", "ann")
        assert created.token_requester_principal_name == "ANONYMOUS"
        assert created.hmac == token_hmac("key", created.token_id)
        renewed = await connection.request(
            tokens.RenewDelegationTokenRequest(hmac=created.hmac, renew_period_ms=60_000),
            tokens.RenewDelegationTokenResponse,
            version=version,
        )
        assert renewed.error_code == 0
        assert renewed.expiry_timestamp_ms < created.expiry_timestamp_ms
        described = await connection.request(
            tokens.DescribeDelegationTokenRequest(owners=(_ANN,)),
            tokens.DescribeDelegationTokenResponse,
            version=version,
        )
        (token,) = described.tokens
        assert (token.principal_name, token.hmac, token.renewers) == ("ann", b"", (_ANONYMOUS,))
        assert token.expiry_timestamp == renewed.expiry_timestamp_ms
        assert created.token_id not in repr(described)
        expired = await connection.request(
            tokens.ExpireDelegationTokenRequest(hmac=created.hmac),
            tokens.ExpireDelegationTokenResponse,
            version=version,
        )
        assert expired.error_code == 0
        again = await connection.request(
            tokens.ExpireDelegationTokenRequest(hmac=created.hmac),
            tokens.ExpireDelegationTokenResponse,
            version=version,
        )
        assert again.error_code == CODES["DELEGATION_TOKEN_NOT_FOUND"]
        assert list(at.service.image.delegation_tokens()) == []


async def test_refusals_have_kafkas_codes(tmp_path: Path) -> None:
    async with server(tmp_path, settings=_SETTINGS) as at:
        for code, request in (
            ("DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", tokens.CreateDelegationTokenRequest()),
            (
                "INVALID_PRINCIPAL_TYPE",
                tokens.CreateDelegationTokenRequest(
                    owner_principal_type="Group", owner_principal_name="a"
                ),
            ),
        ):
            answer = await at.client.connection.request(
                request, tokens.CreateDelegationTokenResponse
            )
            assert answer.error_code == CODES[code]
    async with server(tmp_path / "other") as at:
        answer = await at.client.connection.request(
            tokens.CreateDelegationTokenRequest(), tokens.CreateDelegationTokenResponse
        )
        assert answer.error_code == CODES["DELEGATION_TOKEN_AUTH_DISABLED"]


def test_bytes_are_those_of_kafkas_message_definitions() -> None:
    """The expected bytes were written by hand from CreateDelegationTokenRequest.json.

    One version is fixed, the other flexible.
    """
    request = tokens.CreateDelegationTokenRequest(renewers=(_ANN,), max_lifetime_ms=5)
    old = frames.encode_request(apis.CREATE_DELEGATION_TOKEN, 1, 7, request)
    assert old.endswith(b"\0\0\0\1" + b"\0\4User" + b"\0\3ann" + b"\0" * 7 + b"\5")
    new = frames.encode_request(apis.CREATE_DELEGATION_TOKEN, 3, 7, request)
    renewers = b"\2" + b"\5User" + b"\4ann" + b"\0"
    assert new.endswith(b"\0\0" + renewers + b"\0" * 7 + b"\5" + b"\0")
