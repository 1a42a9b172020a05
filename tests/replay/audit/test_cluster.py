"""A Spark cluster gives the same answers as replay: a master, two workers, Spark Connect, a bucket.

Heavy, so run by `make heavy` only. The programs of docs/spark_on_a_cluster.md run here.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from metadata_log.care.backup import back_up
from metadata_log.files.fs import OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.stores.store import open_store
from replay.audit.view_names import VIEWS
from replay.image.digest import FIRST_PARTS, part_digests
from replay.time_travel.changes import Change
from replay.timeline import Timeline
from tests.replay.audit import cluster_job, refused_over_connect, replayed
from tests.replay.audit.cluster_job import SINCE
from tests.replay.audit.spark_cluster import Cluster, spark_cluster
from tests.s3 import environment

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(3_600)]

JOB = Path(cluster_job.__file__)
# Made by `make heavy` from the Pythons that are installed.
OTHER_PYTHONS = sorted((Path(__file__).parents[3] / ".venv" / "pythons").glob("*/bin/python"))
needs_connect = pytest.mark.skipif(
    importlib.util.find_spec("grpc_status") is None, reason="the extra `connect` is not installed"
)
DOCUMENT = (Path(__file__).parents[3] / "docs" / "spark_on_a_cluster.md").read_text()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, s3_url: str) -> Iterator[Cluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster"), **environment(s3_url)) as running:
        yield running


@pytest.fixture(scope="module")
def live_log(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose last segment has more than is committed, as while a writer runs."""
    log = tmp_path_factory.mktemp("live") / "log"
    shutil.copytree(demo_log, log)
    with sorted(log.glob("0*.avro"))[-1].open("ab") as segment:
        segment.write(b"half a block")
    return log


@pytest.fixture(scope="module")
def expected(live_log: Path) -> cluster_job.Answers:
    """The answers, computed by replay."""
    with LogReader.open(live_log) as reader:
        rows = [row for batch in reader.batches() for row in batch.rows]
        timeline, last = Timeline.of(reader), reader.end_offset - 1
        image = timeline.image(last)
        early = Counter(type(row.payload).__name__ for row in rows if row.offset < SINCE)
        answers: dict[str, Iterable[Sequence[Any]]] = {
            "state": (
                (part, digest.count, str(digest.lanes[0]))
                for part, digest in part_digests(image).items()
                if digest.count or part in FIRST_PARTS
            ),
            "brokers": ((broker.broker_id, broker.fenced) for broker in image.brokers()),
            "changes": _compared(timeline.changes(0, last + 1), "offset"),
            "diff": _compared(timeline.diff(SINCE - 1, last)),
            "log": ((row.offset, type(row.payload).__name__) for row in rows),
            "sql": early.items(),
        }
        found = {name: sorted(map(list, each), key=repr) for name, each in answers.items()}
    return found | {"export": found["changes"], "stream": found["log"]}


def _compared(changes: Iterable[Change], *more: str) -> Iterator[tuple[Any, ...]]:
    for change in changes:
        kind = replayed.kind_of(change)
        if kind in cluster_job.KINDS and change.field in cluster_job.FIELDS:
            values = replayed.text(change.before), replayed.text(change.after)
            yield *(getattr(change, name) for name in more), kind, change.field, *values


def test_submitted_program_answers_as_replay_does(
    cluster: Cluster, live_log: Path, expected: cluster_job.Answers, tmp_path: Path
) -> None:
    cluster.submit(JOB, live_log, tmp_path, tmp_path / "answers.json")
    assert _read(tmp_path) == expected
    assert cluster.tasks_ran_on_all_workers()


def test_archive_in_a_bucket_is_read_by_the_workers(
    cluster: Cluster, live_log: Path, expected: cluster_job.Answers, s3_place: str, tmp_path: Path
) -> None:
    with LogReader.open(live_log) as reader:
        back_up(OsFs(), reader, open_store(s3_place))
    cluster.submit(JOB, s3_place, tmp_path, tmp_path / "answers.json")
    assert _read(tmp_path) == {n: rows for n, rows in expected.items() if n != "export"}


