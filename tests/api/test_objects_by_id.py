"""Topics by id: every option and parameter that names an object takes `@ID` like the name.

The walk over commands and questions fails for a parameter that the tables below do not try.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from api.cli.main import run
from api.http.questions import ROUTES
from metadata_log.reader.log_reader import LogReader
from tests.api.commands_walk import commands
from tests.api.conftest import Metalog
from tests.api.services import Served, serving

T = TypeVar("T")

NAME = "orders"

# By command and parameter: the arguments after the command. {t} is the topic, {log} the log.
READING: dict[tuple[str, str], list[str]] = {
    ("history", "object"): ["{log}", "partition:{t}/0"],
    ("history", "object (pattern)"): ["{log}", "partition:{t}/*"],
    ("history", "object (one digit)"): ["{log}", "partition:{t}/?#leader"],
    ("history", "object (config)"): ["{log}", "config:topic/{t}#retention.ms"],
    ("history", "object (removal)"): ["{log}", "removal:{t}/*"],
    ("export commands", "only"): ["{log}", "--only", "topic:{t}"],
    ("blame", "object"): ["{log}", "config:topic/{t}"],
    ("blame", "object (topic)"): ["{log}", "topic:{t}"],
    ("why", "object"): ["{log}", "partition:{t}/0#leader"],
    ("diff", "object"): ["{log}", "start", "end", "--object", "topic:{t}"],
    ("dump", "object"): ["{log}", "--object", "partition:{t}/1"],
    ("timeline", "objects"): ["{log}", "--object", "topic:{t}"],
    ("timeline", "objects (partition)"): ["{log}", "--object", "partition:{t}/0"],
    ("timeline", "objects (pattern)"): ["{log}", "--object", "partition:{t}/*"],
    ("timeline", "objects (config)"): ["{log}", "--object", "config:topic/{t}"],
    ("timeline", "objects (removal)"): ["{log}", "--object", "removal:{t}/1"],
    ("outages", "topic"): ["{log}", "--topic", "{t}"],
    ("outages", "objects"): ["{log}", "--object", "partition:{t}/0"],
    ("outages", "objects (pattern)"): ["{log}", "--object", "partition:{t}/*"],
    ("what-if", "without"): ["{log}", "--at", "40", "--without", "topic:{t}"],
    ("bisect", "expression"): ["{log}", 'topics["{t}"].partitions[0].leader == 2'],
    ("topics describe", "topics"): ["{t}"],
    ("topics lives", "name"): ["{t}"],
    ("partitions list", "topic"): ["{t}"],
    ("partitions list", "topic (removing)"): ["{t}", "--removing"],
    ("partitions describe", "partition"): ["{t}/0"],
    ("partitions states", "topic"): ["{t}/0"],
    ("configs describe", "resource"): ["topic/{t}"],
    ("configs explain", "resource"): ["topic/{t}", "retention.ms"],
    ("acls list", "topic"): ["--topic", "{t}", "--pattern-type", "match"],
    ("acls explain", "resource"): ["User:zoe", "read", "topic:{t}"],
    ("acls explain", "resource (denied)"): ["User:zoe", "write", "topic:{t}"],
}
CHANGING: dict[tuple[str, str], list[str]] = {
    ("topics alter", "topics"): ["{t}", "--partitions", "3"],
    ("topics delete", "topics"): ["{t}"],
    ("namespaces move", "topic"): ["--from", "", "--to", "org", "--topic", "{t}"],
    ("configs set", "resource"): ["topic/{t}", "retention.ms=7"],
    ("configs append", "resource"): ["topic/{t}", "cleanup.policy=compact"],
    ("configs subtract", "resource"): ["topic/{t}", "cleanup.policy=compact"],
    ("configs delete", "resource"): ["topic/{t}", "retention.ms"],
    ("configs replace", "resource"): ["topic/{t}", "retention.ms=8"],
    ("elect-leaders", "partitions"): ["{t}/0"],
    ("reassignments start", "moves"): ["{t}/0=2"],
    ("reassignments cancel", "partitions"): ["{t}/0"],
    ("acls create", "topic"): ["--topic", "{t}", "--principal", "User:zoe", "--operation", "alter"],
    ("acls delete", "topic"): ["--topic", "{t}"],
}
# Parameters of which a log, not a service, is asked.
OF_A_LOG: dict[tuple[str, str], list[str]] = {
    ("export kraft", "only"): ["{log}", "{dest}", "--as", "commands", "--only", "topic:{t}"],
    ("append", "expect"): ["--log", "{log}", "--expect", "topic:{t}=-2", "{file}"],
    ("shrink", "expression"): ["{log}", 'topics["{t}"].partitions[0].leader == 2', "{dest}"],
}
WITHOUT_TOPICS = {
    ("topics create", "names"): "they are new",
    ("check", "expect"): "the same language as that of `bisect`",
}
OVER_HTTP: dict[tuple[str, str], dict[str, Any]] = {
    ("history", "object"): {"object": "partition:{t}/*"},
    ("blame", "object"): {"object": "partition:{t}/0"},
    ("why", "object"): {"object": "partition:{t}/0"},
    ("diff", "object"): {"from": "start", "object": "topic:{t}"},
    ("dump", "object"): {"object": "config:topic/{t}"},
    ("export commands", "only"): {"only": "topic:{t}"},
    ("timeline", "objects"): {"objects": "topic:{t}"},
    ("outages", "topic"): {"topic": "{t}"},
    ("outages", "objects"): {"objects": "partition:{t}/*"},
    ("what-if", "without"): {"from": 40, "without": "topic:{t}"},
    ("report", "topics"): {"topics": "{t}"},
    ("bisect", "expression"): {"expression": 'topics["{t}"].partitions[0].leader == 2'},
    ("topics describe", "topics"): {"topics": "{t}"},
    ("topics lives", "name"): {"name": "{t}"},
    ("partitions describe", "topic"): {"topic": "{t}"},
    ("partitions removals", "topic"): {"topic": "{t}"},
    ("partitions states", "topic"): {"topic": "{t}"},
    ("configs describe", "resource_name"): {"resource_type": 2, "resource_name": "{t}"},
    ("configs explain", "resource_name"): {"resource_type": 2, "resource_name": "{t}"},
    ("acls explain", "resource_name"): {
        "principal": "User:zoe",
        "operation": 3,
        "resource_type": 2,
        "resource_name": "{t}",
    },
    ("acls list", "filter"): {"filter": '{{"resource_types": [2], "resource_name": "{t}"}}'},
    ("reassignments list", "partitions"): {"partitions": '["{t}", 0]'},
}
_NAMES_OBJECTS = re.compile(r"TOPIC|OBJECT|RESOURCE|EXPRESSION")
_HTTP_NAMES = re.compile(
    r"topics?|objects?|only|resource_name|name|without|expression|filter|partitions?"
)
_VOLATILE = re.compile(
    r'"(request_id|acl|created_id|timestamp|time|file|duration_ms)": ?("[^"]*"|[0-9]+|null)'
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which the topic was created again, reassigned, shrunk, and is asked about."""
    log = tmp_path_factory.mktemp("by_id") / "log"
    for command in (
        ["init", str(log)],
        *[["brokers", verb, n] for n in ("1", "2") for verb in ("register", "unfence")],
        ["configs", "set", "cluster", "delete.topic.partition.enable=true"],
        ["namespaces", "create", "org"],
        ["topics", "create", NAME, "other", "--assignment", "1:2,2:1"],
        ["topics", "delete", NAME],
        ["topics", "create", NAME, "--assignment", "1:2,2:1"],
        ["configs", "set", f"topic/{NAME}", "retention.ms=1"],
        ["acls", "create", "--principal", "User:zoe", "--operation", "read", "--topic", NAME],
        ["brokers", "fence", "1"],
        ["brokers", "unfence", "1"],
        ["reassignments", "start", "other/0=2"],
        ["topics", "alter", NAME, "--partitions", "1"],
    ):
        places = [] if command[0] == "init" else ["--log", str(log)]
        assert run([*command, *places]) == 0, command
    return log


