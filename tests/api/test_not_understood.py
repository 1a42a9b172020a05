"""Commands say how many records this release did not understand, and since when."""

from pathlib import Path

from metadata_log.mirror import MirrorBuilder
from records.configs import FeatureLevelRecord
from tests.api.conftest import Metalog
from tests.replay.builders import batch
from tests.replay.test_not_understood import OF_THE_FUTURE


def mirror_with_unknown_records(directory: Path) -> Path:
    """Write a mirror of 10 batches, with unknown records at offsets 3 and 7."""
    with MirrorBuilder(directory, "kafka-cluster") as builder:
        for offset in range(10):
            level = FeatureLevelRecord(name=f"feature-{offset}", feature_level=1)
            record = OF_THE_FUTURE if offset in (3, 7) else level
            builder.append(batch(offset, record).rows, offset + 1)
        builder.finish(10)
    return directory


def test_answers_say_what_was_not_understood(metalog: Metalog, tmp_path: Path) -> None:
    log = mirror_with_unknown_records(tmp_path / "log")
    assert metalog("image", log, "--at", "2", "--json").json["not_understood"] is None
    found = metalog("image", log, "--json").json["not_understood"]
    assert found == {"records": 2, "first_offset": 3}
    heading = metalog("image", log).out.splitlines()[0]
    assert "2 records not understood, the first at offset 3" in heading


def test_every_answer_about_a_log_says_what_was_not_understood(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = mirror_with_unknown_records(tmp_path / "log")
    for command in (["info"], ["snapshot", "create"], ["snapshot", "list"], ["verify"]):
        document = metalog(*command, log, "--json").json
        assert document["not_understood"] == {"records": 2, "first_offset": 3}, command
    assert metalog("info", log).out.splitlines()[-1] == (
        "2 records not understood, the first at offset 3"
    )


def test_info_of_a_damaged_log_says_that_nothing_was_counted(
    metalog: Metalog, tmp_path: Path
) -> None:
    log = mirror_with_unknown_records(tmp_path / "log")
    segment = max(log.glob("0*.avro"))
    raw = bytearray(segment.read_bytes())
    raw[-40] ^= 1
    segment.write_bytes(bytes(raw))
    answer = metalog("info", log, "--json")
    assert (answer.code, answer.json["log_end"]) == (0, 10)
    assert "not_understood" not in answer.json
    assert f"{segment.name} byte " in answer.json["not_counted"]
    assert "were not counted: " in metalog("info", log).out
