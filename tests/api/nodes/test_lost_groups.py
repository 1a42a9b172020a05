"""`nodes repair` when PostgreSQL has lost groups in the middle of a shared log."""

import subprocess
from pathlib import Path

import psycopg

from tests.api.nodes.processes import metalog, refused
from tests.forked_commands import METALOG


def _lose(url: str, *numbers: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM shared_group WHERE number = ANY(%s)", [list(numbers)])


def _examined(*words: str) -> str:
    done = subprocess.run([*METALOG, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_what_is_lost_in_the_middle_is_shown_and_put_back_or_given_up(
    tmp_path: Path, url: str
) -> None:
    folder, copy = tmp_path / "log", tmp_path / "copy"
    metalog("init", str(folder))
    for name in ("a", "b", "c"):
        metalog("namespaces", "create", name, "--log", str(folder))
    metalog("nodes", "create", url, "--from", str(folder))
    words = ("nodes", "repair", str(folder), "--shared", url)
    assert metalog(*words)["groups"] == []
    _lose(url, 3)
    assert "group 3 of the shared log is missing" in refused("verify", str(folder), "--shared", url)
    shown = _examined(*words)
    assert "User:" in shown
    assert "namespaces create" in shown
    assert "1 group lost in the middle of the shared log" in shown
    assert f"group 3, offsets 8 to 9: in {folder}" in shown
    found = metalog(*words, "--put-back")
    assert found["done"] == "put back"
    assert found["groups"] == [
        {"first_group": 3, "last_group": 3, "from_offset": 8, "end_offset": 10, "in_log": True}
    ]
    assert [each["command"] for each in found["lost"]] == [None, "namespaces create"]
    assert metalog("verify", str(folder), "--shared", url)["damage"] == []

    _lose(url, 1, 2)
    found = metalog(*words, "--give-up", str(copy))
    assert (found["done"], found["copy"]) == ("given up", str(copy))
    assert metalog("verify", str(copy), "--shared", url)["damage"] == []
    assert metalog(*words)["groups"] == []
