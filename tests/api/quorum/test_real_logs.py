"""Real logs that a quorum serves: whole, through an election, and behind moved log starts."""

from pathlib import Path
from typing import Any

from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from tests.api.conftest import Metalog
from tests.api.quorum.quorums import batches_in, ends, exported, read
from tests.api.quorum.recordings import cleaned, record_until
from tests.real_logs import (
    DataSet,
    each_covering_data_set,
    each_data_set_where,
    is_not_needed,
)
from tests.stand_in_quorum import Quorum


@each_covering_data_set
def test_mirror_has_the_bytes_of_the_source(data_set: DataSet, tmp_path: Path) -> None:
    partition = data_set.materialise(tmp_path / "source") / PARTITION_DIRECTORY
    log = tmp_path / "log"
    # Release 3.5 serves a log from offset 0 also where it has a snapshot.
    with Quorum(partition, release="3.5", nodes=3) as quorum:
        assert read(quorum, log, "--noop", "keep").code in (0, 1)
        quorum.elect(2)
        quorum.commit(quorum.leader.log.end_offset)
        assert read(quorum, log, "--noop", "keep").code in (0, 1)
        end = quorum.leader.high_watermark
    assert ends(log) == (end, end)
    found = exported(log, tmp_path / "exported")
    assert found
    assert batches_in(partition).endswith(found)


@each_data_set_where(lambda data_set: bool(data_set.checkpoints), is_heavy=is_not_needed)
def test_parts_and_gap_are_those_of_the_source(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    partition = data_set.materialise(tmp_path / "source") / PARTITION_DIRECTORY
    log, whole = tmp_path / "log", tmp_path / "whole"
    start = record_until(partition, log, 20)
    with Quorum(partition, release="3.5") as quorum:
        gap_end = cleaned(quorum, -1).end_offset
        assert read(quorum, log, "--noop", "keep").code in (0, 1)
        end = quorum.leader.high_watermark
    assert ends(log.with_name("log.part-1")) == (start, start)
    assert ends(log) == (end, end)
    exports = [
        exported(each, tmp_path / each.name / "exported")
        for each in (log.with_name("log.part-1"), log)
    ]
    source = batches_in(partition)
    assert source.startswith(exports[0])
    assert source.endswith(exports[1])
    assert metalog("import", "kraft", partition, whole).code in (0, 1)
    (gap,) = metalog("timeline", log, "--from", start, "--json").json["gaps"]
    assert (gap["gap"]["from_offset"], gap["gap"]["to_offset"]) == (start, gap_end)
    expected = metalog("diff", whole, start - 1, gap_end - 1, "--json").json["changes"]
    assert _kept(gap["found"]) == _kept(expected)
    assert gap["found"]


def _kept(changes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return changes without what Kafka's snapshots lose.

    That is which broker got the last producer ids, and the order of features and endpoints.
    """
    return [
        (each["object"], each["field"], _unordered(each["before"]), _unordered(each["after"]))
        for each in changes
        if each["object"] != "cluster:producer_ids"
        or each["field"] not in ("broker_id", "broker_epoch")
    ]


def _unordered(value: Any) -> Any:
    is_named = isinstance(value, list) and value and isinstance(value[0], dict)
    return sorted(value, key=str) if is_named else value
