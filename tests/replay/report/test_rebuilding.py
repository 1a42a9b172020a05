"""A report's file holds every state of its range: rebuilt from it, they are those of a replay."""

import random
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from api.redaction import redact_field, redact_label
from metadata_log.log_reader import LogReader
from replay.image.metadata import MetadataImage
from replay.time_travel.kinds import KINDS
from replay.timeline import Timeline
from tests.real_logs import DataSet, each_data_set
from tests.replay.incidents.real import imported
from tests.replay.report.unpacked import Rebuilt, State, Unpacked, packed_of

SAMPLES = 100


def redacted(image: MetadataImage) -> State:
    """Return an image as the file of a report holds it."""
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
