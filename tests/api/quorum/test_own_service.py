"""Our own reader of quorums against our own service, which serves its log in Kafka's form."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from api.cli.log.demo_run import write_demo
from api.quorum.doctor import examine
from api.security.client import PLAIN_TEXT
from controller.demo.options import DemoOptions
from metadata_log.reader.log_reader import LogReader
from records.topics import MoveTopicRecord
from replay.care.retain import retain
from tests.api.kafka.servers import server
from tests.api.quorum.quorums import Outcome, ends, exported
from tests.api.services import Served, serving
from tests.forked_commands import METALOG
from tests.own_logs import write_history
from tests.ports import free_ports
from tests.replay.kafka_form.test_segments import export


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """An own log with namespaces, moves and partitions that are removed."""
    await write_demo(tmp_path / "log", DemoOptions(topics=10, changes=150, seed=3))
    return tmp_path / "log"


def run(*words: object) -> Outcome:
    done = subprocess.run(
        [*METALOG, *map(str, words)], capture_output=True, text=True, timeout=120, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def cluster_id(log: Path) -> str:
    with LogReader.open(log) as reader:
        return reader.cluster_id


async def test_nothing_stands_in_the_way_of_a_reader(log: Path) -> None:
    async with server(log.parent, session_timeout_ms=3_600_000) as at:
        found = await examine(
            [("127.0.0.1", at.port)],
            lambda: PLAIN_TEXT,
            cluster_id=cluster_id(log),
            mapped={},
            watch_s=0.02,
        )
        end = at.service.image.provenance.next_offset
        leader = at.service.settings.node_id, at.service.controller_epoch
    assert (found.ready, found.problem) == (True, None)
    (controller,) = found.controllers
    assert (controller.leader_id, controller.leader_epoch) == leader
    assert found.log is not None
    assert (found.log.log_start, found.log.log_end) == (0, end)
    assert not found.log.starts_from_snapshot


def test_a_mirror_of_our_service_has_the_bytes_of_our_export(log: Path, tmp_path: Path) -> None:
    mirror, options = tmp_path / "mirror", ("--noop", "keep", "--cluster-id", cluster_id(log))
    for number in range(2):  # the second time after a restart, which begins an epoch
        with serving(log, "--session-timeout-ms", 3_600_000) as served:
            done = run("import", served.kafka, mirror, *options)
            assert done.code == 0, done.err
        content = exported(mirror, tmp_path / f"mirror-{number}")
        assert content == export(log, tmp_path / f"log-{number}")
        assert ends(mirror)[0] == ends(mirror)[1]
    with LogReader.open(log) as reader:
        records = [row.payload for batch in reader.batches() for row in batch.rows]
    assert any(isinstance(record, MoveTopicRecord) for record in records)


async def test_a_log_that_was_cut_is_read_from_its_base(tmp_path: Path) -> None:
    log, mirror = tmp_path / "log", tmp_path / "mirror"
    await write_history(log, 33, 60, batches_an_epoch=15, as_by_controller=True)
    retain(log, 60, check_dropped=lambda _: None)
    with serving(log, "--session-timeout-ms", 3_600_000) as served:
        options = ("--noop", "keep", "--cluster-id", cluster_id(log))
        done = run("import", served.kafka, mirror, *options)
    assert done.code == 0, done.err
    with LogReader.open(log) as ours, LogReader.open(mirror) as theirs:
        assert theirs.history_start == ours.history_start > 0
        assert theirs.end_offset == ours.end_offset
    assert exported(mirror, tmp_path / "a") == export(log, tmp_path / "b")


def test_a_follower_has_each_record_soon_also_after_kill_9(log: Path, tmp_path: Path) -> None:
    (port,), mirror = free_ports(1), tmp_path / "mirror"
    address = f"127.0.0.1:{port}"
    command = [*METALOG, "import", f"kafka://{address}", str(mirror), "--follow", "--noop", "keep"]
    with serving(log, kafka=address) as served:
        follower = subprocess.Popen(
            [*command, "--cluster-id", cluster_id(log)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _wait_for(mirror, _create(served, "before"), follower)
            served.process.kill()
            served.process.wait()
            with serving(log, kafka=address) as again:
                assert again.leader_epoch > served.leader_epoch
                _wait_for(mirror, _create(again, "after"), follower)
        finally:
            follower.terminate()
            _, errors = follower.communicate(timeout=60)
    assert follower.returncode == 0, errors
    content = exported(mirror, tmp_path / "exported")
    assert export(log, tmp_path / "whole").startswith(content)


def _create(served: Served, name: str) -> int:
    """Create a namespace; return the end of the log after it."""
    done = run("namespaces", "create", name, "--server", served.kafka, "--json")
    assert done.code == 0, done.err
    offset: int = json.loads(done.out)["committed_at"]
    return offset + 1


def _wait_for(mirror: Path, end_offset: int, follower: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert follower.poll() is None, follower.communicate()
        if (mirror / "metalog.json").exists() and ends(mirror)[1] >= end_offset:
            return
        time.sleep(0.05)
    raise AssertionError(f"the mirror is not at {end_offset}: {ends(mirror)}")
