"""A report's file contains every state of its range: the states rebuilt from it equal a
replay's.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from api.questions.redaction import redact_field, redact_label
from metadata_log.reader.log_reader import LogReader
from records.topics import MoveTopicRecord
from replay.image.metadata import MetadataImage
from replay.report.report import GrowingReport, Redaction
from replay.time_travel.kinds import KINDS
from replay.timeline import Timeline
from tests.histories import random_history
from tests.real_logs import DataSet, each_data_set
from tests.replay.builders import FakeLog
from tests.replay.incidents.real import imported
from tests.replay.report.unpacked import Rebuilt, State, Unpacked, packed_of
from tests.samples import cases, sampled

SAMPLES = 100
SHOWN = Redaction(redact_field, redact_label, lambda header: header)


def redacted(image: MetadataImage) -> State:
    """Return an image in the form in which a report's file contains it."""
    return {
        (kind.name, redact_label(kind.name, _label(kind, image, key))): {
            name: _plain(redact_field(kind.name, name, value))
            for name, value in (kind.fields(image, key) or {}).items()
            if value is not None
        }
        for kind in KINDS.values()
        for key, _ in kind.objects(image)
    }


def _label(kind: Any, image: MetadataImage, key: Any) -> str:
    return str(kind.label(image, key))


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) else value


def check_samples(log: Path, page: Path, samples: int = SAMPLES) -> None:
    """Compare the states at random offsets with those of a replay."""
    unpacked = Unpacked(packed_of(page))
    first, last = unpacked.header["history_from"], unpacked.header["last"]
    chosen = random.Random(7)
    wanted = sorted({first - 1, last, *(chosen.randint(first, last) for _ in range(samples))})
    rebuilt, image = Rebuilt(unpacked), None
    with LogReader.open(log) as reader:
        timeline = Timeline.of(reader)
        for offset in wanted:
            image = timeline.image(offset, start=image)
            assert rebuilt.at(offset) == redacted(image), f"offset {offset}"


@pytest.mark.parametrize("range_", [(), ("--from", "200", "--to", "700")])
def test_any_offset_is_rebuilt_from_the_file(
    demo_log: Path, tmp_path: Path, range_: tuple[str, ...]
) -> None:
    page = tmp_path / "report.html"
    assert run(["report", str(demo_log), str(page), *range_]) == 0
    check_samples(demo_log, page)


@each_data_set
def test_any_offset_of_a_real_log_is_rebuilt(data_set: DataSet, tmp_path: Path) -> None:
    log, page = imported(data_set, tmp_path), tmp_path / "report.html"
    assert run(["report", str(log), str(page)]) == 0
    check_samples(log, page)


@sampled
def test_a_report_of_topics_has_their_states_while_topics_move() -> None:
    names = ("orders", "zo\N{LATIN SMALL LETTER E WITH DIAERESIS}")
    moves = 0
    for seed in range(cases(60, 12)):
        history = random_history(random.Random(seed), 60)
        source = FakeLog(history)
        timeline, last = Timeline(source), source.end_offset - 1
        first = history[10].base_offset
        made = GrowingReport(timeline, first, SHOWN, names).until(timeline, last, dict)
        rebuilt = Rebuilt(Unpacked(made.packed))
        for offset in range(first - 1, last + 1):
            image = timeline.image(offset)
            wanted = {key: found for key, found in redacted(image).items() if _is_of(key, names)}
            assert rebuilt.at(offset) == wanted, (seed, offset)
        moves += sum(isinstance(row.payload, MoveTopicRecord) for b in history for row in b.rows)
    assert moves, "no topic was moved"


def _is_of(key: tuple[str, str], topics: tuple[str, ...]) -> bool:
    kind, label = key
    return (kind == "topic" and label in topics) or (
        kind == "partition" and label.rpartition("/")[0] in topics
    )
