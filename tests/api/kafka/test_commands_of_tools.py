"""Exported commands, run by a real client against a service, recreate the same metadata."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from api.kafka.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryAlteration,
    OpData,
)
from benchmarks.generate_kraft import generate
from metadata_log.kraft.directory import open_directory
from metadata_log.reader.log_reader import LogReader
from replay.image.digest import part_digests
from replay.image.metadata import MetadataImage
from replay.incidents.directory_events import DirectoryLog
from replay.kafka_commands.command import Command
from replay.kafka_commands.script import Commands, kafka_commands, wanted_by
from replay.loader import load_image
from replay.time_travel.drift import diff_by_name
from tests.api.conftest import Metalog
from tests.api.kafka.servers import Server, server
from tests.api.test_acl_service import settings

# What nodes write themselves, and what only a new cluster's format can set.
_BY_NODES = {"broker", "controller", "feature"}
_BY_ELECTION = {"leader", "isr", "leader_recovery_state", "last_known_elr"}


async def _run(at: Server, found: Commands, tmp_path: Path) -> list[list[str]]:
    """Run a script with kafka-python; return the commands that kafka-python or the service
    lacks.
    """
    script = tmp_path / "script.sh"
    script.write_text(found.script("test"))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.api.kafka.kafka_tools", f"127.0.0.1:{at.port}", script),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2_000:]
    left: list[list[str]] = json.loads(out)
    return left


async def _set_quotas(at: Server, commands: list[list[str]]) -> None:
    """Run the quota commands like kafka-configs does, because kafka-python has no such request."""
    for arguments in commands:
        words = iter(arguments)
        entity: list[EntityData] = []
        ops: list[OpData] = []
        for word in words:
            if word == "--entity-type":
                kind = {"users": "user", "clients": "client-id", "ips": "ip"}[next(words)]
                name = next(words) if next(words) == "--entity-name" else None
                entity.append(EntityData(entity_type=kind, entity_name=name))
            elif word == "--add-config":
                pairs = (each.split("=") for each in next(words).split(","))
                ops += [OpData(key=key, value=float(value)) for key, value in pairs]
        alteration = EntryAlteration(entity=tuple(entity), ops=tuple(ops))
        answer = await at.client.connection.request(
            AlterClientQuotasRequest(entries=(alteration,)), AlterClientQuotasResponse
        )
        assert [entry.error_code for entry in answer.entries] == [0], arguments


def _commands(before: MetadataImage, after: MetadataImage) -> Commands:
    return kafka_commands(before, after, show_secrets=True, wanted=wanted_by(None))


def _topics(arguments: str) -> Commands:
    command = Command(object="topic", tool="kafka-topics", arguments=arguments.split())
    return Commands(commands=[command], not_said=[])


def _differences(expected: MetadataImage, found: MetadataImage) -> set[str]:
    return {
        f"{change.object}#{change.field}"
        for change in diff_by_name(expected, found)
        if change.object.partition(":")[0] not in _BY_NODES and change.field not in _BY_ELECTION
    }


async def test_commands_make_a_state_again_and_undo_what_came_after(tmp_path: Path) -> None:
    source = open_directory(generate(tmp_path / "node", records=1_500, seed=3))
    log = DirectoryLog(source, 1_500)
    wanted = load_image(log, 1_100)
    later = load_image(log, 1_499)
    async with server(tmp_path, settings=settings()) as at:
        for broker in wanted.brokers():
            await at.register(broker.broker_id, address=("127.0.0.1", at.port))
        await _set_quotas(at, await _run(at, _commands(MetadataImage.EMPTY, wanted), tmp_path))
        made = at.service.image
        assert made.topic_count == wanted.topic_count > 10
        assert _differences(wanted, made) == set()
        assert part_digests(made)["client_quotas"] == part_digests(wanted)["client_quotas"]
        assert part_digests(made)["configs"] == part_digests(wanted)["configs"]
        # The difference of two points, forth.
        await _run(at, _commands(wanted, later), tmp_path)
        assert {topic.name for topic in at.service.image.topics()} == {
            topic.name for topic in later.topics()
        }
        assert part_digests(at.service.image)["configs"] == part_digests(later)["configs"]


async def test_undoing_a_deletion_makes_the_topic_again_with_its_configs(tmp_path: Path) -> None:
    async with server(tmp_path, settings=settings()) as at:
        await at.register(1, address=("127.0.0.1", at.port))
        await _run(
            at, _topics("--create --topic a --replica-assignment 1,1 --config flush.ms=7"), tmp_path
        )
        await _run(at, _topics("--create --topic b --replica-assignment 1"), tmp_path)
        before = at.service.image
        await _run(at, _topics("--delete --topic a"), tmp_path)
        undo = _commands(at.service.image, before)
        assert [each.object for each in undo.commands] == ["topic:a"]
        await _run(at, undo, tmp_path)
        assert _differences(before, at.service.image) == set()


@pytest.fixture
def states(metalog: Metalog, tmp_path: Path) -> tuple[MetadataImage, MetadataImage]:
    """Return a state, and one with a larger topic, moved partitions and another feature level."""
    log = tmp_path / "source"

    def run(*commands: str) -> None:
        for words in commands:
            assert metalog(*words.split(), "--log", log).code == 0, words

    assert metalog("init", log).code == 0
    run(*(f"brokers {verb} {broker}" for broker in (1, 2, 3) for verb in ("register", "unfence")))
    run("topics create grown --assignment 1:2", "topics create moved --assignment 1:2,2:3")
    before = metalog("info", log, "--json").json["log_end"] - 1
    run("topics alter grown --partitions 3 --assignment 2:3,3:1")
    run("topics alter moved --assignment 2,3")
    run("features upgrade eligible.leader.replicas.version=1")
    with LogReader.open(log) as reader:
        return load_image(reader, before), load_image(reader)


async def test_growth_moves_and_levels_are_run(
    states: tuple[MetadataImage, MetadataImage], tmp_path: Path
) -> None:
    small, large = states
    async with server(tmp_path, settings=settings()) as at:
        for broker in small.brokers():
            await at.register(broker.broker_id, address=("127.0.0.1", at.port))
        await _run(at, _commands(MetadataImage.EMPTY, small), tmp_path)
        assert _differences(small, at.service.image) == set()
        forth = _commands(small, large)
        assert [(each.object, each.tool) for each in forth.commands] == [
            ("feature:eligible.leader.replicas.version", "kafka-features"),
            ("topic:grown", "kafka-topics"),
            ("topic:moved", "kafka-reassign-partitions"),
            ("config:broker/", "kafka-configs"),
        ]
        # The level has set the cluster's min.insync.replicas already.
        (left,) = await _run(at, forth, tmp_path)
        assert left[-2:] == ["--add-config", "min.insync.replicas=1"]
        assert _differences(large, at.service.image) == set()
        assert at.service.image.features() == large.features()
