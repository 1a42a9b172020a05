"""A service archives its log and drops old history by itself; metrics show both."""

import shutil
import time
from pathlib import Path

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.upkeep.jobs import JobRuns
from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.loader import load_image
from tests.api.conftest import Metalog
from tests.api.test_snapshot_maker import LONG_S, running_on, serve
from tests.stories.processes import Process, soon


@pytest.fixture
def log(demo_log: Path, tmp_path: Path) -> Path:
    """A log of several segments."""
    return Path(shutil.copytree(demo_log, tmp_path / "log"))


def _metrics(service: Process) -> dict[str, float]:
    text = httpx.get(f"http://{service.ready['http']}/metrics", timeout=30).text
    return {
        f"{sample.name} {' '.join(sample.labels.values())}".strip(): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_a_log_is_archived_and_its_old_history_dropped(
    metalog: Metalog, log: Path, started: list[Process], tmp_path: Path
) -> None:
    with LogReader.open(log) as reader:
        end = reader.end_offset
        digest = image_digest(load_image(reader, end - 1))
    options = ("--archive", tmp_path / "cold", "--retain", "1ms", "--upkeep-every-s", 1)
    service = await serve(log, started, *options, "--http", "127.0.0.1:0")
    await soon(lambda: "retention of" in service.errors, LONG_S)
    metrics = _metrics(service)
    start = metrics["metalog_history_start_offset"]
    assert 0 < start <= end
    assert metrics["metalog_job_runs_total archive succeeded"] >= 1
    assert metrics["metalog_job_runs_total retention failed"] == 0
    assert start <= metrics["metalog_archive_end_offset"] <= metrics["metalog_log_end_offset"]
    assert metrics["metalog_job_success_timestamp_seconds retention"] <= time.time()
    assert metrics["metalog_job_seconds archive"] > 0
    asked = httpx.get(f"http://{service.ready['http']}/v1/topics/list", timeout=30).json()
    assert asked["history_start"] == start
    assert await service.stop() == 0
    assert running_on(log) == []
    with LogReader.open(log) as reader:
        assert image_digest(load_image(reader, end - 1)) == digest
    whole = metalog("restore", tmp_path / "cold", tmp_path / "whole", "--tail", log, "--json")
    assert whole.code == 0, whole.err


async def test_what_cannot_be_archived_is_a_warning_and_tried_again(
    log: Path, started: list[Process], tmp_path: Path
) -> None:
    (tmp_path / "cold").write_text("no directory")
    options = ("--archive", tmp_path / "cold", "--upkeep-every-s", 1, "--http", "127.0.0.1:0")
    service = await serve(log, started, *options)
    await soon(lambda: service.errors.count("no archive of") >= 2, LONG_S)
    assert '"message"' not in service.errors
    assert _metrics(service)["metalog_job_runs_total archive failed"] >= 1
    assert await service.stop() == 0


def test_retention_needs_an_age(metalog: Metalog, log: Path) -> None:
    answer = metalog("serve", log, "--retain", "100")
    assert (answer.code, "'100' is not an age such as 30d" in answer.err) == (2, True)


def test_an_archive_needs_a_place(metalog: Metalog, log: Path) -> None:
    answer = metalog("serve", log, "--archive", "")
    assert (answer.code, "--archive: the path is empty" in answer.err) == (2, True)


def test_a_run_that_does_not_succeed_has_failed() -> None:
    job = JobRuns(name="a")
    with job.running():
        assert job.is_running
        job.succeed(7)
    with pytest.raises(OSError, match="full"), job.running():
        raise OSError("full")
    with job.running():
        pass
    assert (job.done, job.failed, job.end_offset, job.is_running) == (1, 2, 7, False)
    assert msgspec.structs.asdict(job)["done_at_s"] is not None
