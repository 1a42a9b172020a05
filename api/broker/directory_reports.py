"""Reports of log directories: in which directory each replica is, sent to the controller.

When a directory fails, the controller needs this to determine the affected replicas.

Source: KIP-858.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice

from api.broker.replica import Replica
from api.broker.replicas import Replicas
from api.kafka.errors import NONE, name_of
from api.kafka.messages.assignments import (
    AssignedDirectory,
    AssignedPartition,
    AssignedTopic,
    AssignReplicasToDirsResponse,
)
from records.base import Uuid
from records.errors import RequestError, UnavailableError

log = logging.getLogger(__name__)

_CHECK_S = 0.5
_RETRY_S = 5.0
_PER_REQUEST_MAX = 2_250
"""Maximum replicas in a report, as in Kafka's AssignmentsManager."""

Assign = Callable[[tuple[AssignedDirectory, ...]], Awaitable[AssignReplicasToDirsResponse]]

_Places = dict[Replica, Uuid]


async def report_directories(replicas: Replicas, assign: Assign) -> None:
    """Report the directory of every replica with a role, and every later change. Never returns.

    Args:
        assign: Sends the directories of some replicas to the controller.
    """
    reported: _Places = {}
    while True:
        await asyncio.sleep(_CHECK_S)
        now = {each: each.directory.directory_id for each in replicas if each.state is not None}
        reported = {each: place for each, place in reported.items() if each in now}
        changed = iter([each for each in now.items() if reported.get(each[0]) != each[1]])
        while some := dict(islice(changed, _PER_REQUEST_MAX)):
            try:
                response = await assign(tuple(_directories(some)))
            except (RequestError, UnavailableError) as error:
                log.info("the directories of %d replicas are not reported: %s", len(some), error)
                await asyncio.sleep(_RETRY_S)
                break
            _log_refused(response)
            reported |= some


def _directories(places: _Places) -> Iterator[AssignedDirectory]:
    by_directory: defaultdict[Uuid, defaultdict[Uuid, list[AssignedPartition]]]
    by_directory = defaultdict(lambda: defaultdict(list))
    for replica, directory in places.items():
        of = replica.metadata
        partition = AssignedPartition(partition_index=of.partition)
        by_directory[directory][of.topic_id].append(partition)
    for directory, topics in by_directory.items():
        yield AssignedDirectory(
            id=directory,
            topics=tuple(
                [
                    AssignedTopic(topic_id=topic_id, partitions=tuple(partitions))
                    for topic_id, partitions in topics.items()
                ]
            ),
        )


def _log_refused(response: AssignReplicasToDirsResponse) -> None:
    """Log refusals. They are not retried: the controller moves or deletes the refused replicas."""
    for directory in response.directories:
        for topic in directory.topics:
            for partition in topic.partitions:
                if partition.error_code != NONE:
                    log.info(
                        "the directory of partition %d of %s is not recorded: %s",
                        partition.partition_index,
                        topic.topic_id.hex(),
                        name_of(partition.error_code),
                    )
