"""No mutation of a real log gives a wrong result silently.

A mutated log is imported and replayed. The result must be one of: - equal: the image of the log
before the mutation, apart from its end offset; - reported: damage, a contradiction at the same
record as in the naive replay, an open transaction, or
  records that were not understood, with their number and first offset;
- another history: the naive replay also accepts the mutated log, and gives the same state.
If replay gives an image, it must be the state of the naive replay, reported or not.

`CASES=1000` sets the number of cases; `FIRST=N` is the number of the first.
"""

import functools
import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.kraft_format.names import PARTITION_DIRECTORY, segment_name
from metadata_log.reader.log_reader import LogReader
from records.errors import ContradictionError, CorruptLogError
from replay.image.kraft_json import kraft_json
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline
from tests.mutated_logs.kafka_bytes import Batch, put_together, taken_apart
from tests.mutated_logs.mutations import MUTATIONS, Log
from tests.mutated_logs.reference_replay import Contradiction, replayed
from tests.real_logs import DataSet, StoredFile, data_sets

CASES, FIRST = int(os.environ.get("CASES", "24")), int(os.environ.get("FIRST", "0"))
IS_WHOLE = "CASES" in os.environ
# A prefix of a log is a log; the longest ones would take most of the time.
RECORDS_MAX = 5_000 if IS_WHOLE else 3_000

pytestmark = [
    pytest.mark.real_logs,
    pytest.mark.skipif(not data_sets(), reason="no real Kafka logs"),
]


@functools.cache
def logs() -> list[Log]:
    return [log for data_set in data_sets() if (log := _log_of(data_set))]


def _log_of(data_set: DataSet) -> Log | None:
    """Return the start of a log; None if it starts above 0, or has no topic."""
    segment = data_set.segments[0]
    if segment.name != segment_name(0) or is_long(segment):
        return None
    found: Log = []
    count = 0
    for batch in taken_apart(segment.read(), list(segment.oracle())):
        count += batch.count
        if count > RECORDS_MAX:
            break
        found.append(batch)
    has_topic = any(record.type == "TopicRecord" for batch in found for record in batch.records)
    return found if has_topic else None


def is_long(segment: StoredFile) -> bool:
    """True if reading a segment takes too long, except in the complete run."""
    return segment.record_count > 8_000 and not IS_WHOLE


def naive(log: Log) -> tuple[dict[str, Any], int | None, int | None]:
    """Return the state by the naive replay, the offset of an open transaction, and that of a
    contradiction.
    """
    end = sum(batch.count for batch in log)
    rows = (
        (offset, record.type, record.decoded["version"], record.data)
        for offset, record in _records(log)
        if record.has_effect
    )
    try:
        state, begun = replayed(rows)
    except Contradiction as contradiction:
        return {}, None, contradiction.offset
    return state.as_json(end if begun is None else begun), begun, None


def _records(log: Log) -> Any:
    offset = 0
    for batch in log:
        for record in batch.records:
            yield offset, record
            offset += 1


def ours(log: Log, folder: Path) -> MetadataImage:
    source = folder / PARTITION_DIRECTORY
    source.mkdir()
    (source / segment_name(0)).write_bytes(put_together(log))
    import_directory(open_directory(source), folder / "log")
    with LogReader.open(folder / "log") as reader:
        image = Timeline.of(reader).image()
        found = Timeline.of(reader).not_understood(reader.end_offset - 1)
        assert found == image.provenance.not_understood, "both ways of counting agree"
        return image


def verdict_of(log: Log, before: dict[str, Any], folder: Path) -> str:
    """Check the result for a mutated log; return which of the allowed results it is."""
    if any(batch.shift for batch in log):
        with pytest.raises(CorruptLogError):
            ours(log, folder)
        return "told: damage"
    expected, begun, contradicting = naive(log)
    if contradicting is not None:
        with pytest.raises(ContradictionError) as raised:
            ours(log, folder)
        assert raised.value.record is not None
        assert raised.value.record.offset == contradicting
        return "told: contradiction"
    image = ours(log, folder)
    assert kraft_json(image) == expected
    assert image.provenance.pending_transaction == begun
    counted = [o for o, r in _records(log) if r.not_understood and (begun is None or o < begun)]
    found = image.provenance.not_understood
    assert (found and (found.records, found.first_offset)) == (
        (len(counted), counted[0]) if counted else None
    )
    if begun is not None:
        return "told: open transaction"
    if counted:
        return "told: not understood"
    is_equal = expected | {"endOffset": 0} == before | {"endOffset": 0}
    return "equal" if is_equal else "another history"


def test_the_naive_replay_gives_the_images_that_another_program_computed() -> None:
    compared = 0
    for data_set in data_sets():
        path = data_set.final_image_path
        (segment, *more) = data_set.segments
        if path is None or more or segment.name != segment_name(0) or is_long(segment):
            continue
        rows = list(segment.oracle())
        state, begun = replayed((r["offset"], r["type"], r["version"], r["data"]) for r in rows)
        image = json.loads(path.read_text())
        assert (state.as_json(image["endOffset"]), begun) == (image, None), data_set.name
        compared += 1
    assert compared >= (14 if IS_WHOLE else 8)


def test_putting_a_log_together_gives_its_bytes() -> None:
    for log in logs():
        again = taken_apart(put_together(log), [r.decoded for b in log for r in b.records])
        assert again == [Batch(b.header, b.raw, b.records) for b in log]


@pytest.mark.timeout(3_600)
def test_no_mutation_is_silently_wrong(tmp_path: Path) -> None:
    verdicts: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(FIRST, FIRST + CASES):
        rng = random.Random(number)
        mutate = MUTATIONS[number % len(MUTATIONS)]
        log = [batch.copy() for batch in rng.choice(logs())]
        before, _, _ = naive(log)
        what = mutate(log, rng)
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            verdict = verdict_of(log, before, folder)
        except (Exception, pytest.fail.Exception) as error:
            verdict = "WRONG"
            wrong.append(f"case {number}: {what}: {error!r}"[:500])
        finally:
            shutil.rmtree(folder)
        verdicts[f"{mutate.__name__}: {verdict}"] += 1
    total = Counter[str]()
    for name, count in sorted(verdicts.items()):
        total[name.partition(": ")[2]] += count
        print(f"{count:5} {name}")
    print(dict(total))
    assert wrong == []
