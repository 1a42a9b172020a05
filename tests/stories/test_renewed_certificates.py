"""Mutual TLS between a service and two brokers, whose authority is exchanged while they run."""

import asyncio
import shutil
import signal
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from api.clients.client import MetadataClient
from api.security.client import ClientSecurity
from api.security.tls import TlsFiles
from controller.decisions.partitions.assignments import Assignment
from controller.decisions.topics.topics import CreateTopics, NewTopic
from tests.api.kafka.test_sasl import until
from tests.certificates import Authority
from tests.stories.processes import BROKER_OPTIONS, SERVICE_OPTIONS, Process, World, soon


class Files:
    """The certificate, key and authorities that all nodes use."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.used = TlsFiles(
            certificate=directory / "node.pem", key=directory / "node.key", ca=directory / "now.pem"
        )

    def install(self, issued: TlsFiles) -> None:
        for name in ("certificate", "key"):
            shutil.copy(getattr(issued, name), getattr(self.used, name))

    def trust(self, *authorities: Authority) -> None:
        assert self.used.ca is not None
        self.used.ca.write_text("".join(each.path.read_text() for each in authorities))

    @property
    def options(self) -> tuple[object, ...]:
        used = self.used
        files = ("--certificate-file", used.certificate, "--key-file", used.key)
        return ("--client-auth", "required", "--ca-file", used.ca, *files)


async def _serve(world: World, files: Files) -> None:
    world.service = await Process.start(
        world.directory / "service.txt",
        *("serve", world.log, "--kafka", f"ssl://127.0.0.1:{world.port}"),
        *(*SERVICE_OPTIONS, *files.options),
    )
    await world.service.is_ready()
    world.port = int(world.service.ready["kafka"].rpartition(":")[2])


async def _start_broker(world: World, number: int, files: Files) -> None:
    world.brokers[number] = await Process.start(
        world.directory / f"broker-{number}.txt",
        *("broker", "--server", f"ssl://127.0.0.1:{world.port}", "--id", number),
        *("--log-dir", world.directory / str(number), "--listen", "ssl://127.0.0.1:0"),
        *(*BROKER_OPTIONS, *files.options),
    )
    await world.brokers[number].is_ready()


async def _read_again(world: World) -> None:
    assert world.service is not None
    for process in (world.service, *world.brokers.values()):
        await _reads_again(process)


async def _reads_again(process: Process) -> None:
    def readings() -> int:
        return process.errors.count("were read again")

    before = readings()
    process.send(signal.SIGHUP)
    await until(lambda: readings() > before)


def _produce(address: str, files: Files) -> str | None:
    """Produce one record; return the error, if there is one."""
    problems: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": address.partition("://")[2].replace("127.0.0.1", "localhost"),
            "security.protocol": "SSL",
            "ssl.ca.location": str(files.used.ca),
            "ssl.certificate.location": str(files.used.certificate),
            "ssl.key.location": str(files.used.key),
            "message.timeout.ms": 60_000,
        }
    )

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            problems.append(error.name())

    producer.produce("orders", b"one", on_delivery=delivered)
    producer.flush(70)
    return problems[0] if problems else None


def _records(world: World, number: int) -> bytes:
    """Return the records of the partition on a broker's disk."""
    files = (world.directory / str(number)).glob("orders_0/*.log")
    return b"".join(file.read_bytes() for file in files)


async def test_brokers_use_a_new_authority_and_certificate_without_a_restart(
    tmp_path: Path,
) -> None:
    old, new, files = Authority(tmp_path, "old"), Authority(tmp_path, "new"), Files(tmp_path)
    files.trust(old)
    files.install(old.issue("node-of-old"))
    world = World(tmp_path)
    try:
        await _serve(world, files)
        for number in (1, 2):
            await _start_broker(world, number, files)
        files.trust(old, new)
        await _read_again(world)
        files.install(new.issue("node-of-new"))
        await _read_again(world)
        files.trust(new)
        await _read_again(world)
        # Broker 2 alone keeps running: it connects to a new service and to a new leader.
        assert world.service is not None
        await world.service.stop()
        await world.brokers[1].kill()
        await _serve(world, files)
        await _start_broker(world, 1, files)
        both = Assignment(partition_id=0, broker_ids=(1, 2))
        topic = NewTopic(name="orders", assignments=(both,))
        url = f"ssl://127.0.0.1:{world.port}"
        security = ClientSecurity(tls=files.used)
        async with await MetadataClient.connect(url, security=security) as client:
            await client.run("topics create", CreateTopics(topics=(topic,)))
        address = world.brokers[1].ready["listen"]
        assert await asyncio.to_thread(_produce, address, files) is None
        await soon(lambda: _records(world, 2) == _records(world, 1) != b"", within_s=20)
    finally:
        await world.end()