@needs_connect
def test_spark_connect_answers_as_replay_does(
    cluster: Cluster, live_log: Path, expected: cluster_job.Answers, tmp_path: Path
) -> None:
    with cluster.connect_server() as url:
        _ask_over_connect(cluster, sys.executable, live_log, tmp_path, url)
        refused = [sys.executable, "-m", refused_over_connect.__name__, str(live_log), url]
        tried = subprocess.run(refused, env=cluster.environment, capture_output=True, check=False)
        named = _named_queries(cluster, sys.executable, live_log, SPARK_REMOTE=url)
    by_duckdb = _named_queries(cluster, sys.executable, live_log, "--engine", "duckdb")
    assert _read(tmp_path) == expected
    assert _answers(named) == _answers(by_duckdb)
    assert tried.returncode == 0, tried.stderr[-6_000:]
    assert json.loads(tried.stdout) == {"accepted": ["SHOW TABLES"], "views": len(VIEWS)}


@needs_connect
@pytest.mark.parametrize("python", OTHER_PYTHONS, ids=lambda path: path.parts[-3])
def test_spark_connect_answers_with_another_python(
    cluster: Cluster,
    live_log: Path,
    expected: cluster_job.Answers,
    tmp_path: Path,
    python: Path,
) -> None:
    with cluster.connect_server(str(python)) as url:
        _ask_over_connect(cluster, str(python), live_log, tmp_path, url)
        named = _named_queries(cluster, str(python), live_log, SPARK_REMOTE=url)
        # This Python is not that of the server's workers.
        refused = _named_queries(cluster, sys.executable, live_log, SPARK_REMOTE=url)
    by_duckdb = _named_queries(cluster, sys.executable, live_log, "--engine", "duckdb")
    assert _read(tmp_path) == expected
    assert _answers(named) == _answers(by_duckdb)
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert refused.returncode == 4, refused.stderr[-6_000:]
    workers = f"workers run Python {python.parts[-3]}, and this program Python {here}"
    assert workers in refused.stderr


def _answers(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.returncode == 0, done.stderr[-6_000:]
    return json.loads(done.stdout)["audits"]


def _named_queries(
    cluster: Cluster, python: str, log: Path, *options: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [python, "-m", "api.cli", "audit", "who", "deletions", str(log), "--json", *options],
        env={**cluster.environment, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _ask_over_connect(cluster: Cluster, python: str, log: Path, folder: Path, url: str) -> None:
    done = subprocess.run(
        [python, JOB, log, folder, folder / "answers.json", url],
        env={**cluster.environment, "PYSPARK_PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6_000:]


def test_document_runs_line_by_line(
    cluster: Cluster, live_log: Path, s3_place: str, tmp_path: Path
) -> None:
    with LogReader.open(live_log) as reader:
        back_up(OsFs(), reader, open_store(s3_place))
    (tmp_path / "log").symlink_to(live_log)
    (tmp_path / "tmp").mkdir()
    with cluster.connect_server() as remote:
        places = {
            "spark://master:7077": cluster.url,
            "sc://server:15002": remote,
            "s3://bucket/logs/first": s3_place,
            "/shared": str(tmp_path),
            "/opt/metalog/bin/python": sys.executable,
        }
        job, connect_job, fragment = (_placed(text, places) for text in _documented("python"))
        (tmp_path / "audit_job.py").write_text(job)
        (tmp_path / "connect_job.py").write_text(connect_job)
        (tmp_path / "fragment.py").write_text(_PROGRAM.format(fragment=fragment))
        lines = [_placed(text, places) for text in _documented("sh")]
        programs = f"python connect_job.py\nspark-submit --master {cluster.url} fragment.py\n"
        cluster.run("".join([*lines, programs]), tmp_path)
    assert list((tmp_path / "changes").glob("day=*/*.parquet"))


def _documented(language: str) -> list[str]:
    """Return the examples in the document that are in this language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCUMENT, re.M | re.S)


def _placed(text: str, places: Mapping[str, str]) -> str:
    for written, here in places.items():
        text = text.replace(written, here)
    return text


_PROGRAM = """
from pyspark.sql import SparkSession
from replay import audit
spark = SparkSession.builder.getOrCreate()
{fragment}
assert log.log().count()
log.close()
"""
"""Makes a program of the document's fragment that opens a log."""


def _read(folder: Path) -> cluster_job.Answers:
    found: cluster_job.Answers = json.loads((folder / "answers.json").read_text())
    assert all(found.values()), {name: len(rows) for name, rows in found.items()}
    return found
