"""Spark starts where the environment says; failures are named in one line."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from api.cli.main import run
from metadata_log.segment import decode_header
from records.errors import UnavailableError
from replay.audit.masters import check_answers
from tests.replay.audit.conftest import SharedSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def audit(log: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "api.cli", *(arguments or ("audit", "who")), str(log)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


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
    with pytest.raises(UnavailableError, match=rf"127\.0\.0\.1:{closed_port}"):
        check_answers(f"spark://127.0.0.1:{closed_port}", "MASTER")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A log of one segment, in which a bit has flipped."""
    log = tmp_path / "log"
    assert run(["demo", str(log), "--topics", "2", "--changes", "10", "--json"]) == 0
    (segment,) = log.glob("*.avro")
    data = bytearray(segment.read_bytes())
    _, header_end = decode_header(bytes(data))
    data[header_end + 200] ^= 0xFF
    segment.write_bytes(data)
    return log


def says_where_it_is_damaged(log: Path, error: str) -> bool:
    (segment,) = log.glob("*.avro")
    return (
        error.startswith(f"error: CORRUPT: {segment} byte ")
        and ", from offset " in error
        and "org.apache" not in error
        and error.count("\n") == 1
    )


@pytest.mark.spark
def test_damaged_log_is_corrupt_and_our_reader_names_the_place(damaged: Path) -> None:
    done = audit(damaged, "digest", "--by", "spark")
    assert (done.returncode, says_where_it_is_damaged(damaged, done.stderr)) == (5, True)


@pytest.mark.spark
def test_damage_is_found_by_the_audits_of_a_session_that_goes_on(
    spark: "SparkSession", damaged: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["audit", "who", str(damaged)]) == 5
    assert says_where_it_is_damaged(damaged, capsys.readouterr().err)
    assert spark.range(3).count() == 3


@pytest.mark.spark
def test_session_is_restarted_after_its_process_was_killed_during_a_query(
    shared_spark: SharedSpark,
) -> None:
    """What the time limit of a test does."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    spark = shared_spark.get()
    timer = threading.Timer(2.0, shared_spark.end_process)
    timer.start()
    with pytest.raises((Py4JError, PySparkException, ConnectionError)):
        spark.range(1 << 50).selectExpr("sum(id % 7)").collect()
    assert shared_spark.get().range(3).count() == 3
