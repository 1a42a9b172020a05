"""Several commands in one request: all of them are executed, or none."""

import json
from collections.abc import Iterable, Set
from pathlib import Path
from typing import Any

import pytest

from api.requests.commands import step_responses
from api.requests.transactions import NAME, STEPS_MAX, Step, Transact
from api.service.session import Session
from controller.authorization.authorizer import Operation, topic_resource
from controller.authorization.caller import Caller
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.decisions.namespaces.namespaces import CreateNamespace
from controller.decisions.topics.growth import CreatePartitions, TopicGrowth
from controller.decisions.topics.topics import CreateTopics, DeleteTopics, NewTopic
from controller.descriptions.topics import DescribeTopics
from metadata_log.limits import BATCH_RECORDS_MAX
from records.base import Record
from records.control import BeginTransactionRecord, EndTransactionRecord
from records.errors import RequestError
from replay.image.configs import TOPIC
from replay.image.metadata import MetadataImage
from tests.api.conftest import Metalog
from tests.api.guarded import TOPIC_REFUSED, guarded
from tests.api.kafka.servers import Server, server
from tests.api.services import serving

_CHANGE = (ConfigChange("retention.ms", "1000"),)


def steps(*of: tuple[str, Any], validate_only: bool = False) -> Transact:
    return Transact(
        steps=tuple([Step.of(command, request) for command, request in of]),
        validate_only=validate_only,
    )


def _topic(name: str, namespace: str = "", partitions: int = 1) -> CreateTopics:
    new = NewTopic(name=name, namespace=namespace, partitions=partitions, replication_factor=1)
    return CreateTopics(topics=(new,))


GOOD = steps(
    ("namespaces create", CreateNamespace("org")),
    ("topics create", _topic("a", "org")),
    ("partitions create", CreatePartitions(topics=(TopicGrowth(topic="org:a", partitions=3),))),
    (
        "configs alter",
        AlterConfigs(
            resources=(ResourceChange(resource_type=TOPIC, resource_name="org:a", changes=_CHANGE),)
        ),
    ),
    ("topics describe", DescribeTopics(topics=("org:a",))),
)


def records(at: Server, start: int) -> list[Record]:
    """Return the records of the log from an offset on."""
    with at.service._log.reader() as reader:
        return [row.payload for batch in reader.batches(start) for row in batch.rows]


async def test_each_step_sees_what_those_before_it_did(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        start = at.service.image.provenance.next_offset
        answer = await at.client.run(NAME, GOOD, request_id="r1")
        assert answer.end_offset == at.service.image.provenance.next_offset
        namespaces, created, grown, _, described = step_responses(answer.response)
        assert namespaces.namespaces == ("org",)
        (found,) = described.topics
        assert found.description.topic_id == created[0].topic_id == grown[0].topic_id
        assert len(found.description.partitions) == 3
        written = records(at, start)
        assert isinstance(written[0], BeginTransactionRecord)
        assert isinstance(written[-1], EndTransactionRecord)
        # One request id for all of it.
        assert await at.client.run(NAME, GOOD, request_id="r1") == answer
        assert at.service.image.provenance.next_offset == answer.end_offset
        image = at.service.image
    async with server(tmp_path) as at:
        (topic,) = at.service.image.topics()
        assert at.service.image.partitions(topic.topic_id) == image.partitions(topic.topic_id)
        assert at.service.image.config(TOPIC, "org:a") == {"retention.ms": "1000"}
        assert await at.client.run(NAME, GOOD, request_id="r1") == answer


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [
        (("topics create", _topic("a")), "TOPIC_ALREADY_EXISTS", "step 2 of 2 (topics create)"),
        (("namespaces delete", CreateNamespace("x")), "INVALID_TOPIC_EXCEPTION", "step 2 of 2"),
        (("no such", 1), "INVALID_REQUEST", "there is no command 'no such'"),
        ((NAME, GOOD), "INVALID_REQUEST", "cannot hold another"),
    ],
)
async def test_a_step_that_is_refused_undoes_all_and_is_named(
    tmp_path: Path, last: tuple[str, Any], code: str, said: str
) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        end = at.service.image.provenance.next_offset
        with pytest.raises(RequestError) as caught:
            await at.client.run(NAME, steps(("topics create", _topic("a")), last))
        assert caught.value.code == code
        assert said in str(caught.value) and "nothing was done" in str(caught.value)
        assert at.service.image.provenance.next_offset == end


async def test_a_dry_run_answers_and_writes_nothing(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1)
        end = at.service.image.provenance.next_offset
        request = Transact(steps=GOOD.steps, validate_only=True)
        answer = await at.client.run(NAME, request)
        assert not answer.wrote
        assert len(step_responses(answer.response)) == len(GOOD.steps)
        assert at.service.image.provenance.next_offset == end


async def test_number_of_steps_is_bounded(tmp_path: Path) -> None:
    many = steps(*[("namespaces create", CreateNamespace(str(n))) for n in range(STEPS_MAX + 1)])
    async with server(tmp_path) as at:
        for request in (many, steps()):
            with pytest.raises(RequestError, match=f"1 to {STEPS_MAX} steps"):
                await at.client.run(NAME, request)


