"""`record` follows several clusters; what goes wrong with one leaves the others alone."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.generate_kraft import generate
from tests.api.alerts.running import Hook, wait_until
from tests.api.conftest import Metalog
from tests.api.quorum.conftest import made, partition, whole, with_snapshots
from tests.api.quorum.quorums import batch_end, ends, read
from tests.api.quorum.recordings import cleaned, record_until
from tests.api.recorder.running import mirror, recording
from tests.stand_in_quorum import FETCH, Answer, Quorum

__all__ = ["made", "partition", "whole", "with_snapshots"]

OTHER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.fixture
def prod(partition: Path) -> Iterator[Quorum]:
    with Quorum(partition, end_offset=batch_end(partition, 200)) as quorum:
        yield quorum


@pytest.fixture
def test(tmp_path: Path) -> Iterator[Quorum]:
    node = generate(tmp_path / "other", 100, seed=4)
    with Quorum(node, cluster_id=OTHER_ID) as quorum:
        yield quorum


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "record.toml"


def test_clusters_are_followed_each_into_its_mirror(
    partition: Path, prod: Quorum, test: Quorum, file: Path
) -> None:
    file.write_text(mirror("prod", prod) + mirror("test", test))
    with recording(file) as running:
        assert running.ready["mirrors"] == ["prod", "test"]
        first, other = prod.leader.high_watermark, test.leader.high_watermark
        running.wait_for(confirmed_end_offset__prod=first, confirmed_end_offset__test=other)
        end = prod.reveal(batch_end(partition, 300))
        metrics = running.wait_for(confirmed_end_offset__prod=end, lag_records__prod=0)
        assert metrics["up prod"] == metrics["up test"] == 1
        assert (metrics["records_total prod"], metrics["gaps prod"]) == (end, 0)
        assert metrics["last_record_timestamp_seconds prod"] > 1_600_000_000
        assert running.stop() == 0
        assert running.errors == ""
    for name, quorum in (("prod", prod), ("test", test)):
        end = quorum.leader.high_watermark
        assert ends(file.with_name(name)) == (end, end)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (31, "CLUSTER_AUTHORIZATION_FAILED"),
        (42, "INVALID_REQUEST"),
        (104, "INCONSISTENT_CLUSTER_ID"),
    ],
)
def test_refused_cluster_stops_alone_and_is_tried_again_when_asked(
    prod: Quorum, test: Quorum, file: Path, error: int, code: str
) -> None:
    file.write_text(mirror("prod", prod) + mirror("test", test))
    test.fail(Answer(top_error=error), key=FETCH, times=1_000_000)
    with recording(file) as running:
        running.wait_for(**{"stopped__test__recording__" + code: 1}, up__prod=1, up__test=0)
        assert running.errors.count("test: recording stopped: ") == 1
        asked = len(test.asked(FETCH))
        end = prod.reveal()
        running.wait_for(confirmed_end_offset__prod=end)
        assert len(test.asked(FETCH)) == asked
        test.clear_faults()
        running.hang_up()
        metrics = running.wait_for(up__test=1)
        assert not any(name.startswith("stopped") for name in metrics)
        running.wait_for_error("test: recording goes on")
        assert running.stop() == 0


def test_hangup_adds_removes_and_refuses(prod: Quorum, test: Quorum, file: Path) -> None:
    file.write_text(mirror("prod", prod))
    with recording(file) as running:
        running.wait_for(up__prod=1)
        file.write_text(mirror("prod", prod) + mirror("test", test))
        running.hang_up()
        running.wait_for(up__prod=1, up__test=1)
        file.write_text(mirror("prod", prod) + mirror("test", test, 'retian = "7d"'))
        running.hang_up()
        metrics = running.wait_for(config_last_reload_successful=0)
        assert metrics["up test"] == metrics["up prod"] == 1
        said = f"{file}, line 9: mirrors.test.retian: there is no such setting; did you mean"
        running.wait_for_error(said)
        file.write_text(mirror("test", test))
        running.hang_up()
        metrics = running.wait_for(config_last_reload_successful=1)
        assert not any(name.endswith(" prod") for name in metrics)
        asked = len(prod.asked(FETCH))
        end = prod.reveal()
        assert running.wait_for(up__test=1)
        assert (len(prod.asked(FETCH)), ends(file.with_name("prod"))[1] < end) == (asked, True)
        assert running.stop() == 0


def test_alerts_of_a_mirror_are_printed_posted_and_counted(prod: Quorum, file: Path) -> None:
    with Hook() as hook:
        checks = file.with_name("checks.toml")
        checks.write_text(
            "invariants = false\n[expect]\nnone = 'size(topics) == 0'\nall = 'true'\n"
            f'[alert]\nwebhook = "{hook.url}"\n'
        )
        file.write_text(mirror("prod", prod, 'checks = "checks.toml"'))
        with recording(file) as running:
            alert = running.line()
            assert (alert["log"], alert["check"], alert["status"]) == ("prod", "none", "firing")
            (posted,) = hook.wait_for(1)
            assert posted["id"] == alert["id"]
            metrics = running.wait_for(alerts_firing__prod__none=1, alerts_waiting__prod=0)
            assert metrics["alerts_firing prod all"] == 0
            running.wait_for(unchecked_records__prod=0)
            assert running.stop(signal.SIGKILL) == -signal.SIGKILL
        wait_until(lambda: prod.is_idle)
        with recording(file) as running:
            running.wait_for(alerts_firing__prod__none=1, up__prod=1)
            checks.write_text("invariants = false\n[expect]\nall = 'true'\n")
            running.hang_up()
            resolved = running.line()
            assert (resolved["id"], resolved["status"]) == (alert["id"], "resolved")
            assert running.stop() == 0
        assert len(hook.posted) == 1


def test_mirror_has_one_reader(prod: Quorum, file: Path) -> None:
    file.write_text(mirror("prod", prod))
    with recording(file) as running:
        running.wait_for(up__prod=1)
        with recording(file) as second:
            second.wait_for(stopped__prod__recording__UnavailableError=1)
            assert f"is being written by process {running.process.pid}" in second.errors


def test_gap_is_printed_and_counted(with_snapshots: Path, file: Path) -> None:
    log = file.with_name("prod")
    record_until(with_snapshots, log, 50)
    with Quorum(with_snapshots) as quorum:
        gap_end = cleaned(quorum, 1).end_offset
        file.write_text(mirror("prod", quorum))
        with recording(file) as running:
            line = running.line()
            running.wait_for(gaps__prod=1, up__prod=1)
            assert running.stop() == 0
    assert (line["mirror"], line["earlier_part"]) == ("prod", "prod.part-1")
    assert line["gap"]["to_offset"] == gap_end


def test_archive_and_retention_run(prod: Quorum, file: Path) -> None:
    file.write_text(mirror("prod", prod, 'archive = "kept"', 'retain = "90d"'))
    with recording(file) as running:
        running.wait_for(up__prod=1, job_failures_total__prod__archive=0)
        running.wait_for(job_failures_total__prod__retention=0)
        assert running.stop() == 0


def test_address_in_use_is_said(prod: Quorum, file: Path, metalog: Metalog) -> None:
    with Hook() as hook:
        file.write_text(f'metrics = "127.0.0.1:{hook.port}"\n' + mirror("prod", prod))
        done = metalog("record", file)
    assert done.code == 4
    assert f"127.0.0.1:{hook.port} cannot be listened on" in done.err


def test_check_says_what_would_be_done(prod: Quorum, file: Path, metalog: Metalog) -> None:
    checks = file.with_name("checks.toml")
    checks.write_text("[expect]\nall = 'true'\n")
    file.write_text(
        mirror("prod", prod, 'archive = "s3://bucket/prod"', 'retain = "90d"')
        + mirror("new", prod, 'checks = "checks.toml"')
    )
    assert read(prod, file.with_name("prod")).code == 0
    end = prod.leader.high_watermark
    (prod_, new) = metalog("record", file, "--check", "--json").lines
    assert (prod_["log_end"], prod_["retain"]) == (end, "90d")
    assert (new["log_end"], new["cluster_id"], new["checks"]) == (None, prod.cluster_id, 1)
    text = metalog("record", file, "--check").out
    assert f"goes on at offset {end}" in text and "expectations checked: 1" in text
