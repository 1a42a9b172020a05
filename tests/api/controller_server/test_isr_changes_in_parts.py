"""ISR changes of more partitions than one decision may be about."""

from pathlib import Path

import msgspec

from api.kafka.errors import CODES
from api.kafka.messages.brokers import (
    AlteredPartition,
    AlteredTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrBroker,
)
from api.requests.command import ISR_CHANGES_MAX
from controller.authorization.caller import Caller
from controller.decisions.topics.topics import CreateTopics, NewTopic
from metadata_log.reader.log_reader import LogReader
from tests.api.kafka.servers import Server, server

COUNT = 5 * ISR_CHANGES_MAX


async def _request(at: Server) -> AlterPartitionRequest:
    """Return a request of broker 1 to drop broker 2 from the ISR of every partition it leads."""
    epoch = await at.register(1)
    await at.register(2)
    topic = NewTopic(name="t", partitions=COUNT, replication_factor=2)
    await at.service.run("topics create", CreateTopics(topics=(topic,)), caller=Caller())
    image = at.service.image
    (topic_id,) = [each.topic_id for each in image.topics()]
    partitions = tuple(
        AlteredPartition(
            partition_index=each.partition_id,
            leader_epoch=each.leader_epoch,
            new_isr_with_epochs=(IsrBroker(broker_id=1),),
            partition_epoch=each.partition_epoch,
        )
        for each in image.partitions(topic_id)
        if each.leader == 1
    )
    return AlterPartitionRequest(
        broker_id=1,
        broker_epoch=epoch,
        topics=(AlteredTopic(topic_id=topic_id, partitions=partitions),),
    )


async def _altered(at: Server, request: AlterPartitionRequest) -> AlterPartitionResponse:
    return await at.client.connection.request(request, AlterPartitionResponse)


async def test_all_partitions_of_a_broker_change_by_decisions_about_some(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        request = await _request(at)
        (asked,) = request.topics
        assert len(asked.partitions) > ISR_CHANGES_MAX
        begin = at.service.image.provenance.next_offset
        (told,) = (await _altered(at, request)).topics
        assert [(each.partition_index, each.isr, each.error_code) for each in told.partitions] == [
            (each.partition_index, (1,), 0) for each in asked.partitions
        ]
        end = at.service.image.provenance.next_offset
        with LogReader.open(tmp_path / "log") as log:
            sizes = [len(batch.rows) for batch in log.batches(begin, end)]
        assert sum(sizes) == len(asked.partitions)
        assert max(sizes) == ISR_CHANGES_MAX


async def test_an_outdated_broker_changes_nothing(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        request = await _request(at)
        end = at.service.image.provenance.next_offset
        outdated = msgspec.structs.replace(request, broker_epoch=request.broker_epoch - 1)
        # A broker that changes nothing learns it, too.
        for each in (outdated, msgspec.structs.replace(outdated, topics=())):
            answer = await _altered(at, each)
            assert (answer.error_code, answer.topics) == (CODES["STALE_BROKER_EPOCH"], ())
        assert at.service.image.provenance.next_offset == end
