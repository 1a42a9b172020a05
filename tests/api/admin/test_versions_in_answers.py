"""The answer to a change contains the new versions of the changed objects, so the next
conditional change needs no read.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.security.listeners import LOCAL
from controller.authorization.authorizer import Operation, topic_resource
from controller.decisions.brokers.registrations import UnregisterBroker
from controller.decisions.namespaces.namespaces import CreateNamespace, DeleteNamespace
from controller.decisions.versions import ExpectedVersion, version_of
from controller.results.changed_versions import ObjectVersion
from metadata_log.format.batch import NewBatch
from records.control import NoteRecord
from tests.api.conftest import Metalog
from tests.api.guarded import guarded
from tests.api.kafka.servers import server
from tests.api.services import serving

NOTE = NoteRecord(at_offset=0, author="ann", text="x")


@contextmanager
def place(log: Path, way: str) -> Iterator[tuple[object, ...]]:
    """The options that name a log, as a directory or as a service."""
    if way == "log":
        yield "--log", log
        return
    with serving(log) as served:
        yield "--server", served.kafka if way == "kafka" else served.socket


def image_versions(metalog: Metalog, log: Path) -> dict[str, int]:
    parts = metalog("image", log, "--json").json["parts"].values()
    return {o["object"]: o["version"] for part in parts for o in part if "version" in o}


@pytest.mark.parametrize("way", ["log", "kafka", "socket"])
def test_every_way_in_tells_the_versions_that_the_image_shows(
    metalog: Metalog, log: Path, tmp_path: Path, way: str
) -> None:
    (tmp_path / "note").write_text(
        json.dumps({"type": "NoteRecord", "data": {"at_offset": 0, "author": "a", "text": "x"}})
    )
    before = image_versions(metalog, log)
    with place(log, way) as where:
        create = ("topics", "create", "new", "--config", "retention.ms=1", *where, "--json")
        told = {v["object"]: v["version"] for v in metalog(*create).json["versions"]}
        assert told == {
            name: version
            for name, version in image_versions(metalog, log).items()
            if before.get(name) != version
        }
        assert {"topic:new", "partition:new/0", "config:topic/new"} <= told.keys()
        expect = [f"--expect={name}={version}" for name, version in told.items()]
        assert metalog("append", tmp_path / "note", *where, *expect).code == 0
        gone = metalog("topics", "delete", "new", *where, "--json").json["versions"]
    assert {v["object"]: v["version"] for v in gone} == dict.fromkeys(told)


def test_several_requests_of_one_command_tell_the_latest_versions(
    metalog: Metalog, log: Path
) -> None:
    before = image_versions(metalog, log)
    fenced = metalog("brokers", "fence", 1, 2, "--log", log, "--json").json["versions"]
    after = image_versions(metalog, log)
    moved = {name: version for name, version in after.items() if before[name] != version}
    assert {v["object"]: v["version"] for v in fenced} == moved != {}


def test_dry_run_and_repeated_request_tell_what_they_know(metalog: Metalog, log: Path) -> None:
    create = ("topics", "create", "new", "--log", log, "--json")
    assert metalog(*create, "--validate-only").json["versions"] == []
    once = metalog(*create, "--request-id", "r").json
    again = metalog(*create, "--request-id", "r").json
    assert len(once["versions"]) > 1
    assert (again["versions"], again["results"]) == (once["versions"], once["results"])


@pytest.mark.parametrize("way", ["kafka", "socket"])
async def test_a_client_makes_its_next_change_conditional_without_a_read(
    tmp_path: Path, way: str
) -> None:
    async with server(tmp_path, socket=LOCAL) as at:
        client = at.client if way == "kafka" else at.socket_client
        answer = await client.run(CreateNamespace("org"))
        assert answer.versions is not None
        (made,) = answer.versions
        assert made == ObjectVersion("namespace:org", version_of(at.service.image, "namespace:org"))
        expected = (ExpectedVersion(made.object, made.version),)
        batch = NewBatch(records=(NOTE,))
        appended = await at.socket_client.append(batch, expected_versions=expected)
        assert appended.end_offset == answer.end_offset + 1
        gone = await client.run(DeleteNamespace(name="org"))
        assert gone.versions == (ObjectVersion("namespace:org", None),)


async def test_versions_of_what_a_caller_may_not_see_are_left_out(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        before = version_of(at.service.image, "partition:m/0")
        rights.but = {(Operation.DESCRIBE, topic_resource("m"))}
        answer = await at.client.run(UnregisterBroker(2))
        assert answer.versions is not None
        topics = {v.object.partition(":")[2].partition("/")[0] for v in answer.versions}
        assert "m" not in topics
        after = version_of(at.service.image, "partition:m/0")
        assert before is not None and after is not None and before < after
