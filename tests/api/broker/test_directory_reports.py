"""The log contains the directory of each replica as its broker reports it, also after a move."""

import asyncio
from pathlib import Path

from api.broker.key_values import read_key_values
from api.clients.client import MetadataClient
from api.kafka.connection import Connection
from api.kafka.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    MovedLogDirTopic,
)
from controller.decisions.topics.topics import CreateTopics, NewTopic
from records.text import uuid_text
from tests.api.broker.test_clean_end import broker_of
from tests.api.kafka.servers import Server, server

_NAMES = ("one", "two")
_TOPIC = NewTopic(name="a", partitions=3, replication_factor=1)


async def test_the_log_has_the_directory_of_each_replica(tmp_path: Path) -> None:
    async with server(tmp_path) as at, broker_of(at.port, tmp_path, *_NAMES) as ready:
        host, _, port = ready.listen.rpartition(":")
        async with await MetadataClient.connect(f"kafka://{ready.listen}") as client:
            await client.run(CreateTopics(topics=(_TOPIC,)))
        before = await _recorded(at, tmp_path, 3)
        assert before == [_on_disk(tmp_path, partition) for partition in range(3)]
        target = next(name for name in _NAMES if name != before[0])
        connection = await Connection.open(host, int(port))
        moved = MovedLogDirTopic(name="a", partitions=(0,))
        await connection.request(
            AlterReplicaLogDirsRequest(
                dirs=(AlterReplicaLogDir(path=str(tmp_path / target), topics=(moved,)),)
            ),
            AlterReplicaLogDirsResponse,
        )
        await connection.close()
        while await _recorded(at, tmp_path, 3) == before:
            await asyncio.sleep(0.1)
        assert await _recorded(at, tmp_path, 3) == [target, *before[1:]]
        assert _on_disk(tmp_path, 0) == target


async def _recorded(at: Server, path: Path, count: int) -> list[str]:
    """Return the names of the directories in the image, once all partitions have one."""
    ids = {
        read_key_values(path / name / "meta.properties")["directory_id"]: name for name in _NAMES
    }
    while True:
        topic = at.service.image.topic_by_full_name("a")
        assert topic is not None
        partitions = [at.service.image.partition(topic.topic_id, n) for n in range(count)]
        found = [ids.get(uuid_text(each.directories[0])) for each in partitions if each]
        if len(found) == count and None not in found:
            return [name for name in found if name]
        await asyncio.sleep(0.1)


def _on_disk(path: Path, partition: int) -> str:
    (name,) = [name for name in _NAMES if (path / name / f"a_{partition}").exists()]
    return name
