"""`import gap` joins the parts of a recording with the records between them."""

from pathlib import Path

import pytest

from benchmarks.generate_kraft import generate
from metadata_log.kraft.checkpoint import KraftCheckpoint
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.next_part import Found, prepare_part, take_up_part
from tests.api.conftest import Metalog
from tests.api.quorum.quorums import batch_end, batches_in, ends, exported, read
from tests.api.quorum.recordings import Recording, cleaned, record_until
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import topic
from tests.stand_in_quorum import Quorum
from tests.stand_in_quorum.quorum import CLUSTER_ID


@pytest.fixture
def node(with_snapshots: Path) -> Path:
    """The directory of a node that has all records."""
    return _named(with_snapshots)


def _named(partition: Path, cluster_id: str = CLUSTER_ID) -> Path:
    (partition.parent / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\n")
    return partition


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def test_joined_parts_have_the_bytes_of_the_whole_log(
    metalog: Metalog, own_recording: Recording, node: Path, tmp_path: Path
) -> None:
    log, filled = own_recording.log, own_recording.log.with_name("filled")
    parts = [_files(each) for each in (own_recording.first_part, log)]
    done = metalog("import", "gap", node, log, filled, "--noop", "keep", "--json")
    assert done.code == 0, done
    document = done.json
    assert document["gap"]["from_offset"] == own_recording.gap_start
    assert document["records"] == own_recording.gap_end - own_recording.gap_start
    assert (document["log_end"], document["history_start"]) == (own_recording.end_offset, 0)
    assert [_files(each) for each in (own_recording.first_part, log)] == parts
    assert "gaps" not in metalog("timeline", filled, "--json").json
    assert ends(filled) == ends(log)
    written = exported(filled, tmp_path / "exported")
    assert batches_in(node).startswith(written)
    with Quorum(node) as quorum:
        assert read(quorum, filled, "--noop", "keep").code == 0
    assert exported(filled, tmp_path / "again") == batches_in(node)


def test_node_that_lacks_records_of_the_gap_is_refused(
    metalog: Metalog, recorded: Recording, node: Path, tmp_path: Path
) -> None:
    filled = tmp_path / "filled"
    for first, said in ((20, "before the gap"), (120, "name a node that has all records")):
        (segment,) = node.glob("*.log")
        size = _size_below(node, batch_end(node, first))
        short = tmp_path / f"short-{first}" / node.name
        short.mkdir(parents=True)
        (short / segment.name).write_bytes(segment.read_bytes()[:size])
        done = metalog("import", "gap", _named(short), recorded.log, filled)
        assert (done.code, said in done.err) == (3, True), done
        assert not filled.exists()


def _size_below(partition: Path, end: int) -> int:
    """Return the size in bytes of the batches below an offset."""
    headers = (each.header for each in open_directory(partition).headers(0))
    return sum(header.size for header in headers if header.end_offset <= end)


def test_another_history_is_refused(metalog: Metalog, recorded: Recording, tmp_path: Path) -> None:
    filled = tmp_path / "filled"
    other = _named(generate(tmp_path / "other", 400, seed=4))
    assert metalog("import", "gap", other, recorded.log, filled).code == 3
    foreign = _named(generate(tmp_path / "foreign", 400, seed=3), "another-cluster")
    done = metalog("import", "gap", foreign, recorded.log, filled)
    assert (done.code, "is of cluster 'another-cluster'" in done.err) == (3, True)
    assert not filled.exists()


def test_records_that_lead_to_another_state_are_refused(metalog: Metalog, tmp_path: Path) -> None:
    """The part after the gap is of a cluster that went another way in the gap."""
    log, filled = tmp_path / "log", tmp_path / "filled"
    nodes = [Node(tmp_path / name, voters=1) for name in ("node", "other")]
    for name, node in zip("uv", nodes, strict=True):
        node.append(topic("t"))
        if not log.exists():
            assert metalog("import", "kraft", node.directory, log).code == 0
        node.append(topic(name))
    ours, other = nodes
    assert metalog("import", "kraft", other.directory, tmp_path / "whole").code == 0
    export = ["export", "kraft", tmp_path / "whole", tmp_path / "state", "--as", "checkpoint"]
    assert metalog(*export).code == 0
    (base,) = (tmp_path / "state").glob("*/*.checkpoint")
    found = Found(source="c1:9093", log_start_offset=3, leader_epoch=1)
    prepare_part(log, KraftCheckpoint(base), found)
    take_up_part(log)
    done = metalog("import", "gap", ours.directory, log, filled)
    assert (done.code, "is of another history: with its records, " in done.err) == (3, True), done
    assert not filled.exists()
    assert metalog("import", "gap", other.directory, log, filled).code == 0


def test_log_without_a_gap_and_a_target_that_exists_are_refused(
    metalog: Metalog, recorded: Recording, node: Path, tmp_path: Path
) -> None:
    done = metalog("import", "gap", node, recorded.first_part, tmp_path / "filled")
    assert (done.code, "has no gap before it" in done.err) == (3, True)
    done = metalog("import", "gap", node, recorded.log, recorded.first_part)
    assert (done.code, "exists already" in done.err) == (3, True)


def test_gaps_are_filled_from_the_last_one_on(metalog: Metalog, node: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    record_until(node, log, 50)
    with Quorum(node, end_offset=batch_end(node, 240)) as quorum:
        for snapshot in list(quorum.leader.log.snapshots):
            if snapshot.end_offset > 240:
                del quorum.leader.log.snapshots[snapshot]
        cleaned(quorum, 1)
        assert read(quorum, log).code == 0
    with Quorum(node) as quorum:
        cleaned(quorum, 2)
        assert read(quorum, log).code == 0
    elsewhere = metalog("import", "gap", node, log, tmp_path / "other" / "filled")
    assert (elsewhere.code, "has to be beside them" in elsewhere.err) == (3, True)
    one, both = tmp_path / "one", tmp_path / "both"
    done = metalog("import", "gap", node, log, one)
    assert (done.code, "1 gap before it" in done.out) == (0, True)
    assert len(metalog("timeline", one, "--json").json["gaps"]) == 1
    assert metalog("import", "gap", node, one, both).code == 0
    assert "gaps" not in metalog("timeline", both, "--json").json
    digests = [metalog("digest", each, "--json").json["digest"] for each in (log, one, both)]
    assert len(set(digests)) == 1
