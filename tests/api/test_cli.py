"""The output of the command line."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from metadata_log.reader.log_reader import LogReader
from replay.image.digest import image_digest
from replay.loader import load_image
from tests.api.conftest import Metalog


def test_help_is_quick_because_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, atexit\n"
        "from api.cli.main import run\n"
        "assert run(['--help']) == 0\n"
        "heavy = {'asyncio', 'pyspark', 'sqlalchemy', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_init_makes_an_empty_log_with_a_cluster_id_of_its_own(
    metalog: Metalog, tmp_path: Path
) -> None:
    first = metalog("init", tmp_path / "a", "--json").json
    second = metalog("init", tmp_path / "b", "--json").json
    assert first["cluster_id"] != second["cluster_id"]
    info = metalog("info", tmp_path / "a", "--json").json
    assert info["cluster_id"] == first["cluster_id"]
    assert (info["kind"], info["log_end"], info["segments"]) == ("own", 0, 1)


def test_init_for_a_release_sets_its_metadata_version_alone(
    metalog: Metalog, tmp_path: Path
) -> None:
    assert metalog("init", tmp_path / "log", "--release-version", "4.0").code == 0
    features = metalog("features", "describe", "--log", tmp_path / "log", "--json").json
    levels = {each["feature"]: each["level"] for each in features["features"] if each["level"]}
    assert levels == {"metadata.version": 25}


def test_init_for_an_unknown_release_makes_no_log(metalog: Metalog, tmp_path: Path) -> None:
    refused = metalog("init", tmp_path / "log", "--release-version", "2.8")
    assert refused.code == 3
    assert "2.8" in refused.err
    assert not (tmp_path / "log").exists()


def test_image_of_an_empty_log_is_empty(metalog: Metalog, tmp_path: Path) -> None:
    metalog("init", tmp_path / "log")
    for point in ("start", "end"):
        answer = metalog("image", tmp_path / "log", "--at", point, "--json")
        assert answer.code == 0
        assert all(objects == [] for objects in answer.json["parts"].values())


def test_same_seed_gives_the_same_log_byte_for_byte(
    metalog: Metalog, tmp_path: Path, demo_log: Path
) -> None:
    made = metalog("demo", tmp_path / "log", "--topics", 20, "--changes", 400, "--json")
    assert made.code == 0
    names = sorted(os.listdir(demo_log))
    assert names == sorted(os.listdir(tmp_path / "log"))
    for name in names:
        assert (tmp_path / "log" / name).read_bytes() == (demo_log / name).read_bytes(), name


def test_a_slow_machine_writes_the_same_demo(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--topics", 3, "--changes", 40)
    metalog("demo", tmp_path / "fast", *options)
    # As if a second passed after each append.
    monkeypatch.setattr("metadata_log.writer.log.MARK_SYNC_INTERVAL_MS", 0)
    metalog("demo", tmp_path / "slow", *options)
    for path in (tmp_path / "fast").iterdir():
        assert (tmp_path / "slow" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_long_demo_ends_with_a_snapshot(
    metalog: Metalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.cli.log.demo_run._SNAPSHOT_FROM", 1)
    for name in ("first", "second"):
        made = metalog("demo", tmp_path / name, "--topics", 3, "--changes", 40, "--json")
    (found,) = metalog("snapshot", "list", tmp_path / "first", "--json").json["snapshots"]
    assert found["end_offset"] == made.json["log_end"]
    for path in (tmp_path / "first").iterdir():
        assert (tmp_path / "second" / path.name).read_bytes() == path.read_bytes(), path.name


def test_another_seed_gives_another_log(metalog: Metalog, tmp_path: Path, demo_log: Path) -> None:
    metalog("demo", tmp_path / "log", "--topics", 20, "--changes", 400, "--seed", 2)
    own = metalog("digest", tmp_path / "log").out
    assert own != metalog("digest", demo_log).out


def test_dump_prints_the_rows_of_a_range(metalog: Metalog, demo_log: Path) -> None:
    lines = metalog("dump", demo_log, "--from", 5, "--to", 9, "--json").lines
    assert [line["offset"] for line in lines] == [5, 6, 7, 8, 9]
    assert list(lines[0]) == [
        "offset",
        "leader_epoch",
        "timestamp",
        "batch_offset",
        "record_version",
        "origin",
        "type",
        "data",
    ]


def test_dump_can_be_limited_to_types_and_to_an_object(metalog: Metalog, demo_log: Path) -> None:
    lines = metalog("dump", demo_log, "--type", "TopicRecord", "--json").lines
    assert {line["type"] for line in lines} == {"TopicRecord"}
    name = lines[0]["data"]["name"]
    only = metalog("dump", demo_log, "--object", f"topic:{name}", "--json").lines
    assert only[0] == lines[0]
    assert {line["data"].get("name", name) for line in only} == {name}


def test_stream_ends_with_the_bounds_of_the_log_when_asked(
    metalog: Metalog, demo_log: Path
) -> None:
    last = metalog("dump", demo_log, "--to", 3, "--json", "--verbose").lines[-1]
    end = metalog("info", demo_log, "--json").json["log_end"]
    assert last == {"end": {"as_of": 3, "history_start": 0, "log_end": end, "not_understood": None}}


def test_image_at_an_offset_a_time_and_an_age(metalog: Metalog, demo_log: Path) -> None:
    row = metalog("dump", demo_log, "--from", 200, "--to", 200, "--json").lines[0]
    by_offset = metalog("digest", demo_log, "--at", 200).out
    seconds = row["timestamp"] / 1_000
    from datetime import UTC, datetime

    time = datetime.fromtimestamp(seconds, UTC).isoformat()
    at_time = metalog("image", demo_log, "--at", time, "--json").json
    assert at_time["as_of"] >= 200
    assert metalog("digest", demo_log, "--at", at_time["as_of"]).code == 0
    assert metalog("image", demo_log, "--at", "1ms", "--json").json["as_of"] > 200
    assert len(by_offset.strip()) == 64


def test_point_inside_a_batch_says_so(metalog: Metalog, demo_log: Path) -> None:
    rows = metalog("dump", demo_log, "--type", "PartitionRecord", "--json").lines
    inside = rows[0]["offset"] - 1
    assert metalog("image", demo_log, "--at", inside, "--json").json["mid_batch"] is True


def test_diff_of_two_points_and_its_exit_code(metalog: Metalog, demo_log: Path) -> None:
    answer = metalog("diff", demo_log, 100, 200, "--json", "--exit-code")
    assert answer.code == 1
    assert {"object", "field", "before", "after"} == set(answer.json["changes"][0])
    objects = len({change["object"] for change in answer.json["changes"]})
    text = metalog("diff", demo_log, 100, 200).out
    assert text.startswith(f"{len(answer.json['changes']):,} differences in {objects} objects ")
    same = metalog("diff", demo_log, 100, 100, "--exit-code")
    assert same.code == 0
    assert "0 differences" in same.out


def test_a_diff_of_many_records_says_that_it_did_not_look_for_what_came_and_went(
    metalog: Metalog, demo_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("api.questions.differences", "replay.time_travel.short_lived"):
        monkeypatch.setattr(f"{module}.RECORDS_MAX", 99)
    assert metalog("diff", demo_log, 100, 199, "--json").json["passed"] == []
    assert "is not listed" not in metalog("diff", demo_log, 100, 199).out
    assert metalog("diff", demo_log, 100, 200, "--json").json["passed"] is None
    text = metalog("diff", demo_log, 100, 200).out
    assert text.splitlines()[-1] == "what came and went is not listed for more than 99 records"


def test_diff_sums_up_by_kind(metalog: Metalog, demo_log: Path) -> None:
    changes = metalog("diff", demo_log, 300, "end", "--json").json["changes"]
    document = metalog("diff", demo_log, 300, "end", "--stat", "--json").json
    text = metalog("diff", demo_log, 300, "end", "--stat").out
    assert document["as_of"] == document["log_end"] - 1
    for row in document["stat"]:
        of_kind = [c for c in changes if c["object"].startswith(f"{row['kind']}:")]
        assert row["fields"] == len(of_kind)
        counted = row["new"] + row["gone"] + row["changed"]
        assert counted == len({change["object"] for change in of_kind})
        assert re.search(
            rf"^{row['kind']} +{row['new']} +{row['gone']} +{row['changed']} ", text, re.M
        )
    # A topic that gets its second config has not got a new object.
    assert {"new", "gone", "changed"} <= {k for row in document["stat"] for k in row if row[k]}


def test_key_that_is_added_to_configs_is_a_change_of_them(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    for config in ("retention.ms=1", "segment.ms=9"):
        metalog("topics", "create", "orders", "--assignment", "1", "--log", log)
        metalog("configs", "set", "topic/orders", config, "--log", log)
    text = metalog("diff", log, "end-1", "end", "--object", "config:topic/orders").out
    assert text.splitlines()[1:] == ["config:topic/orders", "    segment.ms: - -> 9"]


def test_history_and_blame_name_who_did_it_and_why(metalog: Metalog, demo_log: Path) -> None:
    name = metalog("dump", demo_log, "--type", "TopicRecord", "--json").lines[0]["data"]["name"]
    first = metalog("history", demo_log, f"topic:{name}", "--json").lines[0]
    assert first["type"] == "TopicRecord"
    assert first["origin"]["principal"]
    assert {"field", "before", "after"} == set(first["changes"][0])
    text = metalog("history", demo_log, f"topic:{name}").out
    assert first["origin"]["principal"] in text
    at = first["offset"]
    fields = metalog("blame", demo_log, f"topic:{name}", "--at", at, "--json").json["fields"]
    assert fields["name"]["offset"] == at
    assert fields["name"]["origin"] == first["origin"]
    assert fields["name"]["known"] is True


def test_digest_by_snapshot_equals_that_by_replay(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    assert "snapshot create" in metalog("digest", log, "--by", "snapshot").err
    made = metalog("snapshot", "create", log, "--at", 150, "--json").json
    assert made["digest"] == metalog("digest", log, "--at", 150).out.strip()
    for at in ("150", "151", "end"):
        by_snapshot = metalog("digest", log, "--at", at, "--by", "snapshot").out
        assert by_snapshot == metalog("digest", log, "--at", at).out


def test_digest_by_snapshot_is_not_that_of_replay_when_no_snapshot_can_be_used(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    metalog("snapshot", "create", log, "--at", 150)
    with sqlite3.connect(log / "snapshots.db") as database:
        database.execute("UPDATE snapshot_chunk SET content = x''")
    answer = metalog("digest", log, "--by", "snapshot")
    assert (answer.code, answer.out) == (3, "")
    assert "error: SNAPSHOT_NOT_FOUND: there is no usable snapshot" in answer.err


def test_a_snapshot_inside_a_batch_says_so_and_names_the_end_of_the_batch(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    with LogReader.open(log) as reader:
        long = next(batch for batch in reader.batches(100) if len(batch.rows) > 2)
    text = metalog("snapshot", "create", log, "--at", long.base_offset).out
    assert f"inside a batch: `outages` does not start from it; --at {long.end_offset - 1}" in text
    made = metalog("snapshot", "create", log, "--at", long.end_offset - 1, "--json").json
    assert "mid_batch" not in made
    assert "inside a batch" not in metalog("snapshot", "create", log, "--at", "end").out
    shown = metalog("snapshot", "show", log, long.base_offset + 1, "--json").json
    assert shown["mid_batch"] is True


def test_snapshots_are_listed_shown_and_pruned(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    for at in (100, 150, 200):
        metalog("snapshot", "create", log, "--at", at)
    listed = metalog("snapshot", "list", log, "--json").json["snapshots"]
    assert [info["end_offset"] for info in listed] == [101, 151, 201]
    shown = metalog("snapshot", "show", log, 151, "--json").json
    assert shown["digest"] == metalog("digest", log, "--at", 150).out.strip()
    assert metalog("snapshot", "show", log, 7).code == 3
    pruned = metalog("snapshot", "prune", log, "--keep", 1, "--json").json
    assert (pruned["deleted"], pruned["left"]) == (2, 1)
    assert (pruned["as_of"], pruned["history_start"]) == (pruned["log_end"] - 1, 0)


def test_digest_of_the_command_is_that_of_the_library(metalog: Metalog, demo_log: Path) -> None:
    with LogReader.open(demo_log) as reader:
        assert metalog("digest", demo_log).out.strip() == image_digest(load_image(reader))


@pytest.mark.parametrize("group", [[], ["snapshot"], ["import"]])
def test_group_without_a_command_prints_its_help_as_it_is(
    metalog: Metalog, group: list[str]
) -> None:
    answer = metalog(*group)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("Usage: metalog")
    assert ("\nCommands:\n" if group else "\nMake a log:\n") in answer.err


def test_first_record_of_a_range_is_the_first_kept_one_at_start(
    metalog: Metalog, demo_log: Path
) -> None:
    for point in ("start", "0", "1999-12-31T00:00:00Z"):
        lines = metalog("dump", demo_log, "--from", point, "--to", 2, "--json").lines
        assert [line["offset"] for line in lines] == [0, 1, 2]


def test_image_of_an_empty_log_says_so_in_text(metalog: Metalog, tmp_path: Path) -> None:
    metalog("init", tmp_path / "log")
    assert metalog("image", tmp_path / "log").out.startswith("the log is empty: ")


def test_a_snapshot_changes_no_answer(metalog: Metalog, demo_log: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    shutil.copytree(demo_log, log)
    end = metalog("info", log, "--json").json["log_end"]
    topic = metalog("dump", log, "--type", "TopicRecord", "--json").lines[0]["data"]["name"]
    asked = [
        ["image", log, "--json"],
        ["image", log, "--at", end - 5, "--json"],
        ["image", log, "--at", 100, "--json"],
        ["diff", log, "100", "end", "--json"],
        ["blame", log, f"partition:{topic}/0", "--json"],
        ["history", log, f"partition:{topic}/0", "--json"],
        ["digest", log],
    ]
    before = [metalog(*arguments) for arguments in asked]
    assert metalog("snapshot", "create", log, "--at", end - 4).code == 0
    after = [metalog(*arguments) for arguments in asked]
    assert after == before
