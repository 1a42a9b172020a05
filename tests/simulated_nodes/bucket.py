"""A bucket in memory: conditional writes whose answers are lost, wrong, repeated or late.

`BucketSharedLog` runs over it unchanged. A PUT that arrives late may find its number free again,
because the group that was there is trimmed by then.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextvars import Context
from datetime import UTC, datetime
from random import Random
from typing import Any, NamedTuple, cast

import msgspec
from obstore.exceptions import AlreadyExistsError, GenericError, PreconditionError
from obstore.store import S3Store

from metadata_log.shared.bucket import BucketSharedLog
from metadata_log.shared.bucket_groups import GROUPS, HEADER_SIZE, decoded
from metadata_log.shared.identity import Identity
from metadata_log.shared.shared_log import EMPTY, Group, Position
from records.errors import UnavailableError
from tests.simulated_nodes.link import Link
from tests.simulated_nodes.store import WALL_MS

_PAGE = 50


class _Object(NamedTuple):
    content: bytes
    e_tag: str
    written_s: float


class SimulatedBucket:
    """What the nodes share.

    Attributes:
        groups: The group that got each number first; those that are trimmed are kept here.
        problems: Objects that no group may be.
        events: What happened, and how often.
        LATE_S: Longest time that a PUT is on its way: a trim can be before it.
        is_alone, fail_overs: As of `SimulatedStore`; a bucket has no standbys.
    """

    LATE_S = 20.0
    LOST_FATES = ("dropped", "no answer", "late")
    LEASE_FATES = ("again", "twice", "no answer", "dropped", "conflict", "late", "error after")
    FATES = ("again", "again", "twice", "no answer", "dropped", "conflict", "late", "error after")

    def __init__(self) -> None:
        self.identity = Identity(cluster_id="simulated", log_id="1")
        self.objects: dict[str, _Object] = {}
        self.groups: list[Group] = []
        self.problems: list[str] = []
        self.events: Counter[str] = Counter()
        self.is_alone = False
        self.fail_overs = 0
        self._versions = 0
        self._grown = asyncio.Event()
        self.objects["shared-log.json"] = self._object(msgspec.json.encode(self.identity), 0.0)

    @property
    def confirmed(self) -> int:
        """Number of groups that can never vanish: a bucket takes nothing back."""
        return len(self.groups)

    @property
    def start(self) -> int:
        """Number of the first group that is kept."""
        found = self.objects.get("trimmed")
        return 0 if found is None else int(found.content)

    @property
    def end(self) -> Position:
        return self.groups[-1].end if self.groups else EMPTY

    def connect(self, random: Random) -> "BucketNode":
        """Return the connections of a process."""
        return BucketNode(self, random)

    def forget_member(self, node_id: int) -> None:
        self.objects.pop(f"nodes/{node_id}", None)

    def come_back(self) -> None:
        """Do nothing: there are no standbys."""

    def fail_over(self) -> None:
        """Do nothing: there are no standbys."""

    def put(self, name: str, content: bytes, mode: Any, now_s: float) -> str:
        """Write an object on a condition; return its ETag.

        Raises:
            AlreadyExistsError, PreconditionError: the condition is not met.
        """
        there = self.objects.get(name)
        if mode == "create" and there is not None:
            raise AlreadyExistsError(name)
        if isinstance(mode, dict) and (there is None or there.e_tag != mode["e_tag"]):
            raise PreconditionError(name)
        made = self.objects[name] = self._object(content, now_s)
        if name.startswith(GROUPS):
            self._note(int(name.removeprefix(GROUPS)), content)
        return made.e_tag

    def put_late(self, name: str, content: bytes, mode: Any, now_s: float) -> None:
        try:
            self.put(name, content, mode, now_s)
        except (AlreadyExistsError, PreconditionError):
            return
        self.events["late"] += name.startswith(GROUPS)
        is_trimmed = name.startswith(GROUPS) and int(name.removeprefix(GROUPS)) < self.start
        self.events["late after a trim"] += is_trimmed

    def _note(self, number: int, content: bytes) -> None:
        """Note a group under its number, unless that was given before, and trimmed."""
        if number > len(self.groups):
            self.problems.append(f"group {number} was written behind {len(self.groups)} groups")
        elif number == len(self.groups):
            self.groups.append(decoded(content, number))
        elif number >= self.start:
            self.problems.append(f"group {number} was written again")

    def _object(self, content: bytes, now_s: float) -> _Object:
        self._versions += 1
        return _Object(content, f'"{self._versions}"', now_s)


class BucketNode(BucketSharedLog, Link):
    """One node's shared log in a bucket, and its way there.

    Fates of a PUT: as in `tests/shared_log/faulty_s3.py`; or `again`, it arrives, and once more
    later, as when a proxy repeats it.
    """

    def __init__(self, bucket: SimulatedBucket, random: Random) -> None:
        Link.__init__(self, random, bucket.events)
        requests = cast(S3Store, _Requests(bucket, self))
        BucketSharedLog.__init__(self, requests, wall_ns=_wall_ns)


class _Requests:
    """Has those methods of an `S3Store` that a shared log uses."""

    prefix = "simulated"

    def __init__(self, bucket: SimulatedBucket, link: Link) -> None:
        self.config: dict[str, str] = {}
        self._bucket = bucket
        self._link = link

    async def put_async(
        self, name: str, content: bytes, *, mode: Any = None, use_multipart: bool | None = None
    ) -> dict[str, str]:
        await self._reach(name)
        # Only writes of groups and of the lease have fates: the others are repeated anyway.
        what = _what(name, content)
        fate = None if what is None else self._link.next_fate(what)
        match fate:
            case "dropped":
                await self._no_answer(name)
            case "conflict":
                # It names a conflict where nothing is: another request was under way, or none.
                await self._come_back(name)
                raise (PreconditionError if isinstance(mode, dict) else AlreadyExistsError)(name)
            case "late":
                delay_s = self._link.random.choice((0.05, 3.0, 12.0)) * self._link.random.random()
                self._send_late(name, content, mode, delay_s)
                await self._no_answer(name)
            case "again":
                self._send_late(
                    name, content, mode, self._link.random.uniform(6.0, self._bucket.LATE_S)
                )
            case "twice":
                self._bucket.put(name, content, mode, _now_s())
        e_tag = self._bucket.put(name, content, mode, _now_s())
        if fate == "no answer":
            await self._no_answer(name)
        await self._come_back(name)
        if fate == "error after":
            raise GenericError(f"{name}: 500 InternalError")
        return {"e_tag": e_tag}

    async def get_async(self, name: str) -> "_Got":
        found = await self._found(name)
        return _Got(found.content, {"e_tag": found.e_tag})

    async def get_range_async(self, name: str, *, start: int, end: int) -> bytes:
        return (await self._found(name)).content[start:end]

    async def head_async(self, name: str) -> dict[str, datetime]:
        found = await self._found(name)
        return {"last_modified": _moment(found.written_s)}

    async def list(
        self, prefix: str, *, offset: str | None = None
    ) -> AsyncIterator[Sequence[dict[str, Any]]]:
        await self._reach(prefix)
        names = sorted(
            name
            for name in self._bucket.objects
            if name.startswith(prefix) and (offset is None or name > offset)
        )
        await self._come_back(prefix)
        for first in range(0, len(names), _PAGE):
            # A page is of the moment in which it is asked for.
            found = [
                (name, self._bucket.objects.get(name)) for name in names[first : first + _PAGE]
            ]
            yield [
                {
                    "path": name,
                    "size": len(item.content),
                    "last_modified": _moment(item.written_s),
                }
                for name, item in found
                if item is not None
            ]

    async def delete_async(self, names: "str | Sequence[str]") -> None:
        await self._reach(str(names))
        for name in [names] if isinstance(names, str) else names:
            self._bucket.objects.pop(name, None)
        await self._come_back(str(names))

    async def _found(self, name: str) -> _Object:
        await self._reach(name)
        found = self._bucket.objects.get(name)
        await self._come_back(name)
        if found is None:
            raise FileNotFoundError(name)
        return found

    def _send_late(self, name: str, content: bytes, mode: Any, delay_s: float) -> None:
        loop = asyncio.get_running_loop()
        # In no process's context: it is on its way, whatever becomes of the node.
        loop.call_later(
            delay_s,
            lambda: self._bucket.put_late(name, content, mode, loop.time()),
            context=Context(),
        )

    async def _no_answer(self, name: str) -> None:
        await asyncio.sleep(2.0)
        raise GenericError(f"{name}: no answer")

    async def _reach(self, name: str) -> None:
        try:
            await self._link.reach()
        except UnavailableError as error:
            raise GenericError(f"{name}: {error}") from error

    async def _come_back(self, name: str) -> None:
        try:
            await self._link.come_back()
        except UnavailableError as error:
            raise GenericError(f"{name}: {error}") from error


class _Got(NamedTuple):
    content: bytes
    meta: dict[str, str]

    async def bytes_async(self) -> bytes:
        return self.content


def _what(name: str, content: bytes) -> str | None:
    """Return what an object is, if its writes have fates."""
    if name.startswith(GROUPS):
        return "claim" if len(content) == HEADER_SIZE else "group"
    return "lease" if name == "lease" else None


def _now_s() -> float:
    return asyncio.get_running_loop().time()


def _wall_ns() -> int:
    return WALL_MS * 1_000_000 + int(_now_s() * 1e9)


def _moment(at_s: float) -> datetime:
    return datetime.fromtimestamp(WALL_MS / 1_000 + at_s, UTC)
