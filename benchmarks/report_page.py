"""The HTML page of a report about 100,000 partitions: first paint, selections, and newer data."""

import asyncio
import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path

from api.cli.main import run as run_command
from api.questions.pages import PagedLog
from api.questions.report import REPORT, ShowReport
from benchmarks.harness import Result
from benchmarks.new_partition import new_partition
from benchmarks.own_log import CLUSTER_ID
from controller.wire import from_wire, to_wire
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.base import Record, Uuid
from records.brokers import RegisterBrokerRecord
from records.partitions import PartitionChangeRecord
from records.topics import TopicRecord

_TOPICS = 1_000
_PARTITIONS = 100
_CHANGES = 50_000
_BROKERS = 100
_SEED = 20_261_122
_FIRST_PAINT_MS = 1_000
_SELECTION_MS = 50
_PASSES = 5
_COUNT = 100
_GROWTH_SHARE = 0.1

_SELECTIONS = """async count => {
  const { selection } = report, times = [];
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let i = 0; i < count; i++) {
    const from = Math.floor(random() * selection.last);
    const length = i % 5 ? 500 * random() : selection.last;
    const start = performance.now();
    selection.set({ from, to: from + length, object: null });
    document.body.offsetHeight;
    times.push(performance.now() - start);
    await new Promise(go => setTimeout(go));
  }
  return times;
}"""


def run(scratch: Path) -> list[Result]:
    """Measure a page in a browser; return no results if there is no browser."""
    log, page = scratch / "log", scratch / "page.html"
    asyncio.run(_write(log))
    first = str(_BROKERS + _TOPICS * (_PARTITIONS + 1))
    assert run_command(["report", str(log), str(page), "--from", first]) == 0
    from tests.browser import chromium

    paints: list[float] = []
    passes: list[list[float]] = []
    with chromium() as browser:
        for _ in range(_PASSES):
            shown = browser.new_page(viewport={"width": 1600, "height": 1000})
            shown.goto(page.as_uri())
            # First the picture and the list, then the values, then the rest of long lists.
            shown.locator("main .panel h2 small").nth(1).wait_for()
            shown.locator("[aria-busy=true]").wait_for(state="detached")
            paint = "performance.getEntriesByName('report-shown')[0].startTime"
            paints.append(shown.evaluate(paint))
            passes.append(shown.evaluate(_SELECTIONS, _COUNT))
            shown.close()
    # The same selections in each fresh page: what another process took is in no minimum.
    times = sorted(map(min, zip(*passes, strict=True)))
    return [
        Result(name="report: size of 50,000 changes", ours=f"{page.stat().st_size / 1e6:.1f} MB"),
        _within("report: first paint of 100,000 partitions", min(paints), _FIRST_PAINT_MS),
        _within(f"report: a selection, median of {_COUNT}", times[_COUNT // 2], _SELECTION_MS),
        _within(f"report: a selection, slowest of {_COUNT}", times[-1], _SELECTION_MS),
        *_growth(log, first),
    ]


def _growth(log: Path, first: str) -> list[Result]:
    """Compare a request for only the columns added by 3 new topics with one for all columns."""
    answers = PagedLog(log)

    def ask(known: int | None) -> tuple[float, int]:
        begun, size, cursor = time.process_time(), 0, None
        payload = to_wire(ShowReport(first=first, known=known))
        while True:
            page = answers.page(REPORT.name, payload, "end", cursor)
            pieces = from_wire(page.payload, REPORT.response, lenient=True)
            size += sum(len(piece.content) for piece in pieces)
            if (cursor := page.cursor) is None:
                return time.process_time() - begun, size

    # The first question reads the range; the second only encodes it.
    ask(None)
    whole_s, whole = ask(None)
    found = []
    for number in range(_PASSES):
        with LogReader.open(log) as reader:
            known = reader.end_offset - 1
        asyncio.run(_append(log, number))
        found.append(ask(known))
    least_s, size = min(found)
    name = "report: what is new after 3 topics"
    return [
        Result(
            name=f"{name}, processor time",
            ours=f"{least_s * 1000:,.0f} ms",
            peer=f"{whole_s * 1000:,.0f} ms for all columns",
            ratio=least_s / whole_s,
            target=_GROWTH_SHARE,
            at_most=True,
        ),
        Result(name=f"{name}, bytes", ours=f"{size:,}", peer=f"{whole:,} for all columns"),
    ]


async def _append(directory: Path, number: int) -> None:
    log = await MetadataLog.open(directory)
    rng = random.Random(_SEED + number)
    for topic in range(3):
        topic_id = Uuid(rng.randbytes(16))
        name = TopicRecord(topic_id=topic_id, name=f"new-{number}-{topic}")
        partitions = [new_partition(topic_id, n, (n, n + 1, n + 2)) for n in range(10)]
        await log.append(NewBatch(records=(name, *partitions)))
    await log.close()


def _within(name: str, ms: float, most: int) -> Result:
    return Result(
        name=name,
        ours=f"{ms:,.0f} ms",
        peer=f"{most:,} ms",
        ratio=ms / most,
        target=1,
        at_most=True,
    )


async def _write(directory: Path) -> None:
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory)
    for records in _batched(_records(), 5_000):
        await log.append(NewBatch(records=records))
    await log.close()


def _batched(records: Iterator[Record], size: int) -> Iterator[tuple[Record, ...]]:
    while found := tuple(itertools.islice(records, size)):
        yield found


def _records() -> Iterator[Record]:
    rng = random.Random(_SEED)
    for broker_id in range(_BROKERS):
        yield RegisterBrokerRecord(
            broker_id=broker_id,
            incarnation_id=Uuid(rng.randbytes(16)),
            broker_epoch=broker_id,
            end_points=(),
            features=(),
            rack=None,
            fenced=False,
        )
    topics = [Uuid(rng.randbytes(16)) for _ in range(_TOPICS)]
    replicas = {}
    for number, topic_id in enumerate(topics):
        yield TopicRecord(topic_id=topic_id, name=f"topic-{number}")
        for partition_id in range(_PARTITIONS):
            chosen = tuple(rng.sample(range(_BROKERS), 3))
            replicas[topic_id, partition_id] = chosen
            yield new_partition(topic_id, partition_id, chosen)
    keys = list(replicas)
    for _ in range(_CHANGES):
        topic_id, partition_id = key = rng.choice(keys)
        in_sync = replicas[key][: rng.randint(1, 3)]
        yield PartitionChangeRecord(
            topic_id=topic_id,
            partition_id=partition_id,
            isr=in_sync,
            leader=rng.choice(in_sync),
        )