async def test_more_records_than_fit_a_batch_become_visible_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = BATCH_RECORDS_MAX * 2 // 3
    async with server(tmp_path) as at:
        await at.register(1)
        seen: list[int] = []
        commit = at.service.history.committed

        def watched(
            types: Set[type[Record]], records: Iterable[Record], image: MetadataImage
        ) -> None:
            seen.append(len(list(image.topics())))
            commit(types, records, image)

        monkeypatch.setattr(at.service.history, "committed", watched)
        request = steps(
            ("topics create", _topic("a", partitions=half)),
            ("topics create", _topic("b", partitions=half)),
        )
        answer = await at.client.run(NAME, request, request_id="r1")
        assert seen == [0, 2]
        assert (await at.client.run(NAME, request, request_id="r1")).response == answer.response
    async with server(tmp_path) as at:
        assert sorted(topic.name for topic in at.service.image.topics()) == ["a", "b"]


async def test_each_step_needs_its_own_right(tmp_path: Path) -> None:
    request = steps(
        ("topics delete", DeleteTopics(topics=("a",))),
        ("topics delete", DeleteTopics(topics=("b",))),
    )
    async with guarded(tmp_path) as (at, rights):
        rights.only = {(Operation.DELETE, topic_resource("a"))}
        session = Session(at.service, Caller(principal="User:ann"))
        end = at.service.image.provenance.next_offset
        with pytest.raises(RequestError, match=r"step 2 of 2 \(topics delete\)") as caught:
            await session.run(NAME, request)
        assert caught.value.code == TOPIC_REFUSED
        assert at.service.image.provenance.next_offset == end
        rights.only.add((Operation.DELETE, topic_resource("b")))
        await session.run(NAME, request, request_id="r1")
        rights.only = {(Operation.DELETE, topic_resource("a"))}
        with pytest.raises(RequestError) as caught:
            await session.run(NAME, request, request_id="r1")
        assert caught.value.code == TOPIC_REFUSED


LINES = [
    {"command": "namespaces create", "request": {"name": "org"}},
    {"command": "namespaces create", "request": {"name": "org:apache"}},
]


def _file(tmp_path: Path, *lines: Any) -> Path:
    path = tmp_path / "steps.jsonl"
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return path


@pytest.mark.parametrize("way", ["log", "server"])
def test_command_line_carries_a_file_out(metalog: Metalog, tmp_path: Path, way: str) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    file = _file(tmp_path, *LINES)

    def run(where: str, target: object) -> None:
        dry = metalog("transaction", file, where, target, "--validate-only")
        assert dry.out.splitlines()[-1] == "only validated: nothing was written"
        done = metalog("transaction", file, where, target, "--json").json
        assert [r["response"]["namespaces"] for r in done["results"]] == [["org"], ["org:apache"]]
        assert done["committed_at"] == done["log_end"] - 1
        again = metalog("transaction", file, where, target)
        assert (again.code, again.out) == (3, "")
        assert "step 1 of 2 (namespaces create): namespace 'org' exists" in again.err

    if way == "log":
        run("--log", log)
    else:
        with serving(log) as served:
            run("--server", served.kafka)
    types = [row["type"] for row in metalog("dump", log, "--json").lines]
    assert types[-4:] == [
        "BeginTransactionRecord",
        "NamespaceRecord",
        "NamespaceRecord",
        "EndTransactionRecord",
    ]


def test_topics_of_a_file_go_by_name_or_id(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    metalog("brokers", "register", "1", "--log", log)
    metalog("brokers", "unfence", "1", "--log", log)
    metalog("topics", "create", "a", "b", "--log", log)
    (found,) = [
        t
        for t in metalog("topics", "list", "--log", log, "--json").json["topics"]
        if t["name"] == "a"
    ]
    delete = {"command": "topics delete", "request": {"topics": [f"@{found['topic_id']}", "b"]}}
    assert metalog("transaction", _file(tmp_path, delete), "--log", log).code == 0
    assert metalog("topics", "list", "--log", log, "--json").json["topics"] == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: not JSON: "),
        ("7", "line 2: a step needs a command and a request"),
        ({"command": "no such", "request": {}}, "line 2: there is no command 'no such'"),
        ({"command": "topics delete", "request": {"topics": 7}}, "line 2: value.topics: int"),
        ({"command": "topics delete", "request": {}}, "line 2: value: the field topics is missing"),
        ({"command": "topics delete", "request": {"topics": ["@x"]}}, "line 2: 'x' is not an id"),
    ],
)
def test_a_line_that_is_no_step_is_named(
    metalog: Metalog, tmp_path: Path, line: Any, said: str
) -> None:
    metalog("init", tmp_path / "log")
    answer = metalog("transaction", _file(tmp_path, LINES[0], line), "--log", tmp_path / "log")
    assert (answer.code, said in answer.err) == (3, True), answer.err


def test_steps_can_be_named_as_the_verbs_of_the_command_line(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    assert metalog("init", log).code == 0
    assert metalog("namespaces", "create", "org", "--log", log).code == 0
    asked = {
        "configs set": ({"resources": []}, "configs alter"),
        "elect-leaders": ({}, "leaders elect"),
        "namespaces move": ({"from_namespace": "", "to_namespace": "org"}, "topics move"),
    }
    file = tmp_path / "steps.jsonl"
    for verb, (request, command) in asked.items():
        answers = []
        for name in (verb, command):
            file.write_text(json.dumps({"command": name, "request": request}))
            answers.append(metalog("transaction", file, "--log", log, "--validate-only"))
        first, second = [(answer.code, answer.out, answer.err) for answer in answers]
        assert first == second
        assert "there is no command" not in answers[0].err
