"""A log of one's own for the questions, with what the real ones lack."""

import shutil
from pathlib import Path

import pytest

from api.cli.main import run
from tests.replay.audit.questions.logs import end_of

TOPIC = "orders"


@pytest.fixture
def own_log(demo_log: Path, tmp_path: Path) -> tuple[Path, int]:
    """A demo log with ACLs and a broker that is gone; and the offset at which more begins."""
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    for principal, more in {
        "User:reader": ("--topic", TOPIC, "--operation", "read"),
        "User:all": ("--topic", "*", "--operation", "all"),
        "User:some": ("--topic", "ord", "--pattern-type", "prefixed", "--operation", "read"),
        "User:other": ("--topic", "prices", "--operation", "read"),
        "User:writer": ("--topic", TOPIC, "--operation", "write"),
        "User:gone": ("--topic", TOPIC, "--operation", "read"),
    }.items():
        assert run(["acls", "create", "--log", str(log), "--principal", principal, *more]) == 0
    assert run(["brokers", "unregister", "--log", str(log), "6"]) == 0
    point = end_of(log)
    assert run(["configs", "set", "--log", str(log), "broker/1", "num.io.threads=9"]) == 0
    assert run(["topics", "create", "--log", str(log), TOPIC]) == 0
    assert run(["acls", "delete", "--log", str(log), "--principal", "User:gone"]) == 0
    assert run(["reassignments", "start", "--log", str(log), "__consumer_offsets/0=1,2,3"]) == 0
    return log, point
