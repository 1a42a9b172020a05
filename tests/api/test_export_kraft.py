"""`metalog export kraft`: what it writes, what it refuses, what it leaves out."""

import shutil
from pathlib import Path

import pytest

from benchmarks.generate_kraft import generate
from tests.api.conftest import Metalog


@pytest.fixture
def own(metalog: Metalog, tmp_path: Path) -> Path:
    """A log with a topic in a namespace, a topic that loses a partition, and an ordinary topic."""
    log = tmp_path / "own"
    assert metalog("init", log).code == 0
    for arguments in (
        ("brokers", "register", "1"),
        ("brokers", "unfence", "1"),
        ("namespaces", "create", "org"),
        ("topics", "create", "org:inner", "--assignment", "1"),
        ("configs", "set", "topic/org:inner", "retention.ms=1"),
        ("topics", "create", "plain", "--assignment", "1"),
        ("configs", "set", "topic/plain", "retention.ms=2"),
        ("topics", "create", "closed", "--assignment", "1,1"),
        ("configs", "set", "cluster", "delete.topic.partition.enable=true"),
        ("topics", "alter", "closed", "--partitions", "1", "--delete-partitions-delay", "3600000"),
    ):
        assert metalog(*arguments, "--log", log).code == 0, arguments
    return log


def test_segments_of_a_mirror_are_those_of_its_source(metalog: Metalog, tmp_path: Path) -> None:
    generate(tmp_path / "node", records=2_000, segment_size_bytes=60_000)
    metalog("import", "kraft", tmp_path / "node", tmp_path / "mirror", "--noop", "keep")
    answer = metalog(
        "export", "kraft", tmp_path / "mirror", tmp_path / "out", "--as", "segments", "--json"
    )
    assert answer.code == 0
    written = sorted((tmp_path / "out").glob("*/*.log"))
    assert len(written) > 1
    assert [path.read_bytes() for path in written] == [
        path.read_bytes() for path in sorted((tmp_path / "node").glob("*/*.log"))
    ]
    assert answer.json["files"] == [*(path.name for path in written), "leader-epoch-checkpoint"]
    assert metalog("compare", tmp_path / "node", tmp_path / "out").code == 0
    assert (answer.json["as_of"], answer.json["log_end"]) == (1_999, 2_000)


def test_checkpoint_has_the_digest_of_the_state_that_it_was_made_of(
    metalog: Metalog, tmp_path: Path
) -> None:
    generate(tmp_path / "node", records=2_000)
    mirror, out, again = (tmp_path / name for name in ("mirror", "out", "again"))
    metalog("import", "kraft", tmp_path / "node", mirror)
    answer = metalog("export", "kraft", mirror, out, "--as", "checkpoint", "--at", "end", "--json")
    assert answer.code == 0
    assert answer.json["left_out"] == []
    assert answer.json["end_offset"] == 2_000
    assert metalog("import", "kraft", out, again).code == 0
    digests = [metalog("digest", log, "--json").json["digest"] for log in (mirror, again)]
    assert digests[0] == digests[1]
    assert metalog("info", again, "--json").json["cluster_id"] == "generated-cluster-0000"


def test_what_kafka_does_not_know_is_refused_by_name(
    metalog: Metalog, own: Path, tmp_path: Path
) -> None:
    answer = metalog("export", "kraft", own, tmp_path / "out", "--as", "checkpoint")
    assert answer.code == 3
    for name in ("namespace:org", "topic:org:inner", "partition:closed/1#mode", "--lossy"):
        assert name in answer.err
    assert not (tmp_path / "out").exists()


def test_lossy_leaves_out_and_lists_what_kafka_does_not_know(
    metalog: Metalog, own: Path, tmp_path: Path
) -> None:
    command = ("export", "kraft", own, tmp_path / "out", "--as", "checkpoint", "--lossy")
    answer = metalog(*command, "--json")
    assert answer.code == 0
    assert {each["object"] for each in answer.json["left_out"]} == {
        *("feature:namespace.version", "feature:partition.mode.version"),
        *("namespace:org", "topic:org:inner", "partition:closed/1#mode"),
        "removal:closed",
    }
    assert metalog("import", "kraft", tmp_path / "out", tmp_path / "again").code == 0
    topics = metalog("topics", "list", "--log", tmp_path / "again", "--json").json["topics"]
    assert {topic["name"] for topic in topics} == {"closed", "plain"}
    image = metalog("image", tmp_path / "again", "--json").out
    assert "inner" not in image
    shutil.rmtree(tmp_path / "out")
    assert "left out: topic:org:inner: it is in a namespace" in metalog(*command).out


def test_plain_own_log_is_exported_without_lossy(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    metalog("brokers", "register", "1", "--log", log)
    metalog("brokers", "unfence", "1", "--log", log)
    assert metalog("topics", "create", "plain", "--assignment", "1", "--log", log).code == 0
    answer = metalog("export", "kraft", log, tmp_path / "out", "--as", "checkpoint", "--json")
    assert answer.code == 0
    assert {each["matters"] for each in answer.json["left_out"]} == {False}


def test_segments_of_an_own_log_have_its_offsets_and_full_names(
    metalog: Metalog, own: Path, tmp_path: Path
) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    answer = metalog("export", "kraft", own, out, "--as", "segments", "--json")
    assert answer.code == 0
    end = metalog("info", own, "--json").json["log_end"]
    assert (answer.json["start_offset"], answer.json["end_offset"]) == (0, end)
    assert metalog("import", "kraft", out, again, "--noop", "keep").code == 0
    assert metalog("info", again, "--json").json["log_end"] == end
    topics = metalog("topics", "list", "--log", again, "--json").json["topics"]
    assert {topic["name"] for topic in topics} == {"closed", "plain", "org:inner"}
    assert "topic/org:inner" in metalog("diff", again, "start", "end").out
    # A mirror of the form gives the form back.
    assert metalog("export", "kraft", again, tmp_path / "back", "--as", "segments").code == 0
    assert _batches(tmp_path / "back") == _batches(out)


def _batches(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.glob("*/*.log")))


@pytest.mark.parametrize(
    ("form", "code", "what"),
    [("checkpoint", 3, "Kafka has no records"), ("paper", 2, "none of")],
)
def test_form_that_cannot_be_written_is_refused(
    metalog: Metalog, own: Path, tmp_path: Path, form: str, code: int, what: str
) -> None:
    answer = metalog("export", "kraft", own, tmp_path / "out", "--as", form)
    assert answer.code == code
    assert what in answer.err
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over(metalog: Metalog, own: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    answer = metalog("export", "kraft", own, tmp_path / "out", "--as", "checkpoint", "--lossy")
    assert answer.code == 3
    assert "exists already" in answer.err


def test_state_before_all_records_is_refused(metalog: Metalog, own: Path, tmp_path: Path) -> None:
    command = ("export", "kraft", own, tmp_path / "out", "--as", "checkpoint", "--at", "start")
    assert metalog(*command).code == 3
