"""A shared log made of a fork, as to move a cluster of Kafka: nodes start from its checkpoint."""

import signal
import subprocess
from pathlib import Path

from metadata_log.files.fs import OsFs
from metadata_log.writer.creation import create_log_of
from tests.api.nodes.processes import WAIT_S, Process, leader, metalog, refused, until
from tests.forked_commands import METALOG


def _create(place: str, folder: Path) -> str:
    done = subprocess.run(
        [*METALOG, "nodes", "create", place, "--from", str(folder)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return done.stdout


def test_a_new_node_leads_what_was_forked(tmp_path: Path, s3_place: str) -> None:
    log, fork = tmp_path / "log", tmp_path / "fork"
    create_log_of(OsFs(), log, "Some(4L6g3nShT)")  # as imported from a real cluster
    for name in ("a", "b"):
        metalog("namespaces", "create", name, "--log", str(log))
    metalog("fork", str(log), str(fork), "--at", "end")
    size = sum(path.stat().st_size for path in fork.glob("*.avro"))
    assert _create(s3_place, fork).splitlines()[0] == f"{fork}: {size / 1024:.1f} KiB to upload"
    node = Process(tmp_path / "node", s3_place, 2)
    try:
        where = leader(node).leads_at
        assert where is not None
        metalog("namespaces", "create", "c", "--server", where)
        listed = metalog("namespaces", "list", "--server", where)
        assert {each["name"] for each in listed["namespaces"]} == {"a", "b", "c"}
    finally:
        node.end(signal.SIGTERM)
    said = refused("nodes", "create", s3_place + "/other", "--from", str(node.folder))
    assert f"{node.folder} is the folder of node 2 of a shared log" in said
    verified = metalog("verify", str(node.folder), "--shared", s3_place)
    assert "equal to the shared log from offset" in str(verified)
    assert until(lambda: metalog("nodes", "list", s3_place))["kept_from"] > 0
