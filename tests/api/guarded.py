"""A service with an authorizer whose rights a test sets."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from api.http.options import HttpOptions
from api.security.listeners import LOCAL
from controller.authorization.authorizer import Operation, Resource
from controller.authorization.caller import Caller
from controller.decisions.context.context import Settings
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.security.tokens import SECRET_KEY
from controller.decisions.topics.partition_removal import (
    DELETE_PARTITIONS_ENABLED,
    DeletePartitions,
    TopicShrink,
)
from controller.decisions.topics.subscriptions import RegisterSubscription
from controller.decisions.topics.topics import CreateTopics, NewTopic
from replay.image.metadata import MetadataImage
from tests.api.kafka.servers import Server, server

TOPIC_REFUSED, CLUSTER_REFUSED = "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"
GROUP_REFUSED = "GROUP_AUTHORIZATION_FAILED"
TOKEN_REFUSED = "DELEGATION_TOKEN_AUTHORIZATION_FAILED"
REFUSED = {TOPIC_REFUSED, CLUSTER_REFUSED, GROUP_REFUSED, TOKEN_REFUSED}

Right = tuple[Operation, Resource]


class Rights:
    """Allows everything, until a test sets rights.

    Attributes:
        only: The rights that are allowed; None for all.
        but: Rights that are refused although `only` is None.
        asked: The checks that were made: caller and right.
    """

    def __init__(self) -> None:
        self.only: set[Right] | None = None
        self.but: set[Right] = set()
        self.asked: list[tuple[Caller, Operation, Resource]] = []

    def allows(
        self, image: MetadataImage, caller: Caller, operation: Operation, resource: Resource
    ) -> bool:
        """Return whether a right is allowed."""
        self.asked.append((caller, operation, resource))
        right = (operation, resource)
        return right not in self.but and (self.only is None or right in self.only)


_filled_log: dict[str, bytes] = {}
"""The files of a log with the objects of `guarded`: writing them takes longer than a test."""


@contextlib.asynccontextmanager
async def guarded(directory: Path) -> AsyncIterator[tuple[Server, Rights]]:
    """A service with topics, namespaces, subscriptions and ongoing removals; everything is
    allowed.
    """
    if not _filled_log:
        async with _serving(directory / "first") as (at, _):
            await _fill(at)
        files = (directory / "first" / "log").iterdir()
        _filled_log.update((file.name, file.read_bytes()) for file in files)
    (directory / "log").mkdir()
    for name, content in _filled_log.items():
        (directory / "log" / name).write_bytes(content)
    async with _serving(directory) as (at, rights):
        yield at, rights


@contextlib.asynccontextmanager
async def _serving(directory: Path) -> AsyncIterator[tuple[Server, Rights]]:
    """A service on the log in a directory; everything is allowed."""
    rights = Rights()
    settings = Settings(
        authorizer=rights, static_configs={DELETE_PARTITIONS_ENABLED: "true", SECRET_KEY: "key"}
    )
    http = HttpOptions(host="127.0.0.1", port=0)
    async with server(directory, settings=settings, socket=LOCAL, http=http) as at:
        yield at, rights


async def _fill(at: Server) -> None:
    await at.register(1)
    await at.register(2)
    new = [
        NewTopic(name=name, assignments=(Assignment(0, (1,)), Assignment(1, (1,))))
        for name in ("a", "b", "leaving", "shrinking")
    ]
    moved = NewTopic(name="m", assignments=(Assignment(0, (2, 1)), Assignment(1, (2, 1))))
    await at.client.run("topics create", CreateTopics(topics=(*new, moved)))
    removal = tuple([TopicShrink(topic=n, partitions=1) for n in ("leaving", "shrinking")])
    later = DeletePartitions(topics=removal, delay_ms=3_600_000)
    await at.client.run("partitions delete", later)
    for name in ("empty", "full"):
        await at.client.run("namespaces create", CreateNamespace(name))
    inside = NewTopic(name="t", namespace="full", assignments=(Assignment(0, (1,)),))
    await at.client.run("topics create", CreateTopics(topics=(inside,)))
    for group in ("g", "h"):
        await at.client.run(
            "subscriptions register", RegisterSubscription(group=group, pattern="never")
        )


@contextlib.contextmanager
def nothing_written(at: Server) -> Iterator[None]:
    """Check that the log's end does not move."""
    end = at.service.image.provenance.next_offset
    yield
    assert at.service.image.provenance.next_offset == end
