"""The file with a client's settings: each mistake in it is reported in one line that names it."""

from pathlib import Path

import pytest

from api.security.client import ClientSecurity
from records.errors import RequestError


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"user = ", "Invalid value"),
        (b'passwordfile = "x"', "unknown field `passwordfile`"),
        (b"\xff", "can't decode byte 0xff"),
        (b"x = " + b"9" * 5_000, "Exceeds the limit"),
        (b"x = " + b"[" * 5_000, "maximum recursion depth exceeded"),
    ],
)
def test_a_malformed_file_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "client.toml"
    path.write_bytes(content)
    with pytest.raises(RequestError) as caught:
        ClientSecurity.read(path)
    assert caught.value.code == "INVALID_CONFIG"
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
