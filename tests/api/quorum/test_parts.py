"""A reader that fell behind the leader's log goes on in a new part of the recording."""

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.generate_kraft import generate
from metadata_log.files.fs import OsFs
from metadata_log.format.parts import EarlierPart, earlier_parts
from metadata_log.reader.log_reader import LogReader
from tests.api.conftest import Metalog
from tests.api.quorum.quorums import batch_end, batches_in, ends, exported, following, read
from tests.api.quorum.recordings import cleaned, record_until, recording
from tests.docs_console import ROOT
from tests.forked_commands import METALOG
from tests.stand_in_quorum import Quorum
from tests.stand_in_quorum.quorum import CLUSTER_ID

HTTP = "127.0.0.1:0"


def _segments(log: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in log.glob("*.avro")}


def _parts(log: Path) -> tuple[EarlierPart, ...]:
    return earlier_parts(OsFs(), log)


def test_mirror_behind_the_leaders_log_goes_on_in_a_new_part(
    with_snapshots: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    end = record_until(with_snapshots, log, 50)
    before = _segments(log)
    with Quorum(with_snapshots) as quorum:
        start = cleaned(quorum, 1)
        done = read(quorum, log, "--noop", "keep")
        high_watermark = quorum.leader.high_watermark
    assert done.code == 0
    assert f"offsets {end} to {start.end_offset - 1} were not recorded" in done.err
    (earlier,) = _parts(log)
    gap = earlier.gap
    assert (gap.from_offset, gap.to_offset, gap.to_epoch) == (end, start.end_offset, start.epoch)
    assert gap.log_start_offset == start.end_offset
    assert _segments(tmp_path / earlier.folder) == before
    assert ends(tmp_path / earlier.folder) == (end, end)
    with LogReader.open(log) as reader:
        assert (reader.history_start, reader.confirmed_end) == (start.end_offset, high_watermark)


def test_new_part_has_the_state_of_the_whole_log(
    metalog: Metalog, whole: Path, with_snapshots: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    record_until(with_snapshots, log, 50)
    with Quorum(with_snapshots) as quorum:
        start = cleaned(quorum, 0)
        assert read(quorum, log).code == 0
        end = quorum.leader.high_watermark
    for at in (start.end_offset - 1, start.end_offset + 40, end - 1):
        digests = {
            metalog("digest", each, "--at", at, "--json").json["digest"] for each in (log, whole)
        }
        assert len(digests) == 1


def test_follower_goes_on_by_itself_and_says_the_gap(with_snapshots: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    end = record_until(with_snapshots, log, 50)
    with Quorum(with_snapshots) as quorum:
        start = cleaned(quorum, 1)
        high_watermark = quorum.leader.high_watermark
        with following(quorum, log) as follower:
            follower.wait_until(high_watermark, high_watermark)
            done = follower.end()
    assert (done.code, done.err) == (0, "")
    (line,) = [each for each in map(json.loads, done.out.splitlines()) if "gap" in each]
    assert line["earlier_part"] == "log.part-1"
    assert (line["gap"]["from_offset"], line["gap"]["to_offset"]) == (end, start.end_offset)


def test_every_gap_is_a_part_of_its_own(with_snapshots: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = record_until(with_snapshots, log, 50)
    with Quorum(with_snapshots, end_offset=batch_end(with_snapshots, 240)) as quorum:
        for snapshot in list(quorum.leader.log.snapshots):
            if snapshot.end_offset > 240:
                del quorum.leader.log.snapshots[snapshot]
        second = cleaned(quorum, 1)
        assert read(quorum, log).code == 0
        middle = quorum.leader.high_watermark
    with Quorum(with_snapshots) as quorum:
        third = cleaned(quorum, 2)
        assert read(quorum, log).code == 0
    assert [(each.folder, each.gap.from_offset, each.gap.to_offset) for each in _parts(log)] == [
        ("log.part-1", first, second.end_offset),
        ("log.part-2", middle, third.end_offset),
    ]
    assert _parts(tmp_path / "log.part-2") == _parts(log)[:1]


def test_gap_is_filled_from_a_nodes_directory(
    metalog: Metalog, with_snapshots: Path, tmp_path: Path
) -> None:
    recorded = recording(with_snapshots, tmp_path / "log")
    (with_snapshots.parent / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\n")
    filled = tmp_path / "filled"
    shutil.copytree(recorded.first_part, filled)
    assert metalog("import", "kraft", with_snapshots, filled, "--noop", "keep").code == 0
    for at in (recorded.gap_start - 1, recorded.gap_end - 1, recorded.end_offset - 1):
        found, expected = (
            metalog("digest", log, "--at", at, "--json").json["digest"]
            for log in (filled, recorded.log)
        )
        assert found == expected
    assert "gaps" not in metalog("timeline", filled, "--json").json
    with Quorum(with_snapshots) as quorum:
        cleaned(quorum, 1)
        assert read(quorum, filled, "--noop", "keep").code == 0
    assert exported(filled, tmp_path / "exported") == batches_in(with_snapshots)


def test_gap_is_not_filled_from_another_cluster(
    metalog: Metalog, with_snapshots: Path, tmp_path: Path
) -> None:
    recorded = recording(with_snapshots, tmp_path / "log")
    other = generate(tmp_path / "other", 400, seed=4)
    (other.parent / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\n")
    filled = tmp_path / "filled"
    shutil.copytree(recorded.first_part, filled)
    done = metalog("import", "kraft", other, filled)
    assert done.code == 3
    assert ends(filled) == ends(recorded.first_part)


def test_programs_that_follow_the_mirror_notice_the_new_part(
    with_snapshots: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    end = record_until(with_snapshots, log, 50)
    with _running("tail", str(log)) as tail, _running("view", str(log), "--http", HTTP) as view:
        assert tail.stdout is not None
        assert view.stdout is not None
        url = view.stdout.readline().split()[2].rstrip(",")
        assert _info_when(url, log_end=end)
        with Quorum(with_snapshots) as quorum:
            start = cleaned(quorum, 1).end_offset
            assert read(quorum, log).code == 0
        assert tail.wait(30) == 3
        assert f"offset {end} is not kept: history starts at {start}" in tail.stdout.read()
        assert _info_when(url, history_start=start)["gap"]["from_offset"] == end


@contextmanager
def _running(*command: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*METALOG, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _info_when(url: str, **expected: int) -> Any:
    """Return the summary of the log that is shown, when it has some values."""
    deadline = time.monotonic() + 30
    while True:
        # It answers 503 while it opens the log.
        with suppress(urllib.error.HTTPError), urllib.request.urlopen(f"{url}v1/info") as answer:
            found = json.load(answer)
            if expected.items() <= found.items():
                return found
        assert time.monotonic() < deadline, expected
        time.sleep(0.2)
