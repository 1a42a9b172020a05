"""Every way to count partitions without a leader, and under-replicated ones, gives the same."""

import asyncio
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Page, expect

from api.http.options import HttpOptions
from metadata_log.format.batch import NewBatch
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record
from records.partitions import PartitionChangeRecord, PartitionRecord, RemovePartitionsRecord
from replay.incidents.health import health_of
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.api.report.conftest import Opened
from tests.api.report.page_actions import select, texts
from tests.api.report.served import Visitor, served
from tests.browser import Pages, apart
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import broker, change, partition, topic, uid

Counted = tuple[int, int]
"""Partitions without a leader, and under-replicated ones."""

_PAGE = re.compile(r": ([\d,]+) leaderless and ([\d,]+) under-replicated of [\d,]+ partitions?\.$")
_IMAGE = re.compile(r"partitions?: ([\d,]+) without a leader, ([\d,]+) under-replicated")
_SQL = """
    SELECT coalesce(sum(leaderless), 0), coalesce(sum(under_replicated), 0) FROM partition_states
    WHERE valid_from_offset <= :at AND (valid_to_offset IS NULL OR valid_to_offset > :at)
"""
_SQL_NOW = """
    SELECT (SELECT count(*) FROM partitions_now WHERE leaderless = 1),
      (SELECT count(*) FROM under_replicated)
"""


def _numbers(pattern: re.Pattern[str], text: str) -> Counted:
    found = pattern.search(text)
    assert found is not None, text
    leaderless, under_replicated = (int(each.replace(",", "")) for each in found.groups())
    return leaderless, under_replicated


def plainly(log: Path, at: int) -> Counted:
    """Return the counts, by the definition in words."""
    with LogReader.open(log) as reader:
        image = Timeline.of(reader).image(at)
    partitions = [p for topic in image.topics() for p in image.partitions(topic.topic_id)]
    # Without those that were taken offline to be removed.
    partitions = [p for p in partitions if (p.mode, p.leader) != (-1, -1)]
    short = [p for p in partitions if len(p.isr) < len({*p.replicas} - {*p.adding_replicas})]
    return sum(p.leader == -1 for p in partitions), len(short)


def by_commands(metalog: Metalog, log: Path, at: int) -> Iterator[tuple[str, Counted]]:
    """Yield each command that counts, with its counts."""
    yield "image", _numbers(_IMAGE, metalog("image", log, "--at", at).out)
    partitions = [
        metalog("partitions", "list", option, "--log", log, "--at", at, "--json").json["partitions"]
        for option in ("--unavailable", "--under-replicated")
    ]
    yield "partitions list", (len(partitions[0]), len(partitions[1]))
    lasting = [
        each["kind"]
        for each in metalog("outages", log, "--to", at, "--json").json["intervals"]
        if each["to_offset"] is None
    ]
    yield "outages", (lasting.count("leaderless"), lasting.count("under_replicated"))


def by_metrics(log: Path, at: int) -> Counted:
    with LogReader.open(log) as reader:
        found = health_of(Timeline.of(reader).image(at))
    return found.leaderless, found.under_replicated


def by_sql(file: Path, query: str, at: int) -> Counted:
    with closing(sqlite3.connect(file)) as database:
        leaderless, under_replicated = database.execute(query, {"at": at}).fetchone()
    return leaderless, under_replicated


def by_page(page: Page, at: int) -> Counted:
    select(page, at, at)
    return said_by_page(page)


def said_by_page(page: Page) -> Counted:
    """Return the counts at the end of the selection."""
    said = page.locator(".said").inner_text()
    return (0, 0) if said.endswith("no partitions.") else _numbers(_PAGE, said)


def all_agree(
    metalog: Metalog, opened: Opened, log: Path, folder: Path, offsets: Sequence[int]
) -> set[Counted]:
    """Compare all ways at some offsets, of which the last is the log's; return the counts."""
    database = folder / "history.db"
    assert metalog("report", log, folder / "report.html").code == 0
    assert metalog("sql", "sync", log, "--database", f"sqlite:///{database}").code == 0
    with closing(sqlite3.connect(database)) as tables:
        (synced,) = tables.execute("SELECT end_offset FROM history_position").fetchone()
    page = opened(folder / "report.html")
    found = set()
    for at in offsets:
        expected = plainly(log, at)
        told = {
            **dict(by_commands(metalog, log, at)),
            "metrics": by_metrics(log, at),
            "page": by_page(page, at),
        }
        # Records that Kafka may still replace are not in the tables.
        if at < synced:
            told["sql"] = by_sql(database, _SQL, at)
        if at == synced - 1:
            told["sql now"] = by_sql(database, _SQL_NOW, at)
        assert told == dict.fromkeys(told, expected), f"offset {at}"
        found.add(expected)
    return found


