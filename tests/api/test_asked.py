"""`dump --asked` and `tail --asked` print requests; secrets are references to records."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from tests.api.conftest import Metalog
from tests.api.services import serving

_FIRST, _SECOND = "hunter2-the-secret", "hunter3-the-secret"
_NAME = "ssl.key.password"


def _steps(path: Path) -> Path:
    """Write the steps of a transaction that sets a secret and creates a namespace."""
    change = {"name": _NAME, "value": _SECOND}
    resource = {"resource_type": 4, "resource_name": "1", "changes": [change]}
    steps = [
        {"command": "configs alter", "request": {"resources": [resource]}},
        {"command": "namespaces create", "request": {"name": "org"}},
    ]
    path.write_text("".join(json.dumps(step) + "\n" for step in steps))
    return path


@pytest.fixture(scope="module", params=["log", "kafka"])
def log(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A log with requests that contained secrets, sent in process or over a connection."""
    directory = tmp_path_factory.mktemp("asked")
    log = directory / "log"
    assert run(["init", str(log)]) == 0
    assert run(["brokers", "register", "1", "--log", str(log)]) == 0
    if request.param == "log":
        _ask(directory, "--log", log)
    else:
        with serving(log) as served:
            _ask(directory, "--server", served.kafka)
    return log


def _ask(tmp_path: Path, *where: object) -> None:
    record = {"resource_type": 4, "resource_name": "2", "name": _NAME, "value": _FIRST}
    (tmp_path / "record").write_text(json.dumps({"type": "ConfigRecord", "data": record}))
    for command in (
        ("configs", "set", "broker/1", f"{_NAME}={_FIRST}", "--request-id", "r1"),
        ("transaction", _steps(tmp_path / "steps"), "--request-id", "r2"),
        ("append", tmp_path / "record"),
    ):
        assert run([*map(str, (*command, *where))]) == 0, command


def _asked(rows: list[Any]) -> dict[str, Any]:
    return {row["asked"]["command"]: row["asked"] for row in rows if "asked" in row}


def test_dump_prints_what_was_asked_for_with_references_to_secrets(
    metalog: Metalog, log: Path
) -> None:
    rows = metalog("dump", log, "--asked", "--json", "--show-secrets").lines
    asked = _asked(rows)
    assert {"activate", "brokers register", "configs alter", "transaction"} <= set(asked)
    alter = asked["configs alter"]
    assert alter["request"] == [[[4, "1", [[_NAME, None]]]]]
    assert "response" in alter  # it has a request id
    assert [each["object"] for each in alter["versions"]] == ["config:broker/1"]
    (secret,) = alter["secrets"]
    assert secret["path"] == "request/0/0/2/0/1"
    at = next(i for i, row in enumerate(rows) if row.get("asked") == alter)
    assert rows[at + secret["record_index"]]["data"][secret["field"]] == _FIRST
    (steps,) = asked["transaction"]["request"]
    assert [name for name, _ in steps] == ["configs alter", "namespaces create"]
    (secret,) = asked["transaction"]["secrets"]
    at = next(i for i, row in enumerate(rows) if row.get("asked") == asked["transaction"])
    # Begin stands before the records of the steps.
    assert rows[at]["type"] == "BeginTransactionRecord"
    assert rows[at + secret["record_index"]]["data"]["value"] == _SECOND


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", ["dump", "tail"])
def test_no_form_of_it_shows_a_secret(
    metalog: Metalog, log: Path, command: str, options: list[str]
) -> None:
    arguments: list[object] = [command, log, "--asked", *options]
    if command == "tail":
        count = len(metalog("dump", log, "--json").lines)
        arguments += ["--from", "start", "--count", count]
    answer = metalog(*arguments)
    assert answer.code == 0, answer.err
    assert "asked" in answer.out and _NAME in answer.out
    for secret in (_FIRST, _SECOND):
        assert secret not in answer.out
        # Encoded steps are printed in base64, which hides text at each of three alignments.
        assert not any(form in answer.out for form in _in_base64(secret))


def _in_base64(text: str) -> Iterator[str]:
    for shift in range(3):
        encoded = base64.urlsafe_b64encode(b"\0" * shift + text.encode()).decode()
        yield encoded[4 if shift else 0 : -4]


def test_without_the_option_nothing_of_it_is_printed(metalog: Metalog, log: Path) -> None:
    assert not _asked(metalog("dump", log, "--json", "--show-secrets").lines)
