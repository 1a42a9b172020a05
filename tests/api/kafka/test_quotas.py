"""Quotas over Kafka's protocol: their order, which a client's suite compares."""

from pathlib import Path

from api.kafka.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryAlteration,
    OpData,
)
from tests.api.kafka.servers import server

USER = EntityData(entity_type="user", entity_name="ann")
CLIENT = EntityData(entity_type="client-id", entity_name="app")
KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage")


async def test_entities_and_quotas_have_kafkas_order(tmp_path: Path) -> None:
    ops = tuple([OpData(key=key, value=1.0, remove=False) for key in KEYS])
    alter = AlterClientQuotasRequest(
        entries=(
            EntryAlteration(entity=(USER, CLIENT), ops=ops),
            EntryAlteration(entity=(USER,), ops=ops),
        ),
        validate_only=False,
    )
    user = ComponentData(entity_type="user", match_type=0, match="ann")
    describe = DescribeClientQuotasRequest(components=(user,), strict=False)
    async with server(tmp_path) as at:
        altered = await at.client.connection.request(alter, AlterClientQuotasResponse)
        described = await at.client.connection.request(describe, DescribeClientQuotasResponse)
    assert described.entries is not None
    assert [entry.entity for entry in altered.entries] == [(CLIENT, USER), (USER,)]
    assert [entry.entity for entry in described.entries] == [(USER,), (CLIENT, USER)]
    for entry in described.entries:
        assert [value.key for value in entry.values] == [KEYS[1], KEYS[2], KEYS[0]]