def changes(log: Path) -> list[int]:
    """Return the offsets of the records that set a partition, and the last of the log."""
    with LogReader.open(log) as reader:
        found = [
            row.offset
            for batch in reader.batches()
            for row in batch.rows
            if isinstance(row.payload, PartitionRecord | PartitionChangeRecord)
        ]
        return [*found, reader.end_offset - 1]


def sampled(offsets: Sequence[int], count: int) -> list[int]:
    """Return some of the offsets, spread evenly, and the last."""
    return sorted({*offsets[:: len(offsets) // count + 1], offsets[-1]})


@each_data_set
def test_all_ways_agree_on_a_real_log(
    data_set: DataSet, metalog: Metalog, opened: Opened, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    import_directory(open_directory(data_set.materialise(tmp_path / "source")), log)
    all_agree(metalog, opened, log, tmp_path, sampled(changes(log), 6))


ORDERS = (topic("orders"), *[partition("orders", n) for n in range(4)])
MOVES: tuple[tuple[int, tuple[Record, ...]], ...] = (
    (5_000, tuple(map(broker, range(1, 5)))),
    (6_000, ORDERS),
    # Each record of a batch is a state of its own, though all have one time.
    (7_000, tuple(change("orders", n, isr=(1, 2)) for n in range(3))),
    (8_000, (change("orders", 0, leader=-1, isr=(2,)),)),
    # Replicas that are being added are not missed; 2 is, because it is out of sync.
    (9_000, (change("orders", 3, replicas=(1, 2, 3, 4), adding_replicas=(4,)),)),
    (9_500, (change("orders", 3, isr=(1, 3)),)),
    (9_900, (change("orders", 3, isr=(1, 2, 3, 4), adding_replicas=()),)),
    # The last is removed.
    (9_950, (change("orders", 3, mode=1),)),
    (9_960, (change("orders", 3, mode=-1, leader=-1, isr=(1,)),)),
    (9_970, (RemovePartitionsRecord(topic_id=uid("orders"), partition_ids=(3,)),)),
    # The clock goes back.
    (1_000, (change("orders", 1, isr=(1, 2, 3)),)),
    (1_500, (change("orders", 2, isr=(1, 2, 3)),)),
)


async def write_moves(directory: Path) -> None:
    create_log(directory, "moves")
    log = await MetadataLog.open(directory)
    for time_ms, records in MOVES:
        await log.append(NewBatch(records=records, timestamp=time_ms))
    await log.close()


def test_all_ways_agree_at_every_offset_of_a_log_with_a_reassignment(
    metalog: Metalog, opened: Opened, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    apart(asyncio.run, write_moves(log))
    with LogReader.open(log) as reader:
        offsets = range(reader.history_start, reader.end_offset)
    counts = all_agree(metalog, opened, log, tmp_path, offsets)
    assert counts == {(0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (1, 4), (1, 2), (1, 1)}


def test_an_outage_from_before_the_kept_history_says_so(
    metalog: Metalog, tmp_path: Path, pages: Pages
) -> None:
    """As in a fork of a log in the middle of an outage, served with its page."""
    log, folder = tmp_path / "log", tmp_path / "fork"
    folder.mkdir()
    apart(asyncio.run, write_moves(log))
    fork = apart(metalog, "fork", log, folder / "log", "--at", 12)
    assert fork.code == 0
    http = HttpOptions(host="127.0.0.1", port=0)
    with served(folder, http) as service, Visitor(pages).visit(service.url) as page:
        page.evaluate("() => report.answers.outages('partition:orders/0')")
        expect(page.locator(".answer li .by").first).to_be_visible()
        told = texts(page, ".answer li")
        page.locator(".answer li button").first.click()
        first, from_ = page.evaluate("[report.selection.first, report.selection.from]")
    assert told
    assert all("since before the kept history, still in progress" in each for each in told)
    assert from_ == first
