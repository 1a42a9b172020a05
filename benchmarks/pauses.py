"""The longest pause of a service of 100 brokers, while many partitions change: a broker is fenced,
a rack is lost, a topic deleted, and others.

The client sends one heartbeat after the other, for all brokers in turn. A pause is the time between
two answers, most of which other processes of a busy machine take. So the target is for the
processor time that the service used in a pause, which may be several steps of its event loop.
"""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from api.kafka import frames
from api.kafka.apis import FOLLOW_LOG, METADATA, Api
from api.kafka.connection import Connection
from api.kafka.fields import Request
from api.kafka.messages.brokers import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    FollowLogRequest,
)
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse
from api.kafka.streams import close_writer, read_frame
from api.requests.transactions import Step, Transact
from api.socket.appends import rows_request
from api.socket.client import SocketClient
from benchmarks.harness import Result
from benchmarks.partitions_log import moves, write_partitions_log
from benchmarks.peers.server_process import LOOPBACK, free_port, listens, running
from benchmarks.watched_service import LongestStep
from controller.decisions.brokers.fencing import SetFencing
from controller.decisions.topics.partition_removal import DeletePartitions, TopicShrink
from controller.decisions.topics.topics import DeleteTopics
from metadata_log.reader.log_reader import LogReader
from records.brokers import RegisterBrokerRecord
from records.topics import TopicRecord

PARTITIONS = 200_000
"""Runs in a minute; the goal is for 2,000,000."""

_HOLDERS, _SPARE = 50, 50
"""Brokers with and without replicas: at 2,000,000 partitions, each of the former has 120,000."""

_RACKS = 3
_SHRUNK = 2_001
_MOVED, _IN_STEP = 50_000, 5_000
_BEAT_S = 0.005
_QUIET_S = 0.5
_SESSION_MS = 20_000
"""Longer than the default, so that a busy machine loses no broker that is not meant."""

_START_TIMEOUT_S = 600
_LIMIT_MS = 50
"""The goal for each pause."""


class Pause(msgspec.Struct, frozen=True):
    """The longest pauses during an event by clock and by processor time, and the event's time."""

    pause_ms: float
    pause_cpu_ms: float
    step: LongestStep
    took_s: float


class _Beats:
    """Sends heartbeats for the brokers, one after the other, over one connection."""

    def __init__(
        self,
        connection: Connection,
        brokers: list[RegisterBrokerRecord],
        end_offset: int,
        watched: "_Watched",
    ) -> None:
        self._connection = connection
        self._brokers = brokers
        self._end_offset = end_offset
        self._watched = watched
        self.silent: set[int] = set()
        self.begin()

    def begin(self) -> None:
        """Forget the pauses so far."""
        self.longest_s = self.longest_cpu_s = 0.0

    async def run(self) -> None:
        """Send heartbeats until cancelled; note the longest times between two answers."""
        while True:
            for broker in self._brokers:
                if broker.broker_id in self.silent:
                    continue
                start, cpu = time.perf_counter(), self._watched.cpu_s()
                await self._beat(broker)
                self.longest_cpu_s = max(self.longest_cpu_s, self._watched.cpu_s() - cpu)
                await asyncio.sleep(_BEAT_S)
                self.longest_s = max(self.longest_s, time.perf_counter() - start - _BEAT_S)

    async def _beat(self, broker: RegisterBrokerRecord) -> None:
        answer = await self._connection.request(
            BrokerHeartbeatRequest(
                broker_id=broker.broker_id,
                broker_epoch=broker.broker_epoch,
                current_metadata_offset=self._end_offset,
            ),
            BrokerHeartbeatResponse,
        )
        assert answer.error_code == 0, f"heartbeat of {broker.broker_id}: {answer.error_code}"


