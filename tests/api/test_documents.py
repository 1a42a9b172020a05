"""Every JSON document contains the log position for which it holds."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generate_kraft import generate
from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from tests.api.conftest import Metalog
from tests.api.questions.asked import AT_POINTS
from tests.api.vocabulary import check_vocabulary
from tests.stand_in_quorum import Quorum
from tests.test_docs import command_names

_NAMES = frozenset(command_names())
_STREAMED = ("dump", "history", "partitions states", "tail")
_STANDS_FOR = {
    "LOG": "{log}",
    "FILE": "{tmp}/report.html",
    "TOPIC": "topic:kept",
    "NAME": "kept",
    "PARTITION": "partition:kept/0",
    "FROM": "start",
    "TO": "{at}",
}


def _asked(question: str) -> tuple[str, list[str]]:
    """Return the command that asks a question, and the words of a command line."""
    words = [_STANDS_FOR.get(word, word) for word in AT_POINTS[question][0]]
    two = " ".join(words[:2])
    return two if two in _NAMES else words[0], words


# Of questions that one command asks, the first counts.
_ASKED = dict(_asked(name) for name in reversed(AT_POINTS) if name not in _STREAMED)
STREAMS = dict(map(_asked, _STREAMED))
# In the order in which they run; {log} has a history that begins after 0, {tmp} is empty.
READING: dict[str, list[str]] = {
    **_ASKED,
    "compare": ["compare", "{log}", "{log}"],
    "export kraft": [
        *("export", "kraft", "{log}", "{tmp}/new/node", "--as", "checkpoint"),
        *("--at", "{at}", "--lossy"),
    ],
    "snapshot create": ["snapshot", "create", "{log}", "--at", "{at}"],
    "snapshot list": ["snapshot", "list", "{log}"],
    "snapshot show": ["snapshot", "show", "{log}", "{end}"],
    "snapshot prune": ["snapshot", "prune", "{log}"],
    "sql sync": ["sql", "sync", "{log}"],
    "verify": ["verify", "{log}"],
    "backup": ["backup", "{log}", "{tmp}/new/backup"],
    "archive": ["archive", "{log}", "{tmp}/new/archive"],
    "repair": ["repair", "{log}", "{tmp}/new/repaired"],
    "partitions describe": ["partitions", "describe", "kept/0", "--log", "{log}"],
    "users describe": ["users", "describe", "kept", "--log", "{log}"],
}
MAKING: dict[str, list[str]] = {
    "init": ["init", "{tmp}/new/made"],
    "demo": ["demo", "{tmp}/new/demo", "--topics", "2", "--changes", "5"],
    "import kafka": ["import", "kafka://{quorum}", "{tmp}/new/live", "--cluster-id", "{cluster}"],
    "import kraft": ["import", "kraft", "{tmp}/node", "{tmp}/new/mirror"],
    "restore": ["restore", "{tmp}/whole", "{tmp}/new/restored"],
    "fork": ["fork", "{tmp}/whole", "{tmp}/new/forked"],
}
_TOKEN = ("--secret-key-file", "{tmp}/password", "--as", "User:ann")
CHANGING: dict[str, list[str]] = {
    "topics create": ["topics", "create", "orders", "--assignment", "1:2,2:3"],
    "topics alter": ["topics", "alter", "orders", "--config", "retention.ms=1"],
    "topics adopt": ["topics", "adopt", "{tmp}/topics.txt"],
    "topics delete": ["topics", "delete", "adopted"],
    "namespaces create": ["namespaces", "create", "far:away"],
    "namespaces move": [
        "namespaces",
        "move",
        "--from",
        "",
        "--to",
        "far:away",
        "--topic",
        "orders",
    ],
    "configs set": ["configs", "set", "topic/kept", "cleanup.policy=delete"],
    "configs replace": ["configs", "replace", "topic/kept", "cleanup.policy=delete"],
    "configs append": ["configs", "append", "topic/kept", "cleanup.policy=compact"],
    "configs subtract": ["configs", "subtract", "topic/kept", "cleanup.policy=delete"],
    "configs delete": ["configs", "delete", "topic/kept", "cleanup.policy"],
    "acls create": ["acls", "create", "--principal", "User:a", "--operation", "all", "--cluster"],
    "acls delete": ["acls", "delete", "--principal", "User:a"],
    "brokers register": ["brokers", "register", "99"],
    "brokers unfence": ["brokers", "unfence", "99"],
    "brokers fence": ["brokers", "fence", "99"],
    "brokers unregister": ["brokers", "unregister", "99"],
    "reassignments start": ["reassignments", "start", "kept/0=3,1"],
    "reassignments cancel": ["reassignments", "cancel", "kept/0"],
    "elect-leaders": ["elect-leaders"],
    "subscriptions register": ["subscriptions", "register", "auditors", ".*"],
    "subscriptions delete": ["subscriptions", "delete", "auditors"],
    "features upgrade": ["features", "upgrade", "eligible.leader.replicas.version=1"],
    "features downgrade": ["features", "downgrade", "eligible.leader.replicas.version=0"],
    "namespaces delete": ["namespaces", "delete", "far:away"],
    "quotas set": ["quotas", "set", "--user", "ann", "producer_byte_rate=1"],
    "quotas delete": ["quotas", "delete", "--user", "ann", "producer_byte_rate"],
    "tokens create": ["tokens", "create", *_TOKEN],
    "tokens renew": ["tokens", "renew", "--hmac-file", "{tmp}/hmac", *_TOKEN],
    "tokens expire": ["tokens", "expire", "--hmac-file", "{tmp}/hmac", *_TOKEN],
    "users create": ["users", "create", "ann", "--password-file", "{tmp}/password"],
    "users alter": ["users", "alter", "ann", "--password-file", "{tmp}/password"],
    "users delete": ["users", "delete", "ann"],
    "notes add": ["notes", "add", "0", "where it began"],
    "transaction": ["transaction", "{tmp}/steps.jsonl"],
    "append": ["append", "{tmp}/records.jsonl"],
}
OTHERS = {
    "advise": "reads Kafka directories: tests/api/advise",
    "retain": "makes the log of this test",
    "doctor": "is about no log: tests/api/quorum/test_doctor.py",
    "confirm": "needs a mirror with an unconfirmed end: tests/api/test_confirm.py",
    "audit": "test_audit_says_where_in_the_log_it_stands, and `audit list` is about no log",
    "import gap": "joins parts of a recording: tests/api/quorum/test_filled_gap.py",
    "shrink": "stands at the flip: tests/api/test_shrink.py",
    "brokers wait": "asks a service",
    "shell": "several answers, each with its place: tests/api/test_shell.py",
    "record": "runs until it is stopped: tests/api/recorder",
    "serve": "runs until it is stopped",
    "broker": "runs until it is stopped",
    "view": "runs until it is stopped",
    "mcp": "runs until it is stopped: tests/api/assistants",
    "nodes create": "is about no log afterwards: tests/api/nodes/test_processes.py",
    "nodes lead": "is about a store: tests/api/nodes/test_processes.py",
    "nodes list": "is about a store: tests/api/nodes/test_processes.py",
    "nodes remove": "is about a store: tests/api/nodes/test_processes.py",
    "nodes repair": "is about a store: tests/api/nodes/test_lost_records.py",
}


def test_no_command_is_left_out() -> None:
    assert {*READING, *MAKING, *CHANGING, *STREAMS, *OTHERS} == set(command_names())


@pytest.fixture
def filled(metalog: Metalog, demo_log: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A log whose history was cut, and other files that commands need."""
    whole, log = tmp_path / "whole", tmp_path / "log"
    shutil.copytree(demo_log, whole)
    # Each writer begins a segment; only whole segments can go.
    (tmp_path / "password").write_text("pencil\n")
    made = ["topics", "create", "kept", "--assignment", "1:2", "--log", whole]
    assert metalog(*made).code == 0
    user = ["users", "create", "kept", "--password-file", tmp_path / "password", "--log", whole]
    assert metalog(*user).code == 0
    key = ["--secret-key-file", tmp_path / "password", "--as", "User:ann", "--log", whole]
    token = metalog("tokens", "create", *key, "--json")
    (tmp_path / "hmac").write_text(token.json["results"][0]["hmac"])
    shutil.copytree(whole, log)
    set_ = ["configs", "set", "topic/kept", "cleanup.policy=compact,delete", "--log", log]
    assert metalog(*set_).code == 0
    end = metalog("info", log, "--json").json["log_end"]
    cut = metalog("retain", log, "--before", end - 1, "--without-archive", "--json").json
    assert 0 < cut["history_start"] < end
    assert _place(cut) == (end - 1, cut["history_start"], end)
    (tmp_path / "topics.txt").write_text("adopted 1:2\n")
    note = '{"type": "NoteRecord", "data": {"at_offset": 0, "author": "ada", "text": "hello"}}'
    (tmp_path / "records.jsonl").write_text(f"{note}\n")
    step = '{"command": "namespaces create", "request": {"name": "stepwise"}}'
    (tmp_path / "steps.jsonl").write_text(f"{step}\n")
    generate(tmp_path / "node", 200, seed=1)
    with Quorum(tmp_path / "node" / PARTITION_DIRECTORY) as quorum:
        yield {
            "log": str(log),
            "tmp": str(tmp_path),
            "at": str(end - 2),
            "end": str(end - 1),
            "quorum": quorum.bootstrap,
            "cluster": quorum.cluster_id,
        }


