"""users create, alter, delete, list, describe; passwords do not appear in any output or file."""

import base64
import hashlib
import io
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from controller.decisions.security.scram import ScramMechanism, keys_of, salted_password
from metadata_log.reader.log_reader import LogReader
from replay.image.scram import ScramCredential
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.api.vocabulary import check_vocabulary

_PASSWORD = "correct horse bättery"


@pytest.fixture
def password(tmp_path: Path) -> Path:
    path = tmp_path / "password"
    path.write_text(f"{_PASSWORD}\n")
    return path


def credentials(log: Path) -> dict[tuple[str, int], ScramCredential]:
    with LogReader.open(log) as reader:
        image = Timeline.of(reader).image(reader.end_offset - 1)
    return {(c.name, c.mechanism): c for c in image.scram()}


def is_password(credential: ScramCredential, password: str) -> bool:
    name = ScramMechanism(credential.mechanism).hash_name
    keys = keys_of(name, salted_password(name, password, credential.salt, credential.iterations))
    return (keys.stored_key, keys.server_key) == (credential.stored_key, credential.server_key)


def test_users_are_created_altered_listed_and_deleted(
    metalog: Metalog, log: Path, password: Path, tmp_path: Path
) -> None:
    made = metalog("users", "create", "ann", "--password-file", password, "--log", log)
    assert made.out.startswith("created ann: SCRAM-SHA-512, 4096 iterations\ncommitted at offset ")
    metalog(
        *("users", "create", "ann", "--mechanism", "SCRAM-SHA-256", "--iterations", "16384"),
        *("--password-file", password, "--log", log),
    )
    listed = metalog("users", "list", "--log", log, "--json").json["users"]
    assert listed == [
        {
            "user": "ann",
            "credentials": [
                {"mechanism": "SCRAM-SHA-256", "iterations": 16384},
                {"mechanism": "SCRAM-SHA-512", "iterations": 4096},
            ],
            "error": None,
        }
    ]
    held = credentials(log)
    assert is_password(held["ann", 1], _PASSWORD)
    assert is_password(held["ann", 2], _PASSWORD)
    assert held["ann", 1].salt != held["ann", 2].salt
    (tmp_path / "new").write_text("new password")
    metalog("users", "alter", "ann", "--password-file", tmp_path / "new", "--log", log)
    held = credentials(log)
    assert is_password(held["ann", 2], "new password")
    assert is_password(held["ann", 1], _PASSWORD)
    metalog("users", "delete", "ann", "--mechanism", "SCRAM-SHA-512", "--log", log)
    assert set(credentials(log)) == {("ann", 1)}
    assert metalog("users", "delete", "ann", "--log", log).out.startswith("deleted ann: all ")
    assert metalog("users", "list", "--log", log).out == "user  mechanism  iterations\n"
    before = metalog("users", "list", "--log", log, "--at", "end-4").out
    assert [line.split() for line in before.splitlines()[1:]] == [
        ["ann", "SCRAM-SHA-256", "16384"],
        ["ann", "SCRAM-SHA-512", "4096"],
    ]


def test_refusals_name_the_code_and_write_nothing(
    metalog: Metalog, log: Path, password: Path
) -> None:
    given = ("--password-file", password, "--log", log)
    assert metalog("users", "create", "ann", *given).code == 0
    before = metalog("info", log, "--json").json["log_end"]
    for code, *arguments in (
        ("DUPLICATE_RESOURCE", "create", "ann", *given),
        ("RESOURCE_NOT_FOUND", "alter", "bob", *given),
        ("UNACCEPTABLE_CREDENTIAL", "create", "bob", "--iterations", "4095", *given),
        ("UNACCEPTABLE_CREDENTIAL", "create", "bob", "--iterations", "-1", *given),
        ("UNACCEPTABLE_CREDENTIAL", "create", "bob", "--iterations", str(10**12), *given),
        ("RESOURCE_NOT_FOUND", "delete", "bob", "--log", log),
        ("RESOURCE_NOT_FOUND", "describe", "bob", "--log", log),
        ("DUPLICATE_RESOURCE", "describe", "ann", "ann", "--log", log),
    ):
        answer = metalog("users", *arguments)
        assert (answer.code, answer.err.split(":")[1].strip()) == (3, code), arguments
        assert answer.err.count("\n") == 1
    with LogReader.open(log) as reader:
        rows = [row for batch in reader.batches(before) for row in batch.rows]
    assert {type(row.payload).__name__ for row in rows} <= {"LeaderChangeMessage"}
    answer = metalog("users", "create", "bob", *given, "--validate-only")
    assert "can be created bob" in answer.out
    assert set(credentials(log)) == {("ann", 2)}


def test_password_comes_from_standard_input_or_a_prompt(
    metalog: Metalog, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("piped\n"))
    assert metalog("users", "create", "ann", "--password-file", "-", "--log", log).code == 0
    assert is_password(credentials(log)["ann", 2], "piped")
    answer = metalog("users", "create", "bob", "--log", log)
    assert answer.code == 2
    assert "there is no terminal to prompt on" in answer.err
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    answer = metalog("users", "create", "bob", "--password-file", "-", "--log", log)
    assert (answer.code, "the secret is empty" in answer.err) == (2, True)


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_password_that_is_not_utf_8_is_refused(log: Path, locale: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "api.cli", "users", "create", "ann", "--password-file", "-"],
        input=b"\xff\xfe",
        capture_output=True,
        env={**os.environ, "METALOG_LOG": str(log), "LC_ALL": locale},
    )
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert b"--password-file: the secret is not UTF-8" in answer.stderr
    assert not credentials(log)


