"""Real logs that a quorum serves: the mirror has the source's bytes, through an election too."""

from pathlib import Path

from metadata_log.kraft_format.names import PARTITION_DIRECTORY
from tests.api.quorum.quorums import batches_in, ends, exported, read
from tests.real_logs import DataSet, each_covering_data_set
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