def _place(document: dict[str, Any]) -> tuple[Any, Any, Any]:
    assert document["not_understood"] is None
    return document["as_of"], document["history_start"], document["log_end"]


def test_every_document_says_where_in_the_log_it_stands(
    metalog: Metalog, filled: dict[str, str]
) -> None:
    log = filled["log"]
    before = metalog("info", log, "--json").json
    start, end = before["history_start"], before["log_end"]
    for name, arguments in READING.items():
        command = [argument.format(**filled) for argument in arguments]
        answer = metalog(*command, "--json")
        assert answer.code == 0, (name, answer)
        is_past = any(word in arguments for word in ("{at}", "{end}"))
        as_of = int(filled["at"]) if is_past else end - 1
        assert _place(answer.json) == (as_of, start, end), name
        check_vocabulary(answer.json, name)
    for name, arguments in STREAMS.items():
        command = [argument.format(**filled) for argument in arguments]
        answer = metalog(*command, "--json", "--verbose")
        assert answer.code == 0, (name, answer)
        *_, last = lines = answer.lines
        check_vocabulary(lines, name)
        as_of = int(filled["at"]) if "{at}" in arguments else end - 1
        assert _place(last["end"]) == (as_of, start, end), name


def test_every_document_of_a_new_log_says_where_it_stands(
    metalog: Metalog, filled: dict[str, str]
) -> None:
    for name, arguments in MAKING.items():
        command = [argument.format(**filled) for argument in arguments]
        document = metalog(*command, "--json").json
        (made,) = [word for word in command if "/new/" in word]
        end = metalog("info", made, "--json").json["log_end"]
        start = end if name == "fork" else 0
        assert _place(document) == (end - 1, start, end), name
        check_vocabulary(document, name)


def test_every_document_of_a_change_says_where_the_log_stands_after_it(
    metalog: Metalog, filled: dict[str, str]
) -> None:
    log = filled["log"]
    start = metalog("info", log, "--json").json["history_start"]
    for name, arguments in CHANGING.items():
        command = [argument.format(**filled) for argument in arguments]
        answer = metalog(*command, "--log", log, "--json")
        # Of some partitions the preferred replica is not in sync.
        assert answer.code == (3 if name == "elect-leaders" else 0), (name, answer)
        end = metalog("info", log, "--json").json["log_end"]
        assert _place(answer.json) == (end - 1, start, end), name
        check_vocabulary(answer.json, name)
        assert name == "append" or all("error" in each for each in answer.json["results"]), name


@pytest.mark.spark
def test_audit_says_where_in_the_log_it_stands(metalog: Metalog, demo_log: Path) -> None:
    end = metalog("info", demo_log, "--json").json["log_end"]
    document = metalog("audit", "who", demo_log, "--until", 100, "--json").json
    assert _place(document) == (100, 0, end)