@pytest.fixture(scope="module")
def topic_id(log: Path) -> str:
    """The id of the topic that has the name at the end, with `@`."""
    from records.text import uuid_text
    from replay.timeline import Timeline

    with LogReader.open(log) as reader:
        topic = Timeline(reader).image(reader.end_offset - 1).topic_by_full_name(NAME)
    assert topic is not None
    return f"@{uuid_text(topic.topic_id)}"


@pytest.fixture(scope="module")
def served(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service of a copy of the log."""
    copy = tmp_path_factory.mktemp("served") / "log"
    shutil.copytree(log, copy)
    with serving(copy, "--http", "127.0.0.1:0") as at:
        yield at


def _at_one_offset(log: Path, ask: Callable[[], list[T]]) -> list[T]:
    """Return answers between which the service wrote nothing, such as a broker's fencing."""
    while True:
        before = _end(log)
        answers = ask()
        if _end(log) == before:
            return answers


def _end(log: Path) -> int:
    with LogReader.open(log) as reader:
        return reader.end_offset


def _same(text: str, topic_id: str) -> str:
    """Return an answer without what differs by the form of the question, or at each run."""
    return _VOLATILE.sub(r'"\1": 0', text.replace(topic_id, NAME))


# History and events of the first topic of the name belong to the name, not to the id.
_OF_ONE_LIFE = ("history", "dump", "timeline", "outages", "bisect", "partitions states")


def _since(command: str, log: Path) -> list[str]:
    """Return the options that leave out the earlier topic of the same name."""
    if command not in _OF_ONE_LIFE:
        return []
    option = "--since" if command == "partitions states" else "--from"
    return [option, str(_created_again(log))]


def _created_again(log: Path) -> int:
    from records.topics import RemoveTopicRecord

    with LogReader.open(log) as reader:
        (removed,) = [
            row.offset
            for batch in reader.batches(reader.start_offset, reader.end_offset)
            for row in batch.rows
            if isinstance(row.payload, RemoveTopicRecord)
        ]
    return removed + 1


@pytest.mark.parametrize("way", ["process", "service"])
@pytest.mark.parametrize("case", READING, ids=" ".join)
def test_reading_command_answers_the_same_by_name_and_by_id(
    metalog: Metalog, log: Path, served: Served, topic_id: str, case: tuple[str, str], way: str
) -> None:
    command, _ = case
    place = ["--server", served.socket]
    words = READING[case]
    if way == "service":
        words = [word for word in words if word != "{log}"]
    else:
        place = [] if words[0] == "{log}" else ["--log", str(log)]
    arguments = [
        [
            *command.split(),
            *(word.format(t=ref, log=log) for word in words),
            *_since(command, log),
            *place,
            "--json",
        ]
        for ref in (NAME, topic_id)
    ]
    answers = _at_one_offset(served.log, lambda: [metalog(*each) for each in arguments])
    assert [each.code for each in answers] == [0, 0], answers
    by_name, by_id = (_same(each.out, topic_id) for each in answers)
    assert by_name == by_id
    assert by_name


@pytest.mark.parametrize("case", CHANGING, ids=" ".join)
def test_changing_command_does_the_same_by_name_and_by_id(
    metalog: Metalog, log: Path, topic_id: str, tmp_path: Path, case: tuple[str, str]
) -> None:
    answers, ends = [], []
    for number, ref in enumerate((NAME, topic_id)):
        copy = tmp_path / str(number)
        shutil.copytree(log, copy)
        words = [word.format(t=ref) for word in CHANGING[case]]
        answers.append(metalog(*case[0].split(), *words, "--log", copy, "--json"))
        ends.append(_same(metalog("diff", copy, "end-1", "end", "--json").out, topic_id))
    assert answers[0].code == answers[1].code, answers
    by_name, by_id = (_same(each.out + each.err, topic_id) for each in answers)
    assert by_name == by_id
    assert _ends(ends[0]) == _ends(ends[1])


def _ends(diff: str) -> tuple[int, list[Any]]:
    """Return where a log ends, and the fields that the last record changed."""
    found = json.loads(diff)
    return found["log_end"], [
        (each["object"].partition(":")[0], each["field"]) for each in found["changes"]
    ]


@pytest.mark.parametrize("case", OF_A_LOG, ids=" ".join)
def test_command_of_a_log_answers_the_same_by_name_and_by_id(
    metalog: Metalog, log: Path, topic_id: str, tmp_path: Path, case: tuple[str, str]
) -> None:
    found = []
    for number, ref in enumerate((NAME, topic_id)):
        copy, dest = tmp_path / f"log{number}", tmp_path / f"dest{number}"
        shutil.copytree(log, copy)
        file = tmp_path / "records.json"
        file.write_text('{"type": "NoOpRecord", "data": {}}\n')
        words = [w.format(t=ref, log=copy, dest=dest, file=file) for w in OF_A_LOG[case]]
        answer = metalog(*case[0].split(), *words)
        text = dest.read_text() if dest.is_file() else ""
        for path in (copy, dest):
            answer = type(answer)(
                *(answer.code,), *(each.replace(str(path), "") for each in (answer.out, answer.err))
            )
        found.append((answer.code, _same(f"{answer.out}{answer.err}{text}", topic_id)))
    assert found[0] == found[1]
    assert NAME in found[0][1] or found[0][0] == 0


@pytest.mark.parametrize("case", OVER_HTTP, ids=" ".join)
def test_http_answers_the_same_by_name_and_by_id(
    log: Path, served: Served, topic_id: str, case: tuple[str, str]
) -> None:
    url, queries = f"{served.http}/v1/{case[0].replace(' ', '/')}", []
    for ref in (NAME, topic_id):
        query = {
            k: v.format(t=ref) if isinstance(v, str) else v for k, v in OVER_HTTP[case].items()
        }
        if case[0] in _OF_ONE_LIFE:
            query["since" if case[0] == "partitions states" else "from"] = _created_again(log)
        queries.append(query)
    answers = _at_one_offset(
        served.log, lambda: [httpx.get(url, params=each, timeout=30) for each in queries]
    )
    assert [each.status_code for each in answers] == [200, 200], answers[1].text
    by_name, by_id = (_same(each.text, topic_id) for each in answers)
    assert by_name == by_id


def test_every_parameter_that_names_an_object_is_tried() -> None:
    tried = {
        (command, parameter.partition(" (")[0])
        for command, parameter in {**READING, **CHANGING, **OF_A_LOG, **WITHOUT_TOPICS}
    }
    found = {
        (command, parameter.name.rstrip("_"))
        for command, parameter in _parameters()
        if _NAMES_OBJECTS.search(parameter.metavar or "")
    }
    assert found - tried == set()


def test_every_http_parameter_that_names_an_object_is_tried() -> None:
    found = {
        (path.removeprefix("/v1/").replace("/", " "), parameter.name)
        for path, route in ROUTES.items()
        for parameter in route.parameters
        if _HTTP_NAMES.fullmatch(parameter.name)
    }
    assert found - OVER_HTTP.keys() == set()


def _parameters() -> Iterator[tuple[str, Any]]:
    for words, command in commands():
        yield from ((" ".join(words), each) for each in command.params)


def test_id_means_the_topic_through_all_its_names(
    metalog: Metalog, log: Path, topic_id: str, tmp_path: Path
) -> None:
    copy = tmp_path / "log"
    shutil.copytree(log, copy)
    for command in (
        ["namespaces", "move", "--from", "", "--to", "org", "--topic", NAME],
        ["topics", "create", NAME, "--assignment", "1:2"],
        ["configs", "set", f"topic/org:{NAME}", "retention.ms=2"],
    ):
        assert metalog(*command, "--log", copy).code == 0
    again, moved = _created_again(log), _offsets(metalog, copy, "MoveTopicRecord")[-1]
    (*_, other) = _offsets(metalog, copy, "TopicRecord")
    by_id = _events(metalog, copy, f"partition:{topic_id}/0")
    assert (min(by_id) >= again, moved in by_id, other in by_id) == (True, True, False)
    (*_, last) = _offsets(metalog, copy, "ConfigRecord")
    assert last in _events(metalog, copy, f"config:topic/{topic_id}")
    assert last not in _events(metalog, copy, f"config:topic/{NAME}")
    lines = metalog("history", copy, f"partition:{topic_id}/*", "--json").lines
    assert {line["object"] for line in lines} >= {f"partition:{NAME}/0", f"partition:{NAME}/1"}
    assert all(again <= line["offset"] < other for line in lines)


def _events(metalog: Metalog, log: Path, name: str) -> list[int]:
    answer = metalog("timeline", log, "--object", name, "--json")
    return [event["from_offset"] for event in answer.json["events"]]


def _offsets(metalog: Metalog, log: Path, type_: str) -> list[int]:
    return [line["offset"] for line in metalog("dump", log, "--type", type_, "--json").lines]


@pytest.mark.parametrize(
    ("ref", "code"), [("@AAAAAAAAAAAAAAAAAAAAAQ", "RESOURCE_NOT_FOUND"), ("@x*", "INVALID_REQUEST")]
)
@pytest.mark.parametrize("object_", ["topic:{}", "partition:{}/*", "config:topic/{}"])
def test_unknown_id_is_never_an_empty_answer(
    metalog: Metalog, log: Path, tmp_path: Path, ref: str, code: str, object_: str
) -> None:
    name = object_.format(ref)
    export = ["export", "kraft", log, tmp_path / "script", "--as", "commands", "--only", name]
    for command in (["timeline", log, "--object", name], ["history", log, name], export):
        answer = metalog(*command)
        assert (answer.code, answer.out) == (3, ""), (command, answer)
        assert answer.err.startswith(f"error: {code}: "), (command, answer.err)
    assert not (tmp_path / "script").exists()


def test_id_is_that_of_a_topic_in_any_namespace(
    metalog: Metalog, log: Path, topic_id: str, tmp_path: Path
) -> None:
    shutil.copytree(log, tmp_path / "log")
    entry = ("--principal", "User:eve", "--operation", "read")
    words = (*entry, "--namespace", "org", "--topic", topic_id, "--log", tmp_path / "log")
    made = metalog("acls", "create", *words)
    assert (made.code, made.err) == (0, "")
    assert f"on topic:{NAME}\n" in made.out


def test_id_is_no_prefix_of_names(metalog: Metalog, log: Path, topic_id: str) -> None:
    create = ["acls", "create", "--principal", "User:zoe", "--operation", "read"]
    for ref, options, code in (
        (topic_id, ["--pattern-type", "prefixed"], "INVALID_REQUEST"),
        ("@AAAAAAAAAAAAAAAAAAAAAQ", [], "UNKNOWN_TOPIC_ID"),
    ):
        answer = metalog(*create, "--topic", ref, *options, "--log", log, "--validate-only")
        assert (answer.code, code in answer.err) == (3, True), answer
