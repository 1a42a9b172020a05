"""`serve --config FILE` and `broker --config FILE`: options in a TOML file."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from api.cli.app import complete_app
from api.cli.main import load_commands
from api.cli.options.authorizer_options import ALLOW_ALL_NAME, server_configs
from api.cli.options.server_configs import SERVE
from metadata_log.writer.creation import create_log
from tests.api.conftest import Metalog
from tests.api.kafka.servers import CLUSTER_ID
from tests.api.services import serving

LISTS = {
    "kafka": ["127.0.0.1:1", "IN=ssl://:2"],
    "listen": ["127.0.0.1:1", "IN=ssl://:2"],
    "mechanism": ["PLAIN", "SCRAM-SHA-512"],
    "super-user": ["User:ann", "User:bob"],
    "log-dir": ["a", "b"],
    "advertise": ["kafka=a:1", "http=b:2"],
}
TEXTS = {"client-auth": "required", "log-format": "json", "lease-ms": 700}


def _command(name: str) -> Any:
    load_commands([name])
    return get_command(complete_app()).commands[name]  # type: ignore[attr-defined]


def _parsed(command: Any, arguments: list[str]) -> dict[str, Any]:
    context = command.make_context(command.name, arguments)
    found: dict[str, Any] = context.params
    return {name: value for name, value in found.items() if name != "config"}


def _example(param: Any) -> Any:
    name = _name(param)
    if param.param_type_name == "option" and param.is_flag:
        return True
    if name in LISTS and param.multiple:
        return LISTS[name]
    is_number = isinstance(param.default, int) or name in (
        *("id", "node", "delete-stale-delay-ms"),
    )
    return TEXTS.get(name, 7 if is_number else "text")


def _name(param: Any) -> str:
    longest: str = max(param.opts, key=len)
    return longest.removeprefix("--")


@pytest.mark.parametrize("name", ["serve", "broker"])
def test_a_file_has_every_option_of_the_command_line(name: str, tmp_path: Path) -> None:
    command = _command(name)
    lines, words = [], []
    for param in command.params:
        key, value = _name(param), _example(param)
        if key == "config":
            continue
        lines.append(f"{key} = {str(value).lower() if value is True else repr(value)}")
        if param.param_type_name == "argument":
            words.append(value)
        elif value is True:
            words.append(f"--{key}")
        else:
            items = value if isinstance(value, list) else [value]
            words.extend(word for item in items for word in (f"--{key}", str(item)))
    file = tmp_path / "options.toml"
    file.write_text("\n".join(lines))
    assert _parsed(command, ["--config", str(file)]) == _parsed(command, words)
    assert len(lines) > 20


def test_the_command_line_counts_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text('log = "a"\nretry-ms = 5\nsession-timeout-ms = 6\nkafka = [":1", ":2"]\n')
    command = _command("serve")
    found = _parsed(command, ["b", "--config", str(file), "--retry-ms", "7", "--kafka", ":3"])
    assert (str(found["log"]), found["retry_ms"], found["session_timeout_ms"]) == ("b", 7, 6)
    assert found["kafka"] == [":3"]


def test_server_level_configs_are_a_table_and_those_of_the_command_line_count(
    tmp_path: Path,
) -> None:
    file = tmp_path / "options.toml"
    file.write_text("[config]\nlog.retention.ms = 5\n'log.cleanup.policy' = 'delete'\n")
    context = _command("serve").make_context(
        "serve", ["a", "--config", str(file), "--config", "log.retention.ms=7"]
    )
    configs = server_configs(SERVE, context.params["config"], ALLOW_ALL_NAME, None)
    assert configs == {"log.retention.ms": "7", "log.cleanup.policy": "delete"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n# a\nsnapshot_every = 5\n", "line 3: snapshot_every: there is no such option; did you"),
        ("retry-ms = 0\n", "line 1: retry-ms: Input should be greater than or equal to 1"),
        ("\nretry-ms = true\n", "line 2: retry-ms: True is not a string or a number"),
        ("allow-remote = 1\n", "line 1: allow-remote: 1 is not true or false"),
        ("http = ['a']\n", "line 1: http: ['a'] is not a string or a number"),
        ("kafka = [\n  ':1',\n  1.5,\n]\n", "line 1: kafka: 1.5 is not a string, or a list"),
        ("client-auth = 'never'\n", "line 1: client-auth: Value error, 'never' is not one of"),
        ("[config]\nlog.retention.msec = 1\n", "line 2: config.log.retention.msec: "),
        ("[config]\n\nlog.retention.ms = 'soon'\n", "line 3: config.log.retention.ms: "),
        ("config = 'a'\n", "line 1: config: is a table"),
        ("a = \n", "is not TOML: Invalid value (at line 1, column 5)"),
        ("retry-ms = " + "9" * 5_000, "is not TOML: Exceeds the limit"),
        ("kafka = " + "[" * 5_000, "is not TOML: maximum recursion depth exceeded"),
        ('archive = "a\\u0000b"\n', "line 1: archive: 'a\\x00b' has a NUL character"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_line(
    metalog: Metalog, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "options.toml"
    file.write_text(text)
    answer = metalog("serve", tmp_path / "log", "--config", file)
    assert (answer.code, answer.out) == (2, "")
    assert f"{file}" in answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_two_files_and_one_that_is_not_there_are_refused(metalog: Metalog, tmp_path: Path) -> None:
    answer = metalog("serve", "a", "--config", "one.toml", "--config", "two.toml")
    assert "two files are given with --config: one.toml and two.toml" in answer.err
    answer = metalog("serve", "a", "--config", tmp_path / "one.toml")
    assert (answer.code, "there is no such file" in answer.err) == (2, True)


def test_a_service_runs_by_its_file(tmp_path: Path) -> None:
    create_log(tmp_path / "log", CLUSTER_ID)
    file = tmp_path / "options.toml"
    path = tmp_path / "http.sock"
    file.write_text(f'http = "unix:{path}"\n[config]\nlog.retention.ms = 1000\n')
    with serving(tmp_path / "log", "--config", file) as served:
        assert served.http == f"http://unix:{path}"


def test_the_document_shows_a_file_that_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "running.md").read_text()
    (example,) = re.findall("^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    file = tmp_path / "options.toml"
    file.write_text(example)
    assert len(_parsed(_command("serve"), ["--config", str(file)])["kafka"]) == 2


def test_log_as_an_option_is_answered_with_how_it_is_given(metalog: Metalog) -> None:
    for given in (["--log", "x"], ["--log=x"]):
        answer = metalog("serve", *given)
        assert answer.code == 2
        assert "LOG is an argument here, not an option: metalog serve LOG" in answer.err
