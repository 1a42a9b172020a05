"""`export kraft --as commands`: quoting, differences, secrets, and what commands cannot express."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from api.cli.main import run
from replay.kafka_commands.command import Command
from tests.api.conftest import Metalog

_HISTORY = (
    ("brokers", "register", "1"),
    ("brokers", "register", "2"),
    ("brokers", "unfence", "1"),
    ("brokers", "unfence", "2"),
    ("topics", "create", "plain", "--assignment", "1,1"),
    ("configs", "set", "topic/plain", "cleanup.policy=compact,delete"),
    ("configs", "set", "broker/1", "log.cleaner.threads=2"),
    ("configs", "set", "broker/2", "sasl.jaas.config=it's secret"),
    ("acls", "create", "--principal", "User:it's me", "--operation", "read", "--topic", "p"),
    ("users", "create", "ann", "--password-file", "{password}"),
    ("quotas", "set", "--user", "ann", "--default-client-id", "producer_byte_rate=1024"),
    ("namespaces", "create", "org"),
    ("topics", "create", "org:inner", "--assignment", "1"),
    ("topics", "create", "lost", "--assignment", "1", "--config", "flush.ms=7"),
)


class Made:
    """A log, and the offset before its last topic was deleted."""

    def __init__(self, metalog: Metalog, log: Path) -> None:
        self.log = log
        self._metalog = metalog
        self.before = metalog("info", self.log, "--json").json["log_end"] - 2

    def script(self, *options: object) -> list[str]:
        """Return the lines of the script that is written, and printed alike."""
        path = self.log.with_name(f"script{len(list(self.log.parent.iterdir()))}")
        command = ("export", "kraft", self.log, path, "--as", "commands", *options)
        answer = self._metalog(*command)
        assert answer.code == 0, answer
        subprocess.run(["bash", "-n", path], check=True)
        script = path.read_text()
        assert self._metalog("export", "commands", self.log, *options).out == script
        return script.splitlines()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log, written once; tests work on copies."""
    directory = tmp_path_factory.mktemp("commands")
    log, password = directory / "log", directory / "password"
    password.write_text("pencil\n")
    assert run(["init", str(log)]) == 0
    for arguments in (*_HISTORY, ("topics", "delete", "lost")):
        words = [word.replace("{password}", str(password)) for word in arguments]
        assert run([*words, "--log", str(log)]) == 0, arguments
    return log


@pytest.fixture
def made(metalog: Metalog, history: Path, tmp_path: Path) -> Made:
    return Made(metalog, shutil.copytree(history, tmp_path / "log"))


def _commands(lines: list[str]) -> list[str]:
    head = '.sh --bootstrap-server "$BOOTSTRAP"'
    return [line.replace(head, "") for line in lines if line.startswith("kafka-")]


def test_a_command_is_one_printable_line_that_bash_reads() -> None:
    words = ["it's", "two\nlines", "\x1b]0;x\a'\\", "\u202eé", "a b"]
    line = Command(object="topic:a", tool="x", arguments=words).line()
    assert line.isprintable()
    script = f"x.sh() {{ printf '%s\\0' \"$@\"; }}; {line}"
    found = subprocess.run(["bash", "-c", script], check=True, capture_output=True).stdout
    assert found.decode().split("\0")[2:-1] == words


def test_whole_state(made: Made) -> None:
    lines = made.script()
    assert _commands(lines) == [
        "kafka-topics --create --topic plain --replica-assignment 1,1 "
        "--config cleanup.policy=compact,delete",
        "kafka-configs --alter --entity-type brokers --entity-name 1 "
        "--add-config log.cleaner.threads=2",
        "kafka-configs --alter --entity-type users --entity-name ann --entity-type clients "
        "--entity-default --add-config producer_byte_rate=1024",
        "kafka-acls --add --allow-principal 'User:it'\"'\"'s me' --allow-host '*' "
        "--operation Read --topic p --resource-pattern-type literal",
    ]
    comments = "\n".join(line for line in lines if line.startswith("# not by command: "))
    for what in (
        "config:broker/2#sasl.jaas.config: its value is a secret",
        "topic:org:inner: it is in a namespace",
        "scram:ann: the log holds a hash",
        "topics: what is created has new ids",
        "feature:metadata.version: a new cluster gets it: kafka-storage format",
    ):
        assert f"# not by command: {what}" in comments
    assert "secret'" not in "\n".join(lines)


