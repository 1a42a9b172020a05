"""A fork is an own log that continues from the state of another log."""

from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported


def _digest(metalog: Metalog, log: Path, *options: object) -> str:
    digest: str = metalog("digest", log, *options, "--json").json["digest"]
    return digest


def _content(log: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in log.iterdir() if p.is_file()}


def test_fork_has_the_state_and_goes_on_alone(
    demo_log: Path,
    tmp_path: Path,
    metalog: Metalog,
) -> None:
    before, new = _content(demo_log), tmp_path / "new"
    answer = metalog("fork", demo_log, new, "--at", 300, "--json")
    assert (answer.code, answer.json["history_start"]) == (0, 301), answer.err
    assert answer.json["digest"] == _digest(metalog, demo_log, "--at", 300) == _digest(metalog, new)
    assert metalog("verify", new).code == 0
    assert metalog("brokers", "register", 77, "--log", new).code == 0
    with LogReader.open(new) as reader:
        rows = [row for batch in reader.batches() for row in batch.rows]
    assert (rows[0].offset, rows[0].leader_epoch) == (301, answer.json["writer_epoch"])
    assert metalog("image", new, "--at", 299).code == 3, "what stands before is unknown"
    assert _content(demo_log) == before
    assert metalog("fork", demo_log, new).code == 3, "it exists"
    assert metalog("fork", demo_log, tmp_path / "other", "--at", "start").code == 3
    assert not (tmp_path / "other").exists()


@each_data_set_where(lambda each: str(each) == "azercell3-3node-legacy/data_kafka1")
def test_fork_of_a_mirror_takes_commands(
    data_set: DataSet,
    tmp_path: Path,
    metalog: Metalog,
) -> None:
    mirror, new = imported(data_set, tmp_path), tmp_path / "new"
    assert metalog("fork", mirror, new, "--at", 100).code == 0
    assert _digest(metalog, new) == _digest(metalog, mirror, "--at", 100)
    deleted = metalog("topics", "delete", "_schemas", "--log", new)
    assert deleted.code == 0, deleted.err
    assert metalog("verify", new).code == 0


def test_blame_of_older_values_does_not_say_that_the_log_names_nobody(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    assert metalog("fork", demo_log, tmp_path / "fork").code == 0
    told = metalog("blame", tmp_path / "fork", "broker:1").out
    assert "not known" in told
    assert "does not say who asked" not in told
