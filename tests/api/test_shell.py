"""metalog shell: the tree of objects, moves in time, scripts, and terminal use."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from api.cli.shell.completion import completions
from api.cli.shell.verbs import Shell
from api.cli.source.source import Source
from tests.api.conftest import Answer, Metalog
from tests.api.services import serving
from tests.api.terminal import on_terminal
from tests.forked_commands import METALOG

Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A log, and the service that writes it, with no changes during the tests."""
    log = tmp_path_factory.mktemp("shell") / "log"
    made = ["demo", str(log), "--topics", "6", "--brokers", "3", "--changes", "200", "--seed", "7"]
    assert run(made) == 0
    on = ["--log", str(log)]
    assert run(["configs", "set", "cluster", "max.connections=7", *on]) == 0
    with serving(log, "--session-timeout-ms", 600_000) as service:
        yield log, service.kafka


@pytest.fixture(params=["log", "service"])
def ask(request: pytest.FixtureRequest, metalog: Metalog, served: tuple[Path, str]) -> Ask:
    """Run lines in a shell of the log directory, and in one of its service."""
    log, server = served
    where = [log] if request.param == "log" else ["--server", server]

    def answer(*lines: str, at: object = "end", as_json: bool = False) -> Answer:
        commands = [word for line in lines for word in ("--command", line)]
        return metalog("shell", *where, *commands, "--at", at, *["--json"] * as_json)

    return answer


def documents(answer: Answer) -> list[dict[str, Any]]:
    decoder, rest, found = json.JSONDecoder(), answer.out, []
    while rest.strip():
        document, end = decoder.raw_decode(rest.lstrip())
        found.append(document)
        rest = rest.lstrip()[end:]
    return found


