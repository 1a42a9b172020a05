"""Commands say how many records this release did not understand, and since when."""

from pathlib import Path

import pytest

from metadata_log.batch import NewBatch
from metadata_log.creation import create_log
from metadata_log.log import MetadataLog
from records.configs import FeatureLevelRecord
from tests.api.conftest import Answer, Metalog
from tests.own_logs import SteadyClock
from tests.replay.test_not_understood import OF_THE_FUTURE

QUESTIONS = (
    "image LOG",
    "image LOG --part features",
    "digest LOG",
    "du LOG",
    "diff LOG start end",
    "diff LOG start end --stat",
    "diff LOG start end --object feature:feature-1",
    "blame LOG feature:feature-1",
    "history LOG feature:feature-1 --verbose",
    "dump LOG --verbose",
    "dump LOG --from 10 --verbose",
    "tail LOG --from 0 --count 1 --verbose",
    "timeline LOG",
    "timeline LOG --stat",
    "outages LOG",
    "info LOG",
    "verify LOG",
    "snapshot create LOG",
    "snapshot list LOG",
    "snapshot show LOG 12",
    "topics list --log LOG",
    "partitions states --log LOG --verbose",
    "partitions list --log LOG",
    "brokers list --log LOG",
    "features describe --log LOG",
    "namespaces list --log LOG",
    "configs describe cluster --log LOG",
    "users list --log LOG",
    "acls list --log LOG",
    "quotas describe --log LOG",
    "tokens describe --log LOG",
    "reassignments list --log LOG",
    "subscriptions list --log LOG",
)
COUNTED = {"records": 2, "first_offset": 3}


@pytest.fixture
async def log(tmp_path: Path) -> Path:
    """A log of three segments, with unknown records in the first and the last one."""
    create_log(tmp_path / "log", "test-cluster")
    for first in (0, 4, 8):
        log = await MetadataLog.open(tmp_path / "log", clock=SteadyClock())
        for offset in range(first + 1, first + 4):
            level = FeatureLevelRecord(name=f"feature-{offset}", feature_level=1)
            record = OF_THE_FUTURE if offset in (3, 9) else level
            assert (await log.append(NewBatch(records=(record,)))).base_offset == offset
        await log.close()
    return tmp_path / "log"


def damage(log: Path) -> str:
    """Flip a bit in the second segment; return its name."""
    _, segment, _ = sorted(log.glob("0*.avro"))
    raw = bytearray(segment.read_bytes())
    raw[-40] ^= 1
    segment.write_bytes(bytes(raw))
    return segment.name


def place_in(answer: Answer) -> dict[str, object]:
    """Return what an answer in JSON says of its position; a stream does it in its last line."""
    if answer.out.startswith("{\n"):
        document: dict[str, object] = answer.json
        return document
    last: dict[str, object] = answer.lines[-1]["end"]
    return last


def test_image_counts_up_to_its_point(metalog: Metalog, log: Path) -> None:
    assert metalog("image", log, "--at", "2", "--json").json["not_understood"] is None
    found = metalog("image", log, "--at", "6", "--json").json["not_understood"]
    assert found == {"records": 1, "first_offset": 3}


def test_every_answer_says_what_was_not_understood(metalog: Metalog, log: Path) -> None:
    for question in QUESTIONS:
        words = [log if word == "LOG" else word for word in question.split()]
        assert place_in(metalog(*words, "--json"))["not_understood"] == COUNTED, question
        text = metalog(*words)
        assert text.code == 0, question
        assert "2 records not understood, the first at offset 3" in text.out, question


def test_text_of_a_log_that_is_understood_says_nothing_of_it(
    metalog: Metalog, demo_log: Path
) -> None:
    for question in QUESTIONS:
        if "feature" in question or "snapshot" in question:
            continue
        words = [demo_log if word == "LOG" else word for word in question.split()]
        assert "not understood" not in metalog(*words).out, question


def test_answer_about_a_damaged_log_counts_or_says_why_not(metalog: Metalog, log: Path) -> None:
    """With a snapshot after the damage, many questions are answered without the damaged block."""
    assert metalog("snapshot", "create", log).code == 0
    damaged = damage(log)
    answered = 0
    for question in QUESTIONS:
        words = [log if word == "LOG" else word for word in question.split()]
        answer, text = metalog(*words, "--json"), metalog(*words)
        assert answer.code == text.code, question
        if answer.code == 5:
            assert f"{damaged} byte " in answer.err, question
            continue
        answered += 1
        place = place_in(answer)
        if "not_counted" in place:
            assert "not_understood" not in place, question
            assert "not understood were not counted: " in text.out, question
        else:
            assert place["not_understood"] == COUNTED, question
            assert "2 records not understood" in text.out, question
    assert answered > 15


@pytest.mark.parametrize("question", ["info LOG", "verify LOG", "dump LOG --from 10 --verbose"])
def test_answer_that_cannot_be_counted_names_the_reason(
    metalog: Metalog, log: Path, question: str
) -> None:
    damaged = damage(log)
    words = [log if word == "LOG" else word for word in question.split()]
    answer = metalog(*words, "--json")
    place = place_in(answer)
    assert (answer.code, place["log_end"]) == (int("verify" in question), 12)
    assert "not_understood" not in place
    reason = "a damaged log is not replayed" if "verify" in question else f"{damaged} byte "
    assert reason in str(place["not_counted"])
    assert "were not counted: " in metalog(*words).out
