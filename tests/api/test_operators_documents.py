"""The files that operators copy from docs/running.md, and the manual page, are valid."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from api.cli.app import complete_app
from api.cli.main import load_commands
from api.cli.man import man_page
from tests.test_docs import command_names

_DOCS = Path(__file__).parents[2] / "docs"
PAGE = (_DOCS / "running.md").read_text()
NODES = (_DOCS / "high_availability.md").read_text()

_INSTRUCTIONS = {
    "FROM",
    "COPY",
    "RUN",
    "USER",
    "EXPOSE",
    "VOLUME",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
}


def _block(language: str, page: str = PAGE) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def _parsed(words: list[str]) -> dict[str, Any]:
    """Return the parameters of a command line of `metalog serve`, parsed and not run."""
    program, name, *arguments = words
    assert (Path(program).name, name) == ("metalog", "serve")
    load_commands(["serve"])
    serve: Any = get_command(complete_app()).commands["serve"]  # type: ignore[attr-defined]
    found: dict[str, Any] = serve.make_context("serve", arguments).params
    return found


def _options_file(tmp_path: Path, page: str = PAGE) -> Path:
    file = tmp_path / "serve.toml"
    file.write_text(_block("toml", page))
    return file


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = _block("ini")
    (start,) = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
    file = _options_file(tmp_path)
    words = shlex.split(start.replace("/etc/metalog/serve.toml", str(file)))
    assert str(file) in _parsed(words)["config"]
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    path = tmp_path / "metalog.service"
    path.write_text(unit.replace(words[0], "/bin/true"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", path], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_container_file_has_known_instructions_and_a_command_that_is_taken() -> None:
    lines = re.sub(r"\\\n\s*", " ", _block("dockerfile")).splitlines()
    found = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    assert found[0][0] == "FROM"
    assert {name for name, _ in found} <= _INSTRUCTIONS
    by_name = dict(found)
    words = json.loads(by_name["ENTRYPOINT"]) + json.loads(by_name["CMD"])
    assert str(_parsed(words)["log"]) in by_name["VOLUME"]


def test_the_options_of_a_node_are_taken(tmp_path: Path) -> None:
    file = _options_file(tmp_path, NODES)
    found = _parsed(["metalog", "serve", "--config", str(file)])
    assert found["node"] == 2
    assert found["shared"].startswith("postgresql://")
    assert found["advertise"]


def test_the_nodes_of_the_compose_file_differ_in_their_id_address_and_volume_only() -> None:
    services = yaml.safe_load(_block("yaml", NODES))["services"]
    container = re.sub(r"\\\n\s*", " ", _block("dockerfile"))
    entrypoint = json.loads(re.findall("^ENTRYPOINT (.*)$", container, re.MULTILINE)[0])
    assert "[http,postgres]" in container
    parsed = {}
    for number in (1, 2, 3):
        node = services[f"node-{number}"]
        parsed[number] = _parsed([*entrypoint, *node["command"]])
        assert parsed[number].pop("node") == number
        assert list(parsed[number].pop("advertise")) == [f"node-{number}"]
        assert node["volumes"] == [f"node-{number}:{parsed[number]['log']}"]
        assert node["image"] == services["create"]["image"]
    assert parsed[1] == parsed[2] == parsed[3]
    create = services["create"]
    words: list[str] = create["command"]
    assert words == ["nodes", "create", parsed[1]["shared"], "--from", str(parsed[1]["log"])]
    assert all(
        services[name]["environment"]["PGPASSWORD"]
        == services["store"]["environment"]["POSTGRES_PASSWORD"]
        for name in ("create", "node-1", "node-2", "node-3")
    )


def test_the_manual_has_every_command_and_option() -> None:
    load_commands()
    group: Any = get_command(complete_app())
    page = man_page().replace(r"\-", "-")
    for name, command in group.commands.items():
        assert f'.SS "metalog {name} ' in page, name
        options = [option for param in command.params for option in param.opts]
        for option in [option for option in options if option.startswith("-")]:
            assert option in page, (name, option)
    for name in command_names():
        assert f'.SS "metalog {name} ' in page, name


def test_the_manual_is_set_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    path = tmp_path / "metalog.1"
    path.write_text(man_page())
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", path], capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "SIGTERM" in shown.stdout
