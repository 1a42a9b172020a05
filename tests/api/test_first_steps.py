"""First steps of a new user: help, environment variables, offsets and times, folders without a
log.
"""

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from api.cli.commands import SECTIONS
from benchmarks.generate_kraft import generate
from records.avro import compiled
from tests.api.conftest import Answer, Metalog
from tests.api.terminal import on_terminal
from tests.forked_commands import METALOG
from tests.test_docs import command_names


def metalog_process(*arguments: object, **environment: str) -> Answer:
    """Run the real command, with further environment variables."""
    command = [*METALOG, *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def test_version_is_that_of_the_distribution_and_names_the_codec() -> None:
    command = [sys.executable, "-m", "api.cli", "--version"]
    printed = subprocess.check_output(command, text=True)
    assert printed == f"metalog {version('metadata-log')}\ncodec: {compiled.name()}\n"
    environment = {**os.environ, compiled.VARIABLE: compiled.PYTHON}
    printed = subprocess.check_output(command, text=True, env=environment)
    assert printed.endswith("\ncodec: python\n")


def test_help_lists_every_command_in_a_section_with_its_whole_summary(metalog: Metalog) -> None:
    text = metalog("-h").out
    assert text == metalog("--help").out
    titles = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert titles == ["Options", *SECTIONS]  # no "Other commands"
    commands = {name.split()[0] for name in command_names()}
    assert {name for names in SECTIONS.values() for name in names} == commands
    assert "Make a log:\n  init    Make an empty log" in text
    flat = " ".join(text.split())
    assert "Show which record last set each field of an object, and who caused it." in flat


@pytest.mark.parametrize("command", sorted({name.split()[0] for name in command_names()}))
def test_no_summary_is_cut(metalog: Metalog, command: str) -> None:
    text = metalog(command, "-h").out
    assert text.startswith(f"Usage: metalog {command} ")
    # "..." stands for more of the same in `TOPIC...`, and never ends a line of a summary.
    assert not re.search(r"[a-z,]\.\.\.$", text, re.MULTILINE)


def test_variable_stands_for_the_log_that_is_left_out(demo_log: Path) -> None:
    for arguments in (
        ["info"],
        ["verify"],
        ["image", "--at", "100"],
        ["diff", "50", "100"],
        ["history", "broker:1", "--json"],
        ["topics", "list"],
        ["brokers", "describe", "1"],
    ):
        named = [*arguments, "--log"] if arguments[0] in ("topics", "brokers") else arguments[:1]
        rest = [] if named[-1] == "--log" else arguments[1:]
        expected = metalog_process(*named, demo_log, *rest)
        assert expected.code == 0
        assert metalog_process(*arguments, METALOG_LOG=str(demo_log)) == expected


def test_argument_is_stronger_than_the_variable(demo_log: Path, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "nowhere")
    assert metalog_process("info", demo_log, METALOG_LOG=elsewhere).code == 0
    listed = metalog_process("topics", "list", "--log", demo_log, METALOG_SERVER="kafka://x:1")
    assert listed.code == 0
    both = metalog_process("topics", "list", METALOG_LOG=elsewhere, METALOG_SERVER="kafka://x:1")
    assert (both.code, "are both set" in both.err) == (2, True)
    none = metalog_process("topics", "list", METALOG_LOG="", METALOG_SERVER="")
    assert (none.code, "name one of --log LOG and --server URL" in none.err) == (2, True)


def test_variable_stands_for_the_server_that_is_left_out() -> None:
    answer = metalog_process("brokers", "list", METALOG_SERVER="kafka://127.0.0.1:1")
    assert (answer.code, "127.0.0.1:1 does not answer" in answer.err) == (4, True)


def test_folder_of_kafka_is_no_log_but_can_be_imported(metalog: Metalog, tmp_path: Path) -> None:
    partition = generate(tmp_path / "node", 50, seed=1)
    for folder in (tmp_path / "node", partition):
        for command in (["info", folder], ["topics", "list", "--log", folder], ["verify", folder]):
            answer = metalog(*command)
            assert (answer.code, answer.out) == (3, "")
            assert answer.err.startswith("error: LOG_NOT_FOUND: ")
            assert f"`metalog import kraft {folder} LOG`" in answer.err


@pytest.mark.parametrize("make", ["init", "demo", "import", "restore", "repair", "backup"])
def test_missing_parents_of_a_new_log_are_made(
    metalog: Metalog, demo_log: Path, tmp_path: Path, make: str
) -> None:
    made = tmp_path / "some" / "new" / "log"
    if make == "import":
        generate(tmp_path / "node", 50, seed=1)
    answer = {
        "init": lambda: metalog("init", made),
        "demo": lambda: metalog("demo", made, "--topics", 2, "--changes", 5),
        "import": lambda: metalog("import", "kraft", tmp_path / "node", made),
        "restore": lambda: metalog("restore", demo_log, made),
        "repair": lambda: metalog("repair", demo_log, made),
        "backup": lambda: metalog("backup", demo_log, made),
    }[make]()
    assert answer.code == 0, answer
    assert metalog("info", made).code == 0
    assert made.parent.stat().st_mode & 0o777 == 0o700


def test_list_of_nothing_is_empty(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    for command, part in (
        (["snapshot", "list", log], "snapshots"),
        (["topics", "list", "--log", log], "topics"),
        (["topics", "describe", "--log", log], "topics"),
        (["namespaces", "list", "--log", log], "namespaces"),
        (["brokers", "list", "--log", log], "brokers"),
        (["partitions", "list", "--log", log], "partitions"),
        (["partitions", "list", "--removing", "--log", log], "removals"),
        (["reassignments", "list", "--log", log], "reassignments"),
        (["configs", "describe", "cluster", "--log", log], "configs"),
    ):
        answer = metalog(*command, "--json")
        assert (answer.code, answer.json[part], answer.err) == (0, [], ""), command
        assert metalog(*command).code == 0
    assert metalog("snapshot", "prune", log, "--json").json["deleted"] == 0
    assert not (log / "snapshots.db").exists()
    assert (metalog("dump", log).out, metalog("partitions", "states", "--log", log).out) == ("", "")


def test_points_counted_back_from_the_end_and_from_now(metalog: Metalog, demo_log: Path) -> None:
    end = metalog("info", demo_log, "--json").json["log_end"]

    def as_of(point: object, *options: object) -> int:
        answer = metalog("image", demo_log, "--at", point, *options, "--json")
        return int(answer.json["as_of"])

    assert as_of("end-100") == end - 101
    assert as_of("now") == as_of("1w") == as_of("end") == end - 1
    last = metalog("dump", demo_log, "--from", "end", "--json").lines[-1]["timestamp"]
    back = metalog("dump", demo_log, "--to", "end-30m", "--json").lines[-1]["timestamp"]
    assert last - back >= 1_800_000
    assert as_of("end-52w") == -1
    assert as_of(-1) == as_of("start")
    assert metalog("diff", demo_log, "-1", "end", "--json").json["from"] == -1


def test_every_point_that_is_printed_can_be_typed(metalog: Metalog, demo_log: Path) -> None:
    for point in ("start", "end", "0", "end-100", "end-1h", "2026-01-01T00:00:05Z"):
        document = metalog("image", demo_log, "--at", point, "--json").json
        assert metalog("image", demo_log, "--at", document["as_of"], "--json").json == document
        heading = metalog("diff", demo_log, "start", point).out.splitlines()[0]
        assert re.fullmatch(
            r"[\d,]+ differences?( in \d+ objects?)? between the start and (the start|offset \d+)"
            r"(, \d+ objects? came and went)?",
            heading,
        )


def test_time_without_a_zone_is_read_in_the_zone_named_and_the_answer_says_which(
    metalog: Metalog, demo_log: Path
) -> None:
    ask = ["image", demo_log, "--json", "--at"]
    utc = metalog(*ask, "2026-01-01T00:00:05Z").json
    assert "time_zone" not in utc
    for point, zone in (
        ("2026-01-01T00:00:05", "UTC"),
        ("2026-01-01T01:00:05", "Europe/Berlin"),
        ("2025-12-31T19:00:05", "-05:00"),
    ):
        named = metalog(*ask, point, "--time-zone", zone).json
        assert named == {**utc, "time_zone": zone}
    assert metalog(*ask, "2026-01-01T00:00:05").json["time_zone"] == "UTC"
    shown = on_terminal(
        *("diff", demo_log, "2026-01-01", "end", "--time-zone", "Europe/Berlin"), with_errors=True
    )
    assert "2026-01-01 has no time zone and was read as Europe/Berlin" in " ".join(shown.split())


def test_audit_takes_the_log_from_the_variable_before_its_query() -> None:
    answer = metalog_process("audit", "sql", "SELECT 1", METALOG_LOG="/nowhere")
    assert answer.err.startswith("error: LOG_NOT_FOUND: /nowhere is not a log")
