"""Users and quotas over Kafka's protocol, with real clients and with our own messages."""

import asyncio
import itertools
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from api.kafka.errors import CODES
from api.kafka.messages import quotas, users
from controller.authorization.authorizer import CLUSTER, Operation
from controller.decisions.security.scram import keys_of, salted_password
from metadata_log.reader.log_reader import LogReader
from tests.api.guarded import guarded
from tests.api.kafka.servers import Server, server

_PASSWORD = "correct horse battery"


def _alter_with_confluent(port: int) -> list[Any]:
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    set_ = UserScramCredentialUpsertion("ann", info, _PASSWORD.encode())
    admin.alter_user_scram_credentials([set_])["ann"].result(20)
    described = admin.describe_user_scram_credentials(["ann"])["ann"].result(20)
    gone = UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_512)
    error = admin.alter_user_scram_credentials([gone])["bob"].exception(20)
    return [
        [(i.mechanism, i.iterations) for i in described.scram_credential_infos],
        error.args[0].name(),
    ]


async def test_confluent_client_sets_and_describes_credentials(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1, address=("127.0.0.1", at.port))
        found = await asyncio.to_thread(_alter_with_confluent, at.port)
        held = at.service.image.scram_credential("ann", 1)
    assert found == [[(ScramMechanism.SCRAM_SHA_256, 8192)], "RESOURCE_NOT_FOUND"]
    assert held is not None
    salted = salted_password("sha256", _PASSWORD, held.salt, 8192)
    keys = keys_of("sha256", salted)
    assert (held.stored_key, held.server_key) == (keys.stored_key, keys.server_key)
    with LogReader.open(tmp_path / "log") as reader:
        rows = [row for batch in reader.batches() for row in batch.rows]
    octets = b"".join(
        value
        for row in rows
        for part in (row.payload, row.origin, row.asked)
        for value in _leaves(part)
    )
    assert held.stored_key in octets
    assert salted not in octets
    assert _PASSWORD.encode() not in octets


def _leaves(value: Any) -> list[bytes]:
    if isinstance(value, bytes):
        return [value]
    if isinstance(value, str):
        return [value.encode()]
    items = value if isinstance(value, tuple) else []
    if isinstance(value, msgspec.Struct):
        items = msgspec.structs.astuple(value)
    return list(itertools.chain.from_iterable(map(_leaves, items)))


async def test_kafka_python_sets_and_describes_credentials(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1, address=("127.0.0.1", at.port))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.api.kafka.kafka_python_users"),
            *(f"127.0.0.1:{at.port}", _PASSWORD),
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()
        held = at.service.image.scram_credential("zoe", 2)
    assert process.returncode == 0
    assert b"4096" in printed
    assert held is not None
    salted = salted_password("sha512", _PASSWORD, held.salt, 4096)
    assert keys_of("sha512", salted).stored_key == held.stored_key


def _upsertion(name: str, **fields: Any) -> users.ScramCredentialUpsertion:
    given = {"mechanism": 1, "iterations": 4096, "salt": b"salt", "salted_password": b"p" * 32}
    return users.ScramCredentialUpsertion(name=name, **{**given, **fields})


async def _alter_users(
    at: Server, request: users.AlterUserScramCredentialsRequest
) -> dict[str, int]:
    response = await at.client.connection.request(request, users.AlterUserScramCredentialsResponse)
    return {result.user: result.error_code for result in response.results}


async def test_each_user_has_a_result_of_its_own(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        request = users.AlterUserScramCredentialsRequest(
            deletions=(users.ScramCredentialDeletion(name="gone", mechanism=1),),
            upsertions=(
                _upsertion("ann"),
                _upsertion("bob", mechanism=7),
                _upsertion("cat", iterations=1),
                _upsertion("dan", salted_password=b"short"),
                _upsertion("eve"),
                _upsertion("eve", mechanism=2, salted_password=b"p" * 64),
            ),
        )
        assert await _alter_users(at, request) == {
            "gone": CODES["RESOURCE_NOT_FOUND"],
            "ann": 0,
            "bob": CODES["UNSUPPORTED_SASL_MECHANISM"],
            "cat": CODES["UNACCEPTABLE_CREDENTIAL"],
            "dan": CODES["UNACCEPTABLE_CREDENTIAL"],
            "eve": CODES["DUPLICATE_RESOURCE"],
        }
        described = await at.client.connection.request(
            users.DescribeUserScramCredentialsRequest(),
            users.DescribeUserScramCredentialsResponse,
        )
        assert [(r.user, r.credential_infos) for r in described.results] == [
            ("ann", (users.CredentialInfo(mechanism=1, iterations=4096),))
        ]


def _entry(key: str, value: float, *entity: tuple[str, str | None]) -> quotas.EntryAlteration:
    parts = [quotas.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
    op = quotas.OpData(key=key, value=value, remove=value == 0)
    return quotas.EntryAlteration(entity=tuple(parts), ops=(op,))


@pytest.mark.parametrize("version", [0, 1])
async def test_quotas_are_altered_and_described(tmp_path: Path, version: int) -> None:
    async with server(tmp_path) as at:
        connection = at.client.connection
        request = quotas.AlterClientQuotasRequest(
            entries=(
                _entry("producer_byte_rate", 1024.0, ("user", "ann"), ("client-id", None)),
                _entry("request_percentage", 0.5, ("user", "ann")),
                _entry("nonsense", 1.0, ("user", None)),
            )
        )
        altered = await connection.request(
            request, quotas.AlterClientQuotasResponse, version=version
        )
        assert [entry.error_code for entry in altered.entries] == [0, 0, CODES["INVALID_REQUEST"]]
        component = quotas.ComponentData(entity_type="user", match_type=0, match="ann")
        wanted = quotas.DescribeClientQuotasRequest(components=(component,), strict=True)
        found = await connection.request(
            wanted, quotas.DescribeClientQuotasResponse, version=version
        )
        assert found.entries == (
            quotas.QuotaEntryData(
                entity=(quotas.EntityData(entity_type="user", entity_name="ann"),),
                values=(quotas.ValueData(key="request_percentage", value=0.5),),
            ),
        )
        wrong = quotas.ComponentData(entity_type="user", match_type=9)
        refused = await connection.request(
            quotas.DescribeClientQuotasRequest(components=(wrong,)),
            quotas.DescribeClientQuotasResponse,
            version=version,
        )
        assert refused.error_code == CODES["INVALID_REQUEST"]


async def test_rights_are_kafkas(tmp_path: Path) -> None:
    refused = CODES["CLUSTER_AUTHORIZATION_FAILED"]
    async with guarded(tmp_path) as (at, rights):
        connection = at.client.connection
        rights.but = {(o, CLUSTER) for o in (Operation.ALTER, Operation.DESCRIBE)}
        request = users.AlterUserScramCredentialsRequest(upsertions=(_upsertion("ann"),))
        assert await _alter_users(at, request) == {"ann": refused}
        described = await connection.request(
            users.DescribeUserScramCredentialsRequest(),
            users.DescribeUserScramCredentialsResponse,
        )
        assert described.error_code == refused
        rights.but = {(o, CLUSTER) for o in (Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS)}
        altered = await connection.request(
            quotas.AlterClientQuotasRequest(
                entries=(_entry("request_percentage", 0.5, ("user", "ann")),)
            ),
            quotas.AlterClientQuotasResponse,
        )
        assert [entry.error_code for entry in altered.entries] == [refused]
        found = await connection.request(
            quotas.DescribeClientQuotasRequest(), quotas.DescribeClientQuotasResponse
        )
        assert (found.error_code, found.entries) == (refused, None)
