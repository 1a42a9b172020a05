"""Spark starts where the environment variables say; failures are reported in one line."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from api.cli.main import run
from records.errors import RequestError, UnavailableError
from replay.audit.failures import explained
from replay.audit.masters import check_answers
from replay.audit.session import check_release
from tests.ports import free_port
from tests.replay.audit.damage import damaged_log, says_where_it_is_damaged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def audit(log: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "api.cli", "audit", "who", str(log), "--engine", "spark"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def closed_port() -> int:
    """Return a port on which no process listens."""
    return free_port()


@pytest.mark.parametrize(
    ("setting", "url"), [("MASTER", "spark://127.0.0.1:{}"), ("SPARK_REMOTE", "sc://127.0.0.1:{}")]
)
def test_master_that_does_not_answer_is_named_with_what_to_check(
    demo_log: Path, closed_port: int, setting: str, url: str
) -> None:
    where = url.format(closed_port)
    done = audit(demo_log, **{setting: where})
    assert done.returncode == 4
    assert done.stderr.startswith(f"error: UNAVAILABLE: {where} ({setting}) does not answer: ")
    assert f"unset {setting}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_spark_connect_without_its_packages_is_named_with_what_to_install(
    demo_log: Path, tmp_path: Path
) -> None:
    # Wherever they are installed, here they are not.
    program = tmp_path / "metalog.py"
    program.write_text(
        "import sys\n"
        "sys.modules['grpc_status'] = None\n"
        "from api.cli.main import run\n"
        f"sys.exit(run(['audit', 'who', {str(demo_log)!r}]))\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = subprocess.run(
            [sys.executable, program],
            env={**os.environ, "SPARK_REMOTE": f"sc://127.0.0.1:{server.getsockname()[1]}"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr.startswith("error: UNAVAILABLE: SPARK_REMOTE asks for Spark Connect: ")
    assert "pip install 'pyspark[connect]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_master_of_several_is_enough(closed_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        answering = server.getsockname()[1]
        check_answers(f"spark://127.0.0.1:{closed_port},127.0.0.1:{answering}", "MASTER")
        check_answers(f"k8s://http://127.0.0.1:{answering}", "MASTER")
    for url in ("local[*]", "yarn", "local-cluster[1,1,1024]", ""):
        check_answers(url, "MASTER")
    check_answers("anything://of-a-plug-in", "MASTER")
    with pytest.raises(RequestError, match=r"^cluster:7077 \(MASTER\) is no address of Spark"):
        check_answers("cluster:7077", "MASTER")
    with pytest.raises(UnavailableError, match=rf"127\.0\.0\.1:{closed_port}"):
        check_answers(f"spark://127.0.0.1:{closed_port}", "MASTER")


def test_server_of_another_minor_release_is_refused_with_both_releases() -> None:
    server: Any = SimpleNamespace(version="4.2.1")
    with pytest.raises(UnavailableError, match=r"runs Spark 4\.2\.1.*start a server of 4\.3"):
        check_release(server)
    server.version = "4.3.9"
    check_release(server)


def test_workers_of_another_python_are_named_with_what_to_set(tmp_path: Path) -> None:
    from pyspark.errors import PySparkRuntimeError

    versions = {"worker_version": "3.13", "driver_version": "3.11"}
    with (
        pytest.raises(UnavailableError, match=r"run Python 3\.13, and this program Python 3\.11"),
        explained(tmp_path),
    ):
        raise PySparkRuntimeError(errorClass="PYTHON_VERSION_MISMATCH", messageParameters=versions)


@pytest.mark.spark
def test_damage_is_found_by_the_audits_of_a_session_that_goes_on(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = damaged_log(tmp_path / "log")
    capsys.readouterr()
    assert run(["audit", "who", str(damaged), "--engine", "spark"]) == 5
    assert says_where_it_is_damaged(damaged, capsys.readouterr().err)
    assert spark.range(3).count() == 3