def test_request_that_is_sent_again_sets_the_credential_once(
    metalog: Metalog, log: Path, password: Path, tmp_path: Path
) -> None:
    once = ("users", "create", "ann", "--request-id", "one", "--log", log)
    first = metalog(*once, "--password-file", password, "--json").json
    salt = credentials(log)["ann", 2].salt
    again = metalog(*once, "--password-file", password, "--json").json
    assert again["committed_at"] == first["committed_at"]
    assert credentials(log)["ann", 2].salt == salt
    (tmp_path / "other").write_text("other")
    other = metalog(*once, "--password-file", tmp_path / "other")
    assert (other.code, "another request" in other.err) == (3, True), other
    assert is_password(credentials(log)["ann", 2], _PASSWORD)


def _forms(secret: bytes) -> list[bytes]:
    """Return the forms in which a secret could leak: plain, encoded, hashed without a salt."""
    plain = [secret, secret.decode("utf-8", "replace").encode("utf-16-le"), secret[::-1]]
    hashes = [hashlib.new(name, secret).digest() for name in ("md5", "sha1", "sha256", "sha512")]
    return [
        form
        for raw in (*plain, *hashes)
        for form in (raw, base64.b64encode(raw), base64.urlsafe_b64encode(raw), raw.hex().encode())
    ]


def test_password_and_its_salted_form_are_written_nowhere(
    metalog: Metalog, log: Path, password: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level("DEBUG")
    given = ("--password-file", password, "--log", log)
    commands: tuple[tuple[object, ...], ...] = (
        ("users", "create", "ann", "--request-id", "one", *given),
        ("users", "create", "ann", "--request-id", "one", *given),
        ("users", "alter", "ann", "--reason", "it leaked", *given, "--json"),
        ("users", "create", "ann", *given),
        ("users", "create", "bob", "--iterations", "1", *given),
        ("snapshot", "create", log),
        ("dump", log, "--asked"),
        ("dump", log, "--json", "--asked", "--show-secrets"),
        ("image", log, "--part", "scram", "--json", "--show-secrets"),
        ("history", log, "scram:ann/SCRAM-SHA-512", "--json"),
        ("backup", log, tmp_path / "backup"),
    )
    answers = [metalog(*arguments) for arguments in commands]
    held = credentials(log)["ann", 2]
    files = [p for root in (log, tmp_path / "backup") for p in root.rglob("*") if p.is_file()]
    with LogReader.open(log) as reader:  # blocks are compressed
        rows = [row for batch in reader.batches() for row in batch.rows]
    texts = {
        **{str(path): path.read_bytes() for path in files},
        "rows": repr(rows).encode() + b"".join(_octets(row) for row in rows),
        "printed": "".join(a.out + a.err for a in answers).encode(),
        "logged": caplog.text.encode(),
    }
    salted = salted_password("sha512", _PASSWORD, held.salt, held.iterations)
    for secret in (_PASSWORD.encode(), salted):
        for form, (where, text) in itertools.product(_forms(secret), texts.items()):
            assert form not in text, where
    assert held.stored_key in texts["rows"]  # this is where it would be found


def _octets(row: object) -> bytes:
    """Return the bytes of all columns of a row, unchanged."""
    if isinstance(row, bytes):
        return row
    if isinstance(row, tuple):
        return b"".join(_octets(item) for item in row)
    fields = getattr(row, "__struct_fields__", ())
    return b"".join(_octets(getattr(row, name)) for name in fields)


def test_keys_are_redacted_wherever_they_are_printed(
    metalog: Metalog, log: Path, password: Path
) -> None:
    metalog("users", "create", "ann", "--password-file", password, "--log", log)
    held = credentials(log)["ann", 2]
    end = metalog("info", log, "--json").json["log_end"]
    shown = [
        metalog(*arguments, *json)
        for arguments in (
            ("dump", log, "--asked"),
            ("image", log, "--part", "scram"),
            ("history", log, "scram:ann/SCRAM-SHA-512"),
            ("blame", log, "scram:ann/SCRAM-SHA-512"),
            ("diff", log, "start", end - 1),
            ("users", "describe", "ann", "--log", log),
        )
        for json in ((), ("--json",))
    ]
    text = "".join(answer.out + answer.err for answer in shown)
    assert "(redacted)" in text
    for secret in (held.salt, held.stored_key, held.server_key):
        for form in (base64.b64encode(secret), base64.urlsafe_b64encode(secret)):
            assert form.decode().rstrip("=") not in text
        assert secret.hex() not in text


def test_an_absent_user_beside_others_has_an_error_with_code_and_message(
    metalog: Metalog, tmp_path: Path
) -> None:
    log, password = tmp_path / "log", tmp_path / "password"
    password.write_text("pencil\n")
    assert metalog("init", log).code == 0
    create = ("users", "create", "ann", "--password-file", password, "--log", log)
    assert metalog(*create).code == 0
    answer = metalog("users", "describe", "ann", "bob", "--log", log, "--json")
    check_vocabulary(answer.json, "users describe")
    one, other = answer.json["users"]
    assert (answer.code, one["error"], other["error"]["code"]) == (3, None, "RESOURCE_NOT_FOUND")
