"""`metalog import kraft`: what it prints, and what it refuses without leaving files behind."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.generate_kraft import generate
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft_format.batch_codec import encode_batch
from metadata_log.kraft_format.names import LEADER_EPOCHS, META_PROPERTIES
from tests.api.conftest import Metalog
from tests.metadata_log.kraft.logs import leader_change

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 3,000 records in several segments; tests must not change it."""
    directory = tmp_path_factory.mktemp("kraft")
    return generate(directory, records=3_000, segment_size_bytes=60_000)


@pytest.fixture
def source(generated: Path, tmp_path: Path) -> Path:
    """A copy of the log that tests may damage."""
    return shutil.copytree(generated, tmp_path / "source" / generated.name)


def segments(source: Path) -> list[Path]:
    return sorted(source.glob("*.log"))


def test_import_reports_what_it_found(metalog: Metalog, source: Path, tmp_path: Path) -> None:
    answer = metalog("import", "kraft", source, tmp_path / "log", "--json")
    assert answer.code == 0
    report = answer.json
    assert set(report) == {
        "records",
        "first_offset",
        "last_offset",
        "committed_end_offset",
        "trailing_bytes",
        "unknown_records",
        "by_type",
        "replaced",
        "source_end",
        "as_of",
        "history_start",
        "log_end",
        "not_understood",
        "confirmed_end",
    }
    assert (report["records"], report["first_offset"], report["last_offset"]) == (3_000, 0, 2_999)
    assert sum(report["by_type"].values()) == 3_000
    assert report["committed_end_offset"] == 0
    info = metalog("info", tmp_path / "log", "--json").json
    assert (info["kind"], info["log_end"], info["confirmed_end"]) == ("mirror", 3_000, 0)


def test_import_says_to_people_what_is_not_confirmed(
    metalog: Metalog, source: Path, tmp_path: Path
) -> None:
    assert "not confirmed" in metalog("import", "kraft", source, tmp_path / "log").out
    assert "not confirmed from offset 0 on" in metalog("image", tmp_path / "log").out


def test_directory_with_only_a_checkpoint_is_a_state_without_a_history(
    metalog: Metalog, source: Path, tmp_path: Path
) -> None:
    log, exported = tmp_path / "log", tmp_path / "exported" / source.name
    assert metalog("import", "kraft", source, log).code == 0
    exported.parent.mkdir()
    assert metalog("export", "kraft", log, exported, "--as", "checkpoint").code == 0
    last = metalog("info", log, "--json").json["log_end"] - 1
    for told in (metalog("import", "kraft", exported, tmp_path / "state") for _ in range(2)):
        assert told.code == 0
        assert f"state has the checkpoint at {last + 1}, and no records" in told.out
        assert f"the directory has no segments: the state at offset {last} is known" in told.out
    image = metalog("image", tmp_path / "state").out
    assert image.startswith(
        f"as of offset {last}, by the base checkpoint (the log holds no records)"
    )


def test_parent_directory_is_taken_too(metalog: Metalog, source: Path, tmp_path: Path) -> None:
    answer = metalog("import", "kraft", source.parent, tmp_path / "log", "--json")
    assert answer.json["records"] == 3_000


def test_kept_and_collapsed_noops_give_the_same_state(
    metalog: Metalog, source: Path, tmp_path: Path
) -> None:
    for noop in ("keep", "collapse"):
        assert metalog("import", "kraft", source, tmp_path / noop, "--noop", noop).code == 0
    for at in ("17", "1500", "end"):
        kept = metalog("digest", tmp_path / "keep", "--at", at).out
        assert kept == metalog("digest", tmp_path / "collapse", "--at", at).out
    kept_rows = metalog("dump", tmp_path / "keep", "--json").lines
    assert [row["offset"] for row in kept_rows] == list(range(3_000))


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_incomplete_last_batch_is_normal_and_reported(
    metalog: Metalog, source: Path, tmp_path: Path, cut: int
) -> None:
    last = segments(source)[-1]
    whole = list(open_directory(source).batches())
    last.write_bytes(last.read_bytes()[:-cut])
    answer = metalog("import", "kraft", source, tmp_path / "log", "--json")
    assert answer.code == 0
    assert answer.json["trailing_bytes"] == whole[-1].size - cut
    assert answer.json["last_offset"] == whole[-2].end_offset - 1
    strict = metalog("import", "kraft", source, tmp_path / "strict", "--strict", "--json")
    assert strict.code == 5
    assert strict.json == answer.json


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def remove_a_batch(source: Path) -> None:
    path = segments(source)[0]
    batches = [b for b in open_directory(source).batches() if b.end_offset < 300]
    first, second = batches[10], batches[11]
    data = path.read_bytes()
    path.write_bytes(data[: first.position] + data[second.position :])


def checkpoint_without_footer(source: Path) -> None:
    # The first batch of a segment is no header, and nothing here is a footer.
    data = segments(source)[0].read_bytes()
    (source / "00000000000000000500-0000000001.checkpoint").write_bytes(data[:500])


