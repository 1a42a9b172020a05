"""Three different answers about an absent object: it never existed, it was removed, or the kept
history does not go back far enough.
"""

import shutil
from pathlib import Path

import pytest

from api.cli.main import run
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import ClientQuotaRecord, ConfigRecord, EntityData
from records.control import NoteRecord
from tests.api.conftest import Metalog

NEVER, GONE, UNKNOWN = "RESOURCE_NOT_FOUND", "RESOURCE_GONE", "UNKNOWN_HISTORY"

# Verbs of time travel, each asked at a point, or over a range, after all removals.
OBJECT_VERBS = {
    "history": ["history", "{log}", "{object}", "--from", "end"],
    "blame": ["blame", "{log}", "{object}"],
    "why": ["why", "{log}", "{object}"],
    "diff": ["diff", "{log}", "start", "end", "--object", "{object}"],
    "dump": ["dump", "{log}", "--object", "{object}", "--from", "end"],
}
# Admin verbs keep Kafka's names of errors, and say why in words.
ADMIN_VERBS = {
    "topics describe": ["topics", "describe", "{topic}"],
    "configs describe": ["configs", "describe", "topic/{topic}"],
    "partitions list": ["partitions", "list", "{topic}"],
    "partitions list --removing": ["partitions", "list", "{topic}", "--removing"],
    "partitions describe": ["partitions", "describe", "{topic}/0"],
    "partitions states": ["partitions", "states", "{topic}", "--since", "end"],
    "partitions states of one": ["partitions", "states", "{topic}/0", "--since", "end"],
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same log, complete and cut after `old` was removed; `gone` was created and removed
    later.
    """
    whole = tmp_path_factory.mktemp("absence") / "whole"
    _run("init", whole)
    for broker in ("1", "2", "9"):
        _run("brokers", "register", broker, "--log", whole)
        _run("brokers", "unfence", broker, "--log", whole)
    _run("topics", "create", "kept", "old", "--assignment", "1:2", "--log", whole)
    _run("configs", "set", "topic/old", "retention.ms=1", "--log", whole)
    _run("topics", "delete", "old", "--log", whole)
    cut = whole.with_name("cut")
    for command in (
        ["topics", "create", "gone", "--assignment", "1:2", "--config", "retention.ms=1"],
        ["topics", "delete", "gone"],
        ["brokers", "unregister", "9"],
    ):
        _run(*command, "--log", whole)
        if command[1] == "create":
            with_gone = sum(1 for _ in whole.glob("*.avro"))
    _run("configs", "set", "topic/kept", "retention.ms=1", "--log", whole)
    shutil.copytree(whole, cut)
    first_with_gone = sorted(cut.glob("[0-9]*.avro"))[with_gone - 1]
    _run("retain", cut, "--before", int(first_with_gone.stem), "--without-archive")
    return {"whole": whole, "cut": cut}


def _run(*arguments: object) -> None:
    assert run([str(argument) for argument in arguments]) == 0, arguments


def _removed_at(metalog: Metalog, log: Path, type_: str) -> int:
    return int(metalog("dump", log, "--type", type_, "--json").lines[-1]["offset"])


@pytest.mark.parametrize("verb", OBJECT_VERBS)
@pytest.mark.parametrize(
    "kind", ["topic:{}", "partition:{}/0", "config:topic/{}", "topic:{}#partitions"]
)
def test_every_verb_tells_never_from_gone_from_unknown(
    metalog: Metalog, logs: dict[str, Path], verb: str, kind: str
) -> None:
    removed_at = _removed_at(metalog, logs["whole"], "RemoveTopicRecord")
    start = metalog("info", logs["cut"], "--json").json["history_start"]
    for log, name, code, words in (
        ("whole", "never", NEVER, "never"),
        ("whole", "gone", GONE, f"removed at offset {removed_at}"),
        ("whole", "old", GONE, "removed at offset "),
        ("cut", "gone", GONE, f"removed at offset {removed_at}"),
        ("cut", "old", UNKNOWN, f"history starts at {start}"),
        ("cut", "never", UNKNOWN, f"history starts at {start}"),
    ):
        values = {"log": logs[log], "object": kind.format(name)}
        answer = metalog(*(argument.format(**values) for argument in OBJECT_VERBS[verb]))
        assert (answer.code, answer.out) == (3, ""), (log, name, answer)
        assert answer.err.startswith(f"error: {code}: {values['object']} "), (log, name)
        assert words in answer.err


@pytest.mark.parametrize("verb", ADMIN_VERBS)
def test_every_description_tells_never_from_gone_from_unknown(
    metalog: Metalog, logs: dict[str, Path], verb: str
) -> None:
    for log, name, words in (
        ("whole", "never", "never existed"),
        ("whole", "gone", "was removed at offset "),
        ("cut", "old", "existed before is unknown, history starts at "),
    ):
        arguments = [argument.format(topic=name) for argument in ADMIN_VERBS[verb]]
        answer = metalog(*arguments, "--log", logs[log])
        assert answer.code == 3
        assert answer.err.startswith("error: UNKNOWN_TOPIC_OR_PARTITION: ")
        assert words in answer.err


def test_description_of_a_broker_tells_never_from_gone(
    metalog: Metalog, logs: dict[str, Path]
) -> None:
    removed_at = _removed_at(metalog, logs["whole"], "UnregisterBrokerRecord")
    for verb in (["brokers", "describe", "{}"], ["configs", "describe", "broker/{}"]):
        for broker, words in (("9", f"removed at offset {removed_at}"), ("7", "never existed")):
            command = [argument.format(broker) for argument in verb]
            answer = metalog(*command, "--log", logs["whole"])
            assert (answer.code, words in answer.err) == (3, True), answer.err


@pytest.mark.parametrize(
    "command",
    [
        ["history", "{log}", "topic:kept", "--to", "0"],
        ["dump", "{log}", "--from", "0"],
        ["blame", "{log}", "topic:kept", "--at", "0"],
        ["diff", "{log}", "0", "end", "--object", "topic:kept"],
        ["image", "{log}", "--at", "0"],
        ["topics", "describe", "kept", "--log", "{log}", "--at", "0"],
        ["configs", "describe", "topic/kept", "--log", "{log}", "--at", "0"],
    ],
    ids=" ".join,
)
def test_point_before_the_history_is_unknown(
    metalog: Metalog, logs: dict[str, Path], command: list[str]
) -> None:
    start = metalog("info", logs["cut"], "--json").json["history_start"]
    answer = metalog(*(argument.format(log=logs["cut"]) for argument in command))
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith("error: OFFSET_OUT_OF_RANGE: ")
    assert f"history starts at {start}" in answer.err


def test_what_stood_still_has_an_empty_history(metalog: Metalog, logs: dict[str, Path]) -> None:
    for command in (["history", logs["cut"], "topic:kept"], ["dump", logs["cut"], "--object"]):
        if command[0] == "dump":
            command.append("topic:kept")
        answer = metalog(*command, "--json")
        assert (answer.code, answer.out, answer.err) == (0, "", "")


def test_topic_is_asked_for_by_id_in_every_verb(
    metalog: Metalog, logs: dict[str, Path], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(logs["whole"], log)
    listed = metalog("topics", "list", "--log", log, "--json").json["topics"]
    (by_id,) = [f"@{topic['topic_id']}" for topic in listed if topic["name"] == "kept"]
    history = metalog("history", log, f"config:topic/{by_id}", "--json").lines
    assert [line["changes"][0]["after"] for line in history] == ["1"]
    assert metalog("blame", log, f"config:topic/{by_id}#retention.ms", "--json").code == 0
    described = metalog("configs", "describe", f"topic/{by_id}", "--log", log, "--json").json
    assert described["configs"][0]["value"] == "1"
    changed = metalog("configs", "set", f"topic/{by_id}", "retention.ms=2", "--log", log)
    assert changed.code == 0
    assert metalog("namespaces", "create", "far", "--log", log).code == 0
    moved = metalog(
        "namespaces", "move", *("--from", "", "--to", "far"), "--topic", by_id, "--log", log
    )
    assert "moved kept to far" in moved.out
    fields = metalog("blame", log, "config:topic/far:kept", "--json").json["fields"]
    assert fields["retention.ms"]["type"] == "ConfigRecord"
    assert [
        line["changes"][0]["after"]
        for line in metalog("history", log, f"config:topic/{by_id}", "--json").lines
    ] == ["1", "2"]
    unknown = f"topic/@{'A' * 22}"
    for verb in (["set", unknown, "retention.ms=2"], ["describe", unknown]):
        answer = metalog("configs", *verb, "--log", log)
        assert (answer.code, answer.err.split(":")[1]) == (3, " UNKNOWN_TOPIC_ID")


async def test_every_object_that_is_printed_can_be_typed(metalog: Metalog, tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test-cluster")
    log = await MetadataLog.open(tmp_path / "log")
    user = EntityData(entity_type="user", entity_name="CN=ada,OU=x#1")
    records = (
        NoteRecord(at_offset=0, author="ada#1", text="one"),
        NoteRecord(at_offset=0, author="ada#1", text="two"),
        ConfigRecord(resource_type=32, resource_name="g#1", name="k#", value="1"),
        ClientQuotaRecord(entity=(user,), key="rate", value=1.0, remove=False),
    )
    await log.append(NewBatch(records=records))
    await log.close()
    _check_names(metalog, tmp_path / "log")


def _check_names(metalog: Metalog, log: Path) -> None:
    parts = metalog("image", log, "--json").json["parts"]
    names = [found["object"] for objects in parts.values() for found in objects]
    assert len(names) == len(set(names)) == 4
    changes = metalog("diff", log, "start", "end", "--json").json["changes"]
    assert {change["object"] for change in changes} == set(names)
    for name in names:
        (event,) = metalog("history", log, name, "--json").lines
        fields = metalog("blame", log, name, "--json").json["fields"]
        assert {field["offset"] for field in fields.values()} == {event["offset"]}
    assert metalog("blame", log, "config:group/g%231#k%23", "--json").json["fields"]["k#"]["known"]
    ambiguous = metalog("blame", log, "note:0/ada%231")
    assert (ambiguous.code, ambiguous.err.count("note:0/ada%231/")) == (3, 2)


@pytest.mark.parametrize(
    ("log", "option", "value", "code"),
    [
        ("whole", "--topic", "never", NEVER),
        ("whole", "--topic", "never*", None),
        ("whole", "--topic", "gone", None),
        ("whole", "--topic", "kept", None),
        ("cut", "--topic", "never", UNKNOWN),
        ("whole", "--broker", "7", NEVER),
        ("whole", "--broker", "9", None),
        ("cut", "--broker", "7", UNKNOWN),
    ],
)
def test_outages_of_what_never_existed_are_an_error(
    metalog: Metalog, logs: dict[str, Path], log: str, option: str, value: str, code: str | None
) -> None:
    answer = metalog("outages", logs[log], option, value, "--from", "end", "--json")
    if code is None:
        assert answer.code == 0
        assert all(each["to_offset"] is None for each in answer.json["intervals"])
    else:
        assert (answer.code, code in answer.err) == (3, True), answer
