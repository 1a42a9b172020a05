"""A service and two brokers with SASL over TLS and ACLs, used by librdkafka.

This story starts each command like a user does; the other stories fork it.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from api.service.service import Service
from controller.authorization.caller import CONTROLLER
from controller.decisions.security.scram import ScramMechanism
from controller.decisions.security.users import AlterUsers
from metadata_log.reader.log_reader import LogReader
from tests.api.kafka.test_sasl import credential
from tests.certificates import Authority
from tests.stories.processes import Process, World

AUTHORIZER = ("--authorizer", "acl", "--super-user", "User:admin", "--super-user", "User:broker")


METALOG = (sys.executable, "-m", "api.cli")


def metalog(*arguments: object, client: Path | None = None) -> str:
    environment = {**os.environ, "METALOG_CLIENT": str(client)} if client else None
    command = [*METALOG, *map(str, arguments)]
    return subprocess.check_output(command, env=environment, text=True)


async def write_users(directory: Path, log: Path, *names: str) -> None:
    """Give users a password, and write their client files."""
    service = await Service.open(log, with_timers=False)
    upsertions = []
    for name in names:
        password = f"the password of {name}"
        upsertions.append(credential(name, password, ScramMechanism.SCRAM_SHA_512))
        (directory / f"{name}.password").write_text(password + "\n")
        (directory / f"{name}.toml").write_text(
            f'user = "{name}"\npassword_file = "{name}.password"\nca_file = "ca.pem"\n'
        )
    request = AlterUsers(upsertions=tuple(upsertions))
    await service.run("users alter", request, caller=CONTROLLER)
    await service.close()


def settings(address: str, name: str, directory: Path) -> dict[str, Any]:
    return {
        "bootstrap.servers": address.partition("://")[2].replace("127.0.0.1", "localhost"),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": name,
        "sasl.password": f"the password of {name}",
        "ssl.ca.location": str(directory / "ca.pem"),
    }


def produce(address: str, name: str, directory: Path, value: bytes) -> str | None:
    """Produce one record; return the error, if there is one."""
    problems: list[str] = []
    producer = Producer(settings(address, name, directory) | {"message.timeout.ms": 60_000})

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            problems.append(error.name())

    producer.produce("orders", value, on_delivery=delivered)
    producer.flush(60)
    return problems[0] if problems else None


def consume(address: str, name: str, directory: Path) -> bytes:
    # Without commits, for which it would wait for a coordinator when it is closed.
    alone = {"group.id": "g", "enable.auto.commit": False}
    consumer = Consumer(settings(address, name, directory) | alone)
    consumer.assign([TopicPartition("orders", 0, 0)])
    try:
        # Errors first: it may not use the group, whose coordinator it looks for all the same.
        while (message := consumer.poll(60)) is not None and message.error():
            assert message.error().name() == "GROUP_AUTHORIZATION_FAILED"
    finally:
        consumer.close()
    assert message is not None
    value = message.value()
    assert isinstance(value, bytes)
    return value


async def test_a_secured_cluster_serves_those_who_may(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    world = World(tmp_path)
    files = ca.issue("server")
    await write_users(tmp_path, world.log, "admin", "ann", "broker")
    admin, broker = tmp_path / "admin.toml", tmp_path / "broker.password"
    tls = ("--certificate-file", files.certificate, "--key-file", files.key, "--ca-file", files.ca)
    service = await Process.start(
        tmp_path / "service.txt",
        *("serve", world.log, "--kafka", "sasl_ssl://127.0.0.1:0", *tls, *AUTHORIZER),
        command=METALOG,
    )
    world.service = service
    try:
        await service.is_ready()
        url = service.ready["kafka"]
        for number in (1, 2):
            world.brokers[number] = await Process.start(
                tmp_path / f"broker-{number}.txt",
                *("broker", "--server", url, "--id", number, "--log-dir", tmp_path / str(number)),
                *("--listen", "sasl_ssl://127.0.0.1:0", "--user", "broker"),
                *("--password-file", broker, "--heartbeat-ms", 300),
                *(*tls, *AUTHORIZER),
                command=METALOG,
            )
        addresses = [(await world.brokers[n].is_ready()).ready["listen"] for n in (1, 2)]
        # Both replicas are in sync before a record is acknowledged by all.
        create = ("topics", "create", "orders", "--partitions", 1, "--replication-factor", 2)
        await asyncio.to_thread(metalog, *create, "--server", url, client=admin)
        refused = await asyncio.to_thread(produce, addresses[0], "ann", tmp_path, b"refused")
        assert refused == "TOPIC_AUTHORIZATION_FAILED"
        acl = ("--principal", "User:ann", "--topic", "orders", "--operation", "all")
        await asyncio.to_thread(metalog, "acls", "create", *acl, "--server", url, client=admin)
        assert await asyncio.to_thread(produce, addresses[1], "ann", tmp_path, b"one") is None
        assert await asyncio.to_thread(consume, addresses[0], "ann", tmp_path) == b"one"
    finally:
        await world.end()
    with LogReader.open(world.log) as reader:
        origins = [row.origin for batch in reader.batches() for row in batch.rows if row.origin]
    by = {
        (origin.principal, origin.command, str(origin.client).split(" at ")[0])
        for origin in origins
    }
    assert ("User:admin", "topics create", "metalog") in by
    assert ("broker:1", "register", "User:broker") in by
