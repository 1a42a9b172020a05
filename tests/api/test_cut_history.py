"""Questions about a mirror that begins before its kept history: a checkpoint is in its middle."""

from pathlib import Path

import pytest

from records.control import SnapshotFooterRecord, SnapshotHeaderRecord
from tests.api.conftest import Metalog
from tests.api.questions.asked import AT_POINTS
from tests.api.test_voters import leader_change
from tests.metadata_log.kraft.logs import START_TIME_MS, LogFiles, batch, topic

HEADER = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=START_TIME_MS)


@pytest.fixture
def cut(tmp_path: Path, metalog: Metalog) -> Path:
    """A mirror of offsets 2 to 5, in which the state is known from offset 4 on."""
    files = LogFiles(tmp_path / "node")
    state = batch(0, 2, HEADER), batch(1, 2, topic()), batch(2, 2, SnapshotFooterRecord(version=0))
    files.checkpoint(4, 2, [*state])
    files.segment(2, *(batch(2 + n, 1 + n, leader_change(1)) for n in range(4)))
    log = tmp_path / "log"
    assert metalog("import", "kraft", files.partition, log).code == 0
    return log


def test_every_question_about_the_whole_range_has_an_answer(
    cut: Path, metalog: Metalog, tmp_path: Path
) -> None:
    for of in AT_POINTS.values():
        for words in of:
            known = {
                "LOG": str(cut),
                "FROM": "start",
                "TO": "end",
                "FILE": str(tmp_path / "f.html"),
            }
            known |= {"TOPIC": "topic:topic", "NAME": "topic", "PARTITION": "topic:topic"}
            answer = metalog(*[known.get(word, word) for word in words])
            assert "is unknown: history starts at" not in answer.err, " ".join(words)


def test_check_says_from_where_it_checked(cut: Path, metalog: Metalog) -> None:
    assert metalog("check", cut).out.splitlines()[0] == "no violation from offset 4 up to offset 5"
    assert metalog("check", cut, "--json").json["from"] == 4
    found = metalog("check", cut, "--from", 3, "--expect", "size(topics) == 0", "--json")
    assert found.code == 1
    assert [each["text"] for each in found.json["violations"]]
    assert metalog("bisect", cut, "size(topics) == 1").code == 0
    assert metalog("history", cut, "topic:*").code == 0
