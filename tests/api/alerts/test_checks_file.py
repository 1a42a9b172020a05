"""Mistakes in a file of checks are refused with file, line and key."""

from pathlib import Path

import pytest

from api.alerts.checks import checks_of, read_checks
from records.errors import RequestError

MISTAKES = [
    ("expext = 1", 1, "expext: there is no such setting; did you mean 'expect'?"),
    ("expect = 1", 1, "expect: is a table: write [expect] before its lines"),
    ("\n[expect]\na = 'true'\nb = 7", 4, "expect.b: expected str, got int"),
    ("[expect]\na = 'topics.x('", 2, "expect.a: INVALID"),
    (
        "[expect]\na = 'size(topics) > 1'\nb = 'size(topics) > 1'",
        3,
        "is the same expression as 'a'",
    ),
    ("invariants = 'yes'", 1, "invariants: expected bool, got str"),
    ("[alert]\ncommand = 'page'", 2, "alert.command: expected array, got str"),
    ("[alert]\nwebhook = 'ftp://a/secret'", 2, "alert.webhook: write http://HOST[:PORT]/PATH"),
    ("[alert]\nwebhook = 'http://ann:secret@a/'", 2, "put user and password into authorization"),
    ('[alert]\nwebhook = "http://a/\\u000d\\u000aX-Secret: 1"', 2, "alert.webhook: write http"),
    ("[alert]\ntimeout-s = 0", 2, "alert.timeout-s: must be from 0 to 300 seconds"),
    ("[alert]\nauthorization-file = 'no'", 2, "alert.authorization-file: there is no file"),
]


@pytest.mark.parametrize(("text", "line", "said"), MISTAKES)
def test_mistake_names_line_and_key(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = tmp_path / "checks.toml"
    path.write_text(text)
    with pytest.raises(RequestError) as refused:
        read_checks(path)
    assert str(refused.value).startswith(f"{path}, line {line}: ")
    assert said.partition("INVALID")[0] in str(refused.value)
    assert "ecret" not in str(refused.value)


def test_file_is_not_mixed_with_expressions(tmp_path: Path) -> None:
    path = tmp_path / "checks.toml"
    path.write_text("[expect]\nsome = 'size(topics) > 0'\n")
    assert list(checks_of([str(path)]).expect) == ["some"]
    assert list(checks_of(["size(topics) > 0"]).expect) == ["size(topics) > 0"]
    with pytest.raises(RequestError, match="must be the only --expect"):
        checks_of([str(path), "size(topics) > 0"])