def test_deletion_is_undone_by_one_command(made: Made) -> None:
    lines = made.script("--since", "end", "--at", made.before)
    assert _commands(lines) == [
        "kafka-topics --create --topic lost --replica-assignment 1 --config flush.ms=7"
    ]
    assert [line for line in lines if "not by command" in line] == [
        "# not by command: topics: what is created has new ids, leaders and epochs, and no data"
    ]


def test_deletion_of_data_is_said_at_the_top(made: Made) -> None:
    lines = made.script("--since", made.before, "--at", "end")
    assert _commands(lines) == ["kafka-topics --delete --topic lost"]
    assert lines[2] == "# It deletes, with all data: topic:lost"


def test_secrets_stand_in_the_script_when_they_are_asked_for(made: Made) -> None:
    lines = made.script("--show-secrets", "--only", "config:broker/2")
    (line,) = _commands(lines)
    assert shlex.split(line)[-1] == "sasl.jaas.config=it's secret"
    assert "--entity-name 2" in line


@pytest.mark.parametrize("only", ["topic:lost", "topic:l*"])
def test_one_topic_is_made_again_with_its_configs(made: Made, only: str) -> None:
    lines = made.script("--at", made.before, "--only", only)
    assert _commands(lines) == [
        "kafka-topics --create --topic lost --replica-assignment 1 --config flush.ms=7"
    ]


def test_object_that_is_absent_is_named(made: Made, metalog: Metalog, tmp_path: Path) -> None:
    command = ("export", "kraft", made.log, tmp_path / "out", "--as", "commands", "--only")
    answer = metalog(*command, "topic:lost")
    assert (answer.code, "RESOURCE_GONE" in answer.err) == (3, True)
    assert "RESOURCE_NOT_FOUND" in metalog(*command, "topic:never").err
    assert not (tmp_path / "out").exists()


def test_json_holds_the_commands(made: Made, metalog: Metalog, tmp_path: Path) -> None:
    path = tmp_path / "script"
    answer = metalog("export", "kraft", made.log, path, "--as", "commands", "--json").json
    assert answer["file"] == str(path)
    assert [each["line"] for each in answer["commands"]] == [
        line for line in path.read_text().splitlines() if line.startswith("kafka-")
    ]
    assert {"object", "reason"} == set(answer["not_by_command"][0])
    again = metalog("export", "kraft", made.log, path, "--as", "commands")
    assert (again.code, "exists already" in again.err) == (3, True)


def test_options_of_commands_are_refused_elsewhere(made: Made, metalog: Metalog) -> None:
    command = ("export", "kraft", made.log, made.log / "x", "--as", "checkpoint")
    assert metalog(*command, "--only", "topic:a").code == 2
    assert metalog(*command, "--since", "1").code == 2


def test_partitions_grow_and_move_by_commands(made: Made, metalog: Metalog) -> None:
    log = ("--log", made.log)
    start = metalog("info", made.log, "--json").json["log_end"] - 1
    grown = ("topics", "alter", "plain", "--partitions", "3", "--assignment", "2")
    assert metalog(*grown, *log).code == 0
    assert metalog("reassignments", "start", "plain/0=1,2", *log).code == 0
    lines = made.script("--since", start)
    grow, move = _commands(lines)
    assert grow == (
        "kafka-topics --alter --topic plain --partitions 3 --replica-assignment 1:2,1,2"
    )
    plan = '{"topic": "plain", "partition": 0, "replicas": [1, 2]}'
    assert move == (
        "kafka-reassign-partitions --execute --reassignment-json-file <(printf %s "
        f'\'{{"version": 1, "partitions": [{plan}]}}\')'
    )
    assert any("partition:plain/0: a reassignment was running" in line for line in lines)
