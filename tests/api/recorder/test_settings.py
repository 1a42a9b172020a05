"""Mistakes in a recorder's file are refused with file, line and key, before anything is begun."""

from pathlib import Path

import pytest

from api.recorder.settings import read_settings
from records.errors import RequestError
from tests.api.conftest import Metalog

GOOD = """metrics = "127.0.0.1:9464"

[mirrors.prod]
quorum = "kafka://c1:9093,c2:9093"
mirror = "prod"
cluster-id = "MkU3OEVBNTcwNTJENDM2Qg"
"""
AGAIN = '[mirrors.again]\nquorum = "c1:1"'
MISTAKES = [
    ("metrics", 'metrics = "9464"', 1, "metrics: '9464' is not HOST:PORT"),
    ("quorum", "", 3, "mirrors.prod: 'quorum' is missing"),
    ("quorum", 'quorum = "https://c1"', 4, "mirrors.prod.quorum: "),
    ("quorum", 'quorum = "sasl_ssl://c1:9093"', 4, "mirrors.prod.quorum: sasl_ssl:// needs a user"),
    ("quorum", "quorum = 7", 4, "mirrors.prod.quorum: expected str, got int"),
    ("mirror", 'miror = "prod"', 5, "mirrors.prod.miror: there is no such setting; did you mean"),
    ("cluster-id", "", 3, "mirrors.prod: say which cluster it is: `cluster-id`"),
    (None, 'retain = "90d"', 7, "mirrors.prod.retain: only archived history is dropped: add"),
    (None, 'archive = "a"\nretain = "soon"', 8, "mirrors.prod.retain: 'soon' is not an age"),
    (None, 'noop = "drop"', 7, "mirrors.prod.noop: 'drop' is neither collapse nor keep"),
    (None, 'map = ["c1:9093"]', 7, "mirrors.prod.map: 'c1:9093' is not ID=HOST:PORT"),
    (None, 'security = "no.toml"', 7, "mirrors.prod.security: "),
    (None, 'checks = "no.toml"', 7, "mirrors.prod.checks: "),
    (
        None,
        '[mirrors.again]\nquorum = "c1:1"\nmirror = "./prod"',
        9,
        "mirrors.again.mirror: is also the folder of",
    ),
]


@pytest.mark.parametrize(("key", "line", "number", "said"), MISTAKES)
def test_mistake_names_file_line_and_key(
    metalog: Metalog, tmp_path: Path, key: str | None, line: str, number: int, said: str
) -> None:
    lines = [line if key and each.startswith(key) else each for each in GOOD.splitlines()]
    more = [] if key else [*line.splitlines()]
    if "again" in line:
        more.append('cluster-id = "MkU3OEVBNTcwNTJENDM2Qg"')
    path = tmp_path / "record.toml"
    path.write_text("\n".join([*lines, *more, ""]))
    done = metalog("record", path, "--check")
    assert done.code == 3
    assert done.err.startswith(f"error: INVALID_CONFIG: {path}, line {number}: {said[:12]}")
    assert said in done.err


def test_without_mirrors_it_says_what_to_write(tmp_path: Path) -> None:
    path = tmp_path / "record.toml"
    path.write_text("")
    with pytest.raises(RequestError, match=r"write \[mirrors.NAME\]"):
        read_settings(path)


def test_good_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "record.toml"
    path.write_text(GOOD)
    (mirror,) = read_settings(path).mirrors.values()
    assert [each.host for each in mirror.addresses] == ["c1", "c2"]
    assert mirror.log == tmp_path / "prod"
    assert mirror.records_as(read_settings(path).mirrors["prod"])
    path.write_text(GOOD.replace("c2", "c3"))
    assert not mirror.records_as(read_settings(path).mirrors["prod"])
