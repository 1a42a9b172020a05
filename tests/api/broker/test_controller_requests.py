"""Requests of a controller that name a partition twice are refused as a whole."""

from pathlib import Path

import pytest

from api.broker.controller_requests import ControllerRequests
from api.kafka import apis
from api.kafka.errors import name_of
from api.kafka.fields import Request
from api.kafka.frames import RequestFrame
from api.kafka.messages.replicas import (
    LeaderAndIsrResponse,
    StoppedTopic,
    StopReplicaRequest,
    StopReplicaResponse,
)
from records.base import Uuid
from tests.api.broker.leader import ASKER, ID, ME, STRANGE, Broker
from tests.api.broker.states import leader_and_isr, state, topic_states


@pytest.mark.parametrize(("name", "topic_id"), [("a", ID), ("a", STRANGE), ("b", ID)])
async def test_a_partition_that_is_named_twice_is_refused(
    tmp_path: Path, name: str, topic_id: Uuid
) -> None:
    broker = Broker(tmp_path)
    first, second = topic_states("a", ID, state(0, ME)), topic_states(name, topic_id, state(0, ME))
    assert await _errors(broker, leader_and_isr(first, second)) == ["INVALID_REQUEST"]
    assert list(broker.replicas) == []
    assert await _errors(broker, leader_and_isr(first)) == ["NONE", "NONE"]
    stop = StopReplicaRequest(
        controller_id=3000,
        controller_epoch=1,
        broker_epoch=1,
        delete_partitions=True,
        partitions=(
            StoppedTopic(topic="a", topic_id=ID, partition_ids=(0,)),
            StoppedTopic(topic=name, topic_id=topic_id, partition_ids=(0,)),
        ),
    )
    assert await _errors(broker, stop) == ["INVALID_REQUEST"]
    assert [replica.metadata.topic_id for replica in broker.replicas] == [ID]
    await broker.replicas.close()


async def _errors(broker: Broker, request: Request) -> list[str]:
    """Return the error of the request, and of each partition."""
    requests = ControllerRequests(
        broker.replicas,
        broker.cluster,
        broker_epoch=lambda: 1,
        changed=lambda: None,
        configured=lambda _: None,
        update_rights=broker.authorization.update,
    )
    api = apis.BY_REQUEST[type(request)]
    frame = RequestFrame(
        api=api, version=api.max_version, correlation_id=1, client_id=None, body=request
    )
    response = await requests.dispatch_table().handlers[api](frame, ASKER)
    assert isinstance(response, LeaderAndIsrResponse | StopReplicaResponse)
    return [name_of(response.error_code), *[name_of(p.error_code) for p in response.partitions]]