def test_every_object_of_the_image_is_in_the_tree(
    ask: Ask, metalog: Metalog, served: tuple[Path, str]
) -> None:
    image = metalog("image", served[0], "--json").json["parts"]
    (found,) = documents(ask("find", as_json=True))
    wanted = [each for of in image.values() for each in of]
    assert found["objects"] == wanted
    paths = ask("find").out.splitlines()
    assert len(paths) == len(set(paths)) == len(wanted)
    for path in paths[:: len(paths) // 20]:
        (told,) = documents(ask(f"cat '{path}'", as_json=True))
        assert told["objects"] == [wanted[paths.index(path)]]


def test_folders_are_the_parts_of_names(ask: Ask) -> None:
    assert ask("ls /partitions/__consumer_offsets").out.split() == [str(n) for n in range(50)]
    assert ask("cd /configs/broker", "ls").out.split() == ["<default>", "1", "2", "3"]
    assert "max.connections = 7" in ask("cat '/configs/broker/<default>'").out
    assert ask("cd partitions/__consumer_offsets", "cd ../../brokers", "pwd").out.startswith(
        "/brokers  as of offset "
    )
    assert ask("ls /brokers", "ls broker:1").out.startswith("1\n2\n3\nbroker:1\n  incarnation_id")
    tree = ask("tree /partitions").out.splitlines()
    assert tree[:3] == ["__consumer_offsets/", "  0", "  1"]


def test_objects_are_found_by_their_fields(
    ask: Ask, metalog: Metalog, served: tuple[Path, str]
) -> None:
    partitions = metalog("image", served[0], "--part", "partitions", "--json").json["parts"][
        "partitions"
    ]
    led = [each["object"] for each in partitions if each["leader"] == 2]
    (found,) = documents(ask("find /partitions leader=2", as_json=True))
    assert [each["object"] for each in found["objects"]] == led
    others = ask("find /partitions leader!=2").out.splitlines()
    assert len(others) == len(partitions) - len(led)
    assert ask("find /brokers '1'").code == 3
    assert ask("find '*_offsets' /topics").out == "/topics/__consumer_offsets\n"


def test_next_and_prev_walk_the_history(
    ask: Ask, metalog: Metalog, served: tuple[Path, str]
) -> None:
    offsets = [each["offset"] for each in metalog("history", served[0], "broker:1", "--json").lines]
    assert len(offsets) > 2
    walked = documents(ask(*["next /brokers/1"] * len(offsets), at="start", as_json=True))
    assert [each["as_of"] for each in walked] == [each["offset"] for each in walked] == offsets
    back = documents(ask(*["prev /brokers/1"] * (len(offsets) - 1), at=offsets[-1], as_json=True))
    assert [each["as_of"] for each in back] == offsets[-2::-1]
    for line, at in (("next /brokers/1", "end"), ("prev /brokers/1", "start")):
        refused = ask(line, at=at)
        assert (refused.code, "RESOURCE_NOT_FOUND: broker:1 does not change" in refused.err) == (
            3,
            True,
        )
    assert ask("next", "prev", "prev", at=20).out.count("as of offset") == 3
    assert ask("next /brokers/99").code == 3


def test_a_field_is_followed_alone(ask: Ask, metalog: Metalog, served: tuple[Path, str]) -> None:
    fenced = [
        each["offset"] for each in metalog("history", served[0], "broker:1#fenced", "--json").lines
    ]
    walked = documents(
        ask("cd /brokers/1", "at start", *["next #fenced"] * len(fenced), as_json=True)
    )
    assert [each["as_of"] for each in walked] == [-1, *fenced]


def test_commands_get_the_object_and_the_point(
    ask: Ask, metalog: Metalog, served: tuple[Path, str]
) -> None:
    log = served[0]
    name = "partition:__consumer_offsets/0"
    here = "cd /partitions/__consumer_offsets/0"
    assert ask(here, "history", at=150).out == metalog("history", log, name, "--to", 150).out
    assert ask(here, "blame", at=150).out == metalog("blame", log, name, "--at", 150).out
    assert ask(here, "why #leader", at=150).out == (
        metalog("why", log, f"{name}#leader", "--at", 150).out
    )
    assert ask(here, "diff 30", at=150).out == metalog("diff", log, 30, 150, "--object", name).out
    assert ask("timeline --from 100", at=150).out == (
        metalog("timeline", log, "--from", 100, "--to", 150).out
    )


def test_errors_say_what_is_there_and_end_a_script(ask: Ask) -> None:
    for line, told in (
        ("nonsense", "there is no verb nonsense; `help` lists"),
        ("cd /nowhere", "the parts are topics, partitions"),
        ("cat /brokers/99", "`ls /brokers` shows what is there"),
        ("cat /brokers/1#nope", "broker:1 has no field nope; its fields are incarnation_id"),
        ("ls a b", "too many words: a b"),
        ("ls 'a", "No closing quotation"),
        ("history", "/ is no object; name one"),
        ("at 99999999", "OFFSET_OUT_OF_RANGE"),
    ):
        refused = ask(line, "pwd")
        assert (refused.code, told in refused.err, refused.out) == (3, True, ""), refused


def test_a_script_runs_from_a_pipe_and_gives_to_others(served: tuple[Path, str]) -> None:
    script = "# how many\ncd /partitions/__consumer_offsets\nls | wc -l\nls | head -1\nexit\nnope\n"
    done = subprocess.run(
        [*METALOG, "shell", served[0]],
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["50", "0"], "")


def test_words_are_completed(served: tuple[Path, str]) -> None:
    shell = Shell(Source(log=served[0]))
    assert completions(shell, "", "hi") == ["history "]
    assert completions(shell, "ls ", "part") == ["partitions/"]
    assert completions(shell, "ls ", "partitions/__con") == ["partitions/__consumer_offsets/"]
    assert completions(shell, "ls ", "/partitions/__consumer_offsets/49") == [
        "/partitions/__consumer_offsets/49 "
    ]
    assert completions(shell, "ls ", "nowhere/") == []


def test_a_person_types_and_goes_on_after_an_error(
    served: tuple[Path, str], tmp_path: Path
) -> None:
    shown = on_terminal(
        *("shell", served[0]),
        typed="cd /partitions/__con\t\nnonsense\nls | wc -l\nexit\n",
        columns=120,
        with_errors=True,
        XDG_STATE_HOME=str(tmp_path),
    )
    assert "/partitions/__consumer_offsets @" in shown
    assert "error: INVALID_REQUEST: there is no verb nonsense" in shown
    assert "\n50\n" in shown
    kept = tmp_path / "metalog" / "shell_history"
    assert kept.read_text().splitlines()[-1] == "exit"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_secrets_are_shown_only_when_asked_for(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert metalog("demo", log, "--topics", 1, "--changes", 1).code == 0
    password = tmp_path / "password"
    password.write_text("pencil\n")
    assert metalog("users", "create", "ann", "--password-file", password, "--log", log).code == 0
    lines = ["--command", "cat /scram/ann/SCRAM-SHA-512", "--command", "find /scram"]
    hidden = metalog("shell", log, *lines).out
    assert "stored_key = (redacted)" in hidden
    shown = metalog("shell", log, *lines, "--show-secrets").out
    assert "(redacted)" not in shown