class _Cluster:
    """A running service, the brokers that send it heartbeats, and what can happen to it."""

    def __init__(
        self,
        log: Path,
        port: int,
        connection: Connection,
        client: SocketClient,
        beats: _Beats,
        brokers: list[RegisterBrokerRecord],
        partitions: int,
    ) -> None:
        self._log = log
        self._port = port
        self._connection = connection
        self._client = client
        self._beats = beats
        self._brokers = brokers
        self._partitions = partitions

    async def snapshot(self) -> None:
        """Make a snapshot as the service makes them: in a process of the lowest priority."""
        process = await asyncio.create_subprocess_exec(
            *("nice", "-n", "19", sys.executable, "-m", "api.cli"),
            *("snapshot", "create", str(self._log)),
            stdout=asyncio.subprocess.DEVNULL,
        )
        assert await process.wait() == 0

    async def first_image(self) -> None:
        """Ask for all partitions of a broker, as the reference broker does after its start."""
        broker = self._brokers[1]
        request = FollowLogRequest(broker_id=broker.broker_id, broker_epoch=broker.broker_epoch)
        # The answer, and the first update.
        await self._frames(FOLLOW_LOG, request, 2)

    async def _frames(self, api: Api, request: Request, count: int) -> None:
        """Send a request on a connection of its own, and read a number of frames."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self._port)
        writer.write(frames.encode_request(api, api.max_version, 0, request))
        for _ in range(count):
            assert await read_frame(reader) is not None
        await close_writer(writer)

    async def metadata(self) -> None:
        """Ask for all topics, as a client of Kafka does that has no list of its own."""
        # Without decoding the answer, during which the client would send no heartbeats.
        await self._frames(METADATA, MetadataRequest(), 1)

    async def fence(self) -> None:
        """Fence a broker by command, and wait for the answer; it sends no heartbeats meanwhile."""
        self._beats.silent.add(0)
        await self._client.run(SetFencing(broker_id=0, fenced=True))

    async def lose_rack(self) -> None:
        """Stop the heartbeats of a rack, and wait until its brokers are fenced."""
        rack = {b.broker_id for b in self._brokers if b.rack == "rack-1"}
        self._beats.silent |= rack
        lost = rack & set(range(_HOLDERS))
        while lost:
            await asyncio.sleep(0.5)
            # Cheaper than a list of the brokers, which counts what each of them leads.
            answer = await self._connection.request(MetadataRequest(topics=()), MetadataResponse)
            lost &= {broker.node_id for broker in answer.brokers}

    async def transaction(self) -> None:
        """Move 50,000 leaders in one transaction."""
        records = moves(self._partitions)
        steps = []
        for _ in range(_MOVED // _IN_STEP):
            moved = tuple([next(records) for _ in range(_IN_STEP)])
            steps.append(Step.of("records append", rows_request(moved)))
            await asyncio.sleep(2 * _BEAT_S)  # encoding is not what is measured
        await self._client.run(Transact(steps=tuple(steps)))

    async def shrink(self) -> None:
        """Remove 2,000 partitions of a topic."""
        topic = TopicShrink(topic="shrunk", partitions=1)
        (answer,) = (await self._client.run(DeletePartitions(topics=(topic,)))).response
        assert answer.refusal is None, answer.refusal

    async def delete(self) -> None:
        """Delete a topic with a tenth of all partitions."""
        (answer,) = (await self._client.run(DeleteTopics(topics=("deleted",)))).response
        assert answer.refusal is None, answer.refusal


def run(scratch: Path, partitions: int = PARTITIONS) -> list[Result]:
    """Measure the pauses of a service of about `partitions` partitions, in a process of its own."""
    log = scratch / "log"
    deleted = partitions // 10
    small = partitions - deleted - _SHRUNK
    topics = {"deleted": deleted, "shrunk": _SHRUNK}
    asyncio.run(
        write_partitions_log(log, small, brokers=_HOLDERS, spare_brokers=_SPARE, more_topics=topics)
    )
    sockets, kafka, report = free_port(), free_port(), scratch / "longest.json"
    command = [
        *(sys.executable, "-m", "benchmarks.watched_service", str(report)),
        *("serve", str(log), "--kafka", f"{LOOPBACK}:{kafka}", "--snapshot-every", "0"),
        *("--socket", f"{LOOPBACK}:{sockets}", "--config", "delete.topic.partition.enable=true"),
        *("--session-timeout-ms", str(_SESSION_MS)),
    ]

    def is_ready() -> bool:
        return listens(sockets) and listens(kafka)

    with running(command, scratch / "output.txt", is_ready, _START_TIMEOUT_S) as pid:
        pauses = asyncio.run(_measured(log, small, sockets, kafka, _Watched(pid, report)))
    return [
        Result(
            name=f"{what}, {partitions:,} partitions",
            ours=f"{pause.pause_cpu_ms:,.0f} ms CPU",
            peer=f"{pause.pause_ms:,.0f} ms pause",
            ratio=pause.pause_cpu_ms / _LIMIT_MS,
            target=1,
            at_most=True,
        )
        for what, pause in pauses.items()
    ]


class _Watched:
    """The processor time of the service, and the longest step of its event loop."""

    def __init__(self, pid: int, report: Path) -> None:
        self._pid = pid
        self._report = report
        self._schedstat = Path(f"/proc/{pid}/task/{pid}/schedstat")

    def cpu_s(self) -> float:
        """Return the processor time of the thread that runs the event loop, so far."""
        # proc(5), schedstat: the first number is the time on a processor in nanoseconds.
        return int(self._schedstat.read_text().split()[0]) / 1e9

    async def longest(self) -> LongestStep:
        """Return the longest step since the last call."""
        self._report.unlink(missing_ok=True)
        os.kill(self._pid, signal.SIGUSR1)
        while not self._report.exists():
            await asyncio.sleep(0.01)
        longest = msgspec.json.decode(self._report.read_bytes(), type=LongestStep)
        assert longest.what, "heartbeats were answered, so steps should have been watched"
        return longest


async def _measured(
    log: Path, partitions: int, sockets: int, kafka: int, watched: _Watched
) -> dict[str, Pause]:
    with LogReader.open(log) as reader:
        brokers = _registered(reader)
        end_offset = reader.end_offset
    connection = await Connection.open(LOOPBACK, kafka)
    beats = _Beats(connection, brokers, end_offset, watched)
    beating = asyncio.create_task(beats.run())
    found: dict[str, Pause] = {}
    async with await SocketClient.connect(LOOPBACK, sockets) as client:
        cluster = _Cluster(log, kafka, connection, client, beats, brokers, partitions)
        for what, event in _events(cluster).items():
            await asyncio.sleep(_QUIET_S)
            await watched.longest()
            beats.begin()
            start = time.perf_counter()
            await event()
            took_s = time.perf_counter() - start
            await asyncio.sleep(_QUIET_S)
            pauses = beats.longest_s * 1_000, beats.longest_cpu_s * 1_000
            found[what] = Pause(*pauses, await watched.longest(), took_s)
            print(f"{what}: {_text(found[what])}", file=sys.stderr)
    beating.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await beating
    await connection.close()
    return found


def _text(pause: Pause) -> str:
    step = pause.step
    return (
        f"took {pause.took_s:.2f} s, longest pause {pause.pause_ms:,.0f} ms "
        f"({pause.pause_cpu_ms:,.0f} ms of CPU); longest step {step.cpu_ms:,.0f} ms of CPU "
        f"(slowest {step.wall_ms:,.0f} ms), of {step.what}; "
        f"longest garbage collection {step.collection_ms:,.0f} ms"
    )


def _registered(reader: LogReader) -> list[RegisterBrokerRecord]:
    """Return the log's brokers, which are registered in its first batches."""
    brokers: dict[int, RegisterBrokerRecord] = {}
    for batch in reader.batches():
        for row in batch.rows:
            if isinstance(row.payload, TopicRecord):
                return list(brokers.values())
            if isinstance(row.payload, RegisterBrokerRecord):
                brokers[row.payload.broker_id] = row.payload
    return list(brokers.values())


def _events(cluster: _Cluster) -> dict[str, Callable[[], Awaitable[None]]]:
    async def nothing() -> None:
        await asyncio.sleep(1)

    return {
        "nothing else": nothing,
        "snapshot made": cluster.snapshot,
        "first image of a broker": cluster.first_image,
        "metadata of all topics": cluster.metadata,
        f"transaction of {_MOVED:,} changes": cluster.transaction,
        "2,000 partitions removed": cluster.shrink,
        "topic of a tenth deleted": cluster.delete,
        "broker of 6 in 100 replicas fenced": cluster.fence,
        "rack lost": cluster.lose_rack,
    }
