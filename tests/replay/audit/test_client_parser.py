"""The Java process with the parser of a Spark Connect client; test_cluster.py tests its results."""

import os
from pathlib import Path

import pytest

from records.errors import UnavailableError
from replay.audit.client_parser import launch_java

_PORT = 25_333
_SECRET = "secret"


def _spark_home(folder: Path, script: str) -> str:
    submit = folder / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\n{script}\n")
    submit.chmod(0o700)
    return str(folder)


def test_java_is_started_without_a_fork_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a fork of a process that uses gRPC, gRPC aborts the child in 2 of 100 cases."""
    written = _PORT.to_bytes(4) + len(_SECRET).to_bytes(4) + _SECRET.encode()
    (tmp_path / "written").write_bytes(written)
    target = '"$_PYSPARK_DRIVER_CONN_INFO_PATH"'
    # It goes on, as Java does, until this process ends.
    script = (
        f'cp "{tmp_path}/written" "{tmp_path}/part" && mv "{tmp_path}/part" {target} && read end'
    )
    monkeypatch.setenv("SPARK_HOME", _spark_home(tmp_path, script))
    forks: list[str] = []
    os.register_at_fork(before=lambda: forks.append("fork"))
    assert launch_java(tmp_path / "connection") == (_PORT, _SECRET)
    assert forks == []


def test_java_that_does_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", _spark_home(tmp_path, "exit 7"))
    with pytest.raises(UnavailableError, match="Java does not start: spark-submit ended with 7"):
        launch_java(tmp_path / "connection")
