"""Commands report how many records this release did not understand, and where the first one is."""

from pathlib import Path

import msgspec
import pytest

from metadata_log.format.batch import NewBatch
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.kraft_format.names import PARTITION_DIRECTORY, segment_name
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.configs import FeatureLevelRecord
from records.control import UnknownRecord
from records.envelope import Envelope, Extra, UnknownTag
from tests.api.conftest import Answer, Metalog
from tests.metadata_log.kraft.logs import leader_change, rows
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
    """Return the position in a JSON answer; a stream has it in its last line."""
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
        warning = "warning: 2 records not understood, the first at offset 3\n"
        assert (text.err, "not understood, the" in text.out) == (warning, False), question


def test_text_of_a_log_that_is_understood_says_nothing_of_it(
    metalog: Metalog, demo_log: Path
) -> None:
    for question in QUESTIONS:
        if "feature" in question or "snapshot" in question:
            continue
        words = [demo_log if word == "LOG" else word for word in question.split()]
        answer = metalog(*words)
        assert "not understood" not in answer.out + answer.err, question


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
            assert "2 records not understood" in text.err, question
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


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror with a record of an unknown version, one of an unknown type, and an unknown tag in
    two records.
    """
    source = tmp_path / PARTITION_DIRECTORY
    source.mkdir()
    tagged = Extra(unknown_tags=(UnknownTag(path="", tag=300, value=b"new"),))
    levels = [FeatureLevelRecord(name=f"feature-{n}", feature_level=1) for n in range(40)]
    rows_of: list[list[Envelope]] = [rows(0, 1, leader_change())]
    for offset, level in enumerate(levels, 1):
        (row,) = rows(offset, 1, level)
        if offset in (7, 21):
            row = msgspec.structs.replace(row, extra=tagged)
        rows_of.append([row])
    future = UnknownRecord(api_key=2, record_version=77, value=b"\1\2\x4d?")
    rows_of += [rows(41, 1, future), rows(42, 1, OF_THE_FUTURE), rows(43, 1, levels[0])]
    content = b"".join(map(encode_batch, rows_of))
    (source / segment_name(0)).write_bytes(content)
    import_directory(open_directory(source), tmp_path / "mirror")
    return tmp_path / "mirror"


UNKNOWN = [
    ("FeatureLevelRecord version 0, tag 300", 2, 7),
    ("TopicRecord version 77", 1, 41),
    ("type 99 version 0", 1, 42),
]


def test_info_says_what_exactly_was_not_understood(metalog: Metalog, mirror: Path) -> None:
    answer = metalog("info", mirror, "--json").json
    assert answer["not_understood"] == {"records": 4, "first_offset": 7}
    assert answer["unknown"][0] == {
        "type": "FeatureLevelRecord",
        "version": 0,
        "tag": 300,
        "path": "",
        "records": 2,
        "first_offset": 7,
    }
    found = [(kind["type"], kind["version"], kind["tag"]) for kind in answer["unknown"][1:]]
    assert found == [("TopicRecord", 77, None), ("type 99", 0, None)]
    text = metalog("info", mirror)
    for name, records, first in UNKNOWN:
        noun = "record" if records == 1 else "records"
        assert f"not understood  {records} {noun}: {name}, since offset {first}" in text.out


def test_du_counts_what_was_not_understood_by_what_it_is(metalog: Metalog, mirror: Path) -> None:
    found = metalog("du", mirror, "--by", "unknown", "--json").json["rows"]
    assert {(r["name"], r["records"], r["first_offset"]) for r in found} == set(UNKNOWN)
    assert "type 99 version 0" in metalog("du", mirror).out


def test_verify_calls_a_log_whole_that_is_not_understood(metalog: Metalog, mirror: Path) -> None:
    answer = metalog("verify", mirror)
    assert (answer.code, f"{mirror}: whole; " in answer.out) == (0, True)
    assert (answer.err, "not understood" in answer.out) == (
        "warning: 4 records not understood, the first at offset 7\n",
        False,
    )


def test_answers_that_skim_count_unknown_tags_too(metalog: Metalog, mirror: Path) -> None:
    for words in (("history", mirror, "feature:feature-30", "--verbose"), ("info", mirror)):
        assert place_in(metalog(*words, "--json"))["not_understood"] == {
            "records": 4,
            "first_offset": 7,
        }
