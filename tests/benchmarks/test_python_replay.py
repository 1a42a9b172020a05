"""The peer of questions about a log is a replay by the codec in Python, whichever codec answers."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import python_replay
from benchmarks.codecs import each_codec
from benchmarks.generated_log import write_log
from metadata_log.reader.log_reader import LogReader
from records.avro import compiled
from replay.image.metadata import MetadataImage
from replay.loader import load_image


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogReader]:
    asyncio.run(write_log(tmp_path / "log", 100))
    with LogReader.open(tmp_path / "log") as reader:
        yield reader


def test_the_replay_is_that_of_the_codec_in_python_and_each_codec_answers(
    log: LogReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, codecs, thresholds = compiled.name(), list(each_codec()), gc.get_threshold()
    replays: list[str] = []
    answers: list[str] = []

    def noted(reader: LogReader) -> MetadataImage:
        replays.append(compiled.name())
        return load_image(reader)

    monkeypatch.setattr("benchmarks.python_replay.load_image", noted)
    results = python_replay.compared(
        log, {"size": lambda: answers.append(compiled.name())}, {"size": 0.5}, rounds=2
    )
    assert gc.get_threshold() == thresholds
    assert replays == [compiled.PYTHON] * 2
    assert answers == codecs * 2
    assert compiled.name() == usual
    peer = f"{python_replay.PEER} of {log.end_offset}"
    assert {each.name: each.target for each in results} == {
        f"size ({codec}) / {peer}": 0.5 if codec == usual else None for codec in codecs
    }


def test_questions_are_asked_with_the_garbage_collection_of_commands(log: LogReader) -> None:
    found: list[tuple[int, ...]] = []
    python_replay.compared(log, {"size": lambda: found.append(gc.get_threshold())}, {"size": 1}, 1)
    assert found and min(found)[0] == 50_000
