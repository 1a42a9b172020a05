"""`serve` binds all its addresses before it writes to the log or accepts a connection."""

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from tests.api.conftest import Metalog
from tests.api.services import serving
from tests.forked_commands import METALOG

FREE = "127.0.0.1:0"
LISTENERS = {
    "http": ("--kafka", FREE, "--socket", FREE, "--http"),
    "kafka": ("--http", FREE, "--socket", FREE, "--kafka"),
    "a second kafka": ("--http", FREE, "--socket", FREE, "--kafka", f"INTERNAL={FREE}", "--kafka"),
    "socket": ("--http", FREE, "--kafka", FREE, "--socket"),
}


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("name", LISTENERS)
def test_service_whose_address_is_taken_leaves_the_log_alone(
    name: str, taken: str, tmp_path: Path, metalog: Metalog
) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    before = _end_offset(log)
    ran = subprocess.run(
        [*METALOG, "serve", str(log), *LISTENERS[name], taken],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 4, ran
    assert ran.stderr.endswith(f"cannot listen on {taken}: Address already in use\n"), ran
    assert _end_offset(log) == before, "a service that announced its epoch had started"


def test_path_on_which_another_service_listens_is_found_before_the_log_is_written(
    tmp_path: Path, metalog: Metalog
) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    before = _end_offset(log)
    at = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(at))
        listening.listen()
        ran = subprocess.run(
            [*METALOG, "serve", str(log), "--kafka", FREE, "--socket", f"unix:{at}"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ran.returncode == 4, ran
    assert f"cannot listen on {at}: " in ran.stderr
    assert _end_offset(log) == before


def test_broker_of_another_cluster_does_not_register(tmp_path: Path, metalog: Metalog) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    with serving(log) as service:
        broker = ("broker", "--server", service.kafka, "--id", "1", "--listen", FREE)
        ran = subprocess.run(
            [*METALOG, *broker, "--log-dir", str(tmp_path / "b"), "--cluster-id", "another"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        listed = metalog("brokers", "list", "--server", service.kafka, "--json")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.startswith("error: INCONSISTENT_CLUSTER_ID: ")
    assert json.loads(listed.out)["brokers"] == []
    assert not (tmp_path / "b").exists()


def test_line_that_init_prints_starts_a_broker_of_this_cluster_only(
    tmp_path: Path, metalog: Metalog
) -> None:
    log = tmp_path / "log"
    made, serve, broker = metalog("init", log).out.splitlines()
    assert serve == f"next: metalog serve {log}"
    with LogReader.open(log) as reader:
        assert broker.endswith(f" --cluster-id {reader.cluster_id}")
        assert made.endswith(reader.cluster_id)


def _end_offset(log: Path) -> int:
    with LogReader.open(log) as reader:
        return reader.end_offset