DAMAGES: dict[str, tuple[Damage, str]] = {
    "a cut in an earlier segment": (
        lambda s: segments(s)[0].write_bytes(segments(s)[0].read_bytes()[:-30]),
        r"\.log byte \d+: ",
    ),
    "a missing segment": (lambda s: segments(s)[1].unlink(), r"\.log byte 0: "),
    "a missing first segment": (lambda s: segments(s)[0].unlink(), r"\.log byte 0: "),
    "a gap": (remove_a_batch, r"\.log byte \d+: "),
    "a flipped bit in a record": (lambda s: flip(segments(s)[0], 300), r"\.log byte \d+: "),
    "a flipped bit in the last segment": (
        lambda s: flip(segments(s)[-1], segments(s)[-1].stat().st_size - 5),
        r"\.log byte \d+: ",
    ),
    "a wrong magic": (lambda s: flip(segments(s)[0], 16), r"\.log byte 0: .*magic"),
    "a checkpoint without footer": (checkpoint_without_footer, r"\.checkpoint byte \d+: "),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_one_line_with_file_and_byte_and_leaves_nothing(
    metalog: Metalog, source: Path, tmp_path: Path, name: str
) -> None:
    damage, place = DAMAGES[name]
    damage(source)
    before = sorted(os.listdir(tmp_path))
    answer = metalog("import", "kraft", source, tmp_path / "log")
    assert answer.code == 5
    assert re.match(r"error: CORRUPT: .*" + place, answer.err), answer.err
    assert answer.err.count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == before


def test_folder_that_is_no_metadata_log_is_refused(metalog: Metalog, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    answer = metalog("import", "kraft", tmp_path / "photos", tmp_path / "log")
    assert answer.code == 3
    assert "photos" in answer.err
    assert sorted(os.listdir(tmp_path)) == ["photos"]


def test_segment_that_was_cleaned_away_meanwhile_says_try_again(
    metalog: Metalog, tmp_path: Path
) -> None:
    node = tmp_path / "node"
    node.mkdir()
    # Listed, and gone when it is looked at.
    (node / "00000000000000000000.log").symlink_to(node / "gone")
    answer = metalog("import", "kraft", node, tmp_path / "log")
    assert answer.code == 4
    assert "Kafka removed it meanwhile; open the folder again" in answer.err
    assert not (tmp_path / "log").exists()


def test_import_never_writes_over_a_log(metalog: Metalog, source: Path, tmp_path: Path) -> None:
    metalog("init", tmp_path / "log")
    before = sorted(path.read_bytes() for path in (tmp_path / "log").iterdir())
    again = metalog("import", "kraft", source, tmp_path / "log")
    assert again.code == 3
    assert again.err.startswith("error: LOG_EXISTS: ")
    assert sorted(path.read_bytes() for path in (tmp_path / "log").iterdir()) == before


def test_second_import_brings_the_mirror_up_to_date(
    metalog: Metalog, source: Path, tmp_path: Path
) -> None:
    last = segments(source)[-1]
    whole = last.read_bytes()
    ends = [b.position for b in open_directory(source).batches() if b.base_offset > 2_950]
    last.write_bytes(whole[: ends[0]])
    first = metalog("import", "kraft", source, tmp_path / "log", "--json").json
    last.write_bytes(whole)
    second = metalog("import", "kraft", source, tmp_path / "log", "--json").json
    assert first["records"] + second["records"] == 3_000
    assert (second["first_offset"], second["last_offset"]) == (first["last_offset"] + 1, 2_999)
    assert second["replaced"] is None
    metalog("import", "kraft", source, tmp_path / "once")
    assert metalog("digest", tmp_path / "log").out == metalog("digest", tmp_path / "once").out
    third = metalog("import", "kraft", source, tmp_path / "log")
    assert third.out.startswith("imported 0 records into ")


def test_records_that_kafka_replaced_are_named_and_snapshots_of_them_not_used(
    metalog: Metalog, source: Path, tmp_path: Path
) -> None:
    metalog("import", "kraft", source, tmp_path / "log")
    assert metalog("snapshot", "create", tmp_path / "log").code == 0
    last = segments(source)[-1]
    batch = next(b for b in open_directory(source).batches() if b.base_offset > 2_950)
    other = encode_batch(
        [
            replace(row, leader_epoch=row.leader_epoch + 1, payload=leader_change())
            for row in batch.rows[:1]
        ]
    )
    last.write_bytes(last.read_bytes()[: batch.position] + other)
    (source / LEADER_EPOCHS).unlink()
    text = metalog("import", "kraft", source, tmp_path / "log").out
    assert f"offsets {batch.base_offset} to 2999, from leader epoch " in text
    assert "Kafka has replaced them" in text
    info = metalog("info", tmp_path / "log", "--json").json
    assert info["log_end"] == batch.base_offset + 1
    metalog("import", "kraft", source, tmp_path / "once")
    assert metalog("digest", tmp_path / "log").out == metalog("digest", tmp_path / "once").out


def test_source_of_another_cluster_is_refused(
    metalog: Metalog, source: Path, tmp_path: Path
) -> None:
    metalog("import", "kraft", source, tmp_path / "log")
    (source.parent / META_PROPERTIES).write_text("cluster.id=another\n")
    answer = metalog("import", "kraft", source, tmp_path / "log")
    assert answer.code == 3
    assert answer.err.startswith("error: INCONSISTENT_CLUSTER_ID: ")
