"""The nodes of a shared log in a bucket: one object each, `nodes/ID`, replaced by each heartbeat.

A heartbeat is a PUT that names the version of the one before (If-Match). So another process that
writes the same object is noticed without a request more.
"""

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from obstore.exceptions import AlreadyExistsError, PreconditionError

from metadata_log.shared.bucket_objects import Objects
from metadata_log.shared.shared_log import Member, OtherHeartbeatError
from records.errors import UnavailableError

if TYPE_CHECKING:
    from obstore import PutMode
    from obstore.store import S3Store

_NODES = "nodes/"

_ATTEMPTS = 3
"""Attempts to replace a heartbeat that a store refuses although nobody has changed it."""


class Members:
    """The objects of the nodes, as one process sees them."""

    def __init__(self, store: "S3Store", objects: Objects) -> None:
        self._store = store
        self._objects = objects
        # The heartbeats last seen, with their versions, by the names of the objects.
        self._seen: dict[str, tuple[bytes, str | None]] = {}

    async def register(self, node_id: int, content: bytes, instead_of: bytes | None) -> int:
        """Store a node's heartbeat, as `SharedLog.register`; the time has whole seconds only."""
        name = f"{_NODES}{node_id}"
        with self._objects.named_errors(name):
            for _ in range(_ATTEMPTS):
                mode = await self._replacing(name, instead_of)
                try:
                    put = await self._store.put_async(name, content, mode=mode, use_multipart=False)
                    found = await self._store.head_async(name)
                except (AlreadyExistsError, PreconditionError, FileNotFoundError):
                    self._seen.pop(name, None)
                    continue
                self._seen[name] = content, put["e_tag"]
                return _ms(found["last_modified"])
        raise UnavailableError(f"{self._objects.where}{name} cannot be replaced; try again")

    async def _replacing(self, name: str, instead_of: bytes | None) -> "PutMode":
        """Return the mode of a PUT that replaces a heartbeat; None: any.

        Raises:
            OtherHeartbeatError: the object has another one.
        """
        if instead_of is None:
            return "overwrite"
        seen = self._seen.get(name)
        if seen is None or seen[0] != instead_of:
            seen = await self._objects.versioned(name)
        if seen is None:
            return "create"
        self._seen[name] = seen
        if seen[0] != instead_of:
            raise OtherHeartbeatError(seen[0])
        return {"e_tag": seen[1]}

    async def all(self, now_ms: int) -> Sequence[Member]:
        """Return the nodes that have registered, by their numbers, with their ages at `now_ms`."""
        with self._objects.named_errors(_NODES):
            found = [item async for page in self._store.list(_NODES) for item in page]
        members = []
        for item in found:
            content = await self._objects.get(item["path"])
            if content is not None:
                number = int(item["path"].removeprefix(_NODES))
                age_ms = max(now_ms - _ms(item["last_modified"]), 0)
                members.append(Member(node_id=number, content=content, age_ms=age_ms))
        return sorted(members, key=lambda member: member.node_id)

    async def remove(self, node_id: int) -> None:
        """Remove a node, if it is there."""
        with contextlib.suppress(FileNotFoundError), self._objects.named_errors(_NODES):
            await self._store.delete_async(f"{_NODES}{node_id}")


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)
