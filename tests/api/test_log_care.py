"""verify, repair, backup, restore, archive, retain: output and exit codes."""

import asyncio
import datetime
import json
import os
import pty
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.api.conftest import Metalog
from tests.forked_commands import BARS_AT_ONCE, METALOG
from tests.own_logs import content, write_history


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of five epochs, written once; tests must not change it."""
    directory = tmp_path_factory.mktemp("care") / "log"
    return asyncio.run(write_history(directory, seed=5, batches=40))


@pytest.fixture
def log(written: Path, tmp_path: Path) -> Path:
    return shutil.copytree(written, tmp_path / "log")


def segments(log: Path) -> list[Path]:
    return sorted(path for path in log.glob("*.avro") if "checkpoint" not in path.name)


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)


def test_verify_of_a_whole_log_says_so_with_its_digest(metalog: Metalog, log: Path) -> None:
    answer = metalog("verify", log, "--json")
    assert answer.code == 0
    document = answer.json
    assert document["damage"] == document["notes"] == []
    assert document["digest"] == metalog("digest", log).out.strip()
    assert (document["as_of"], document["history_start"]) == (document["log_end"] - 1, 0)
    assert "whole" in metalog("verify", log).out


def test_verify_of_a_damaged_log_lists_all_of_it_and_exits_1(metalog: Metalog, log: Path) -> None:
    for path in segments(log)[1:3]:
        damage(path)
    answer = metalog("verify", log, "--json")
    assert answer.code == 1
    assert [d["file"] for d in answer.json["damage"]] == [p.name for p in segments(log)[1:3]]
    assert all(d["byte"] > 0 and d["from_offset"] > 0 for d in answer.json["damage"])
    assert answer.json["digest"] is None
    text = metalog("verify", log)
    assert text.code == 1
    assert text.out.count("damage: ") == 2
    assert "metalog repair" in text.out


def test_verify_of_no_log_is_refused(metalog: Metalog, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "none"):
        answer = metalog("verify", place)
        assert answer.code == 3
        assert "LOG_NOT_FOUND" in answer.err


def test_repair_says_exactly_what_is_lost(metalog: Metalog, log: Path, tmp_path: Path) -> None:
    damage(segments(log)[2])
    end = metalog("info", log, "--json").json["log_end"]
    before = content(log)
    answer = metalog("repair", log, tmp_path / "copy", "--json")
    assert answer.code == 1
    assert content(log) == before
    document = answer.json
    assert not document["complete"]
    assert document["lost_offsets"] == end - document["log_end"]
    assert document["lost"][0]["file"] == segments(log)[2].name
    assert metalog("verify", tmp_path / "copy").code == 0
    assert metalog("digest", tmp_path / "copy").out.strip() == document["digest"]
    text = metalog("repair", log, tmp_path / "again")
    assert f"LOST: {document['lost_offsets']} acknowledged offsets" in text.out


def test_repair_that_loses_nothing_exits_0(metalog: Metalog, log: Path, tmp_path: Path) -> None:
    (log / "commit.mark").unlink()
    assert metalog("info", log).code == 5
    answer = metalog("repair", log, tmp_path / "copy")
    assert answer.code == 0
    assert "nothing that was acknowledged is lost" in answer.out
    assert metalog("verify", tmp_path / "copy").code == 0


def test_backup_and_restore_by_way_of_s3(
    metalog: Metalog, log: Path, tmp_path: Path, s3_place: str
) -> None:
    made = metalog("backup", log, s3_place, "--json").json
    assert made["previous_end_offset"] is None
    assert metalog("backup", log, s3_place, "--json").json["files"] == []
    there, here = metalog("verify", s3_place, "--json").json, metalog("verify", log, "--json").json
    assert there["damage"] == []
    assert there["digest"] == here["digest"]
    restored = metalog("restore", s3_place, tmp_path / "copy", "--at", 100, "--json").json
    assert restored["as_of"] == 100
    expected = metalog("digest", log, "--at", 100).out.strip()
    assert restored["digest"] == expected == metalog("digest", tmp_path / "copy").out.strip()


def test_restore_to_a_time_ends_before_the_first_later_record(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    metalog("backup", log, tmp_path / "backup")
    row = metalog("dump", log, "--from", 90, "--to", 90, "--json").lines[0]
    time = datetime.datetime.fromtimestamp(row["timestamp"] / 1_000, datetime.UTC).isoformat()
    asked = metalog("image", log, "--at", time, "--json").json["as_of"]
    restored = metalog("restore", tmp_path / "backup", tmp_path / "copy", "--at", time, "--json")
    assert restored.json["as_of"] == asked
    assert "mid_batch" not in restored.json


def test_restore_to_an_offset_of_the_tail_and_past_its_end(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    expected = {at: metalog("digest", log, "--at", at).out.strip() for at in (50, 120)}
    metalog("archive", log, tmp_path / "cold")
    assert metalog("retain", log, "--before", 90).code == 0
    for at, digest in expected.items():
        made = metalog(
            "restore", tmp_path / "cold", tmp_path / f"to-{at}", "--tail", log, "--at", at, "--json"
        )
        assert (made.json["as_of"], made.json["digest"]) == (at, digest)
    past = metalog("restore", tmp_path / "cold", tmp_path / "no", "--tail", log, "--at", 128)
    assert past.code == 3
    assert "the log ends at 128 (exclusive)" in past.err


def test_restore_inside_a_batch_says_so_and_names_its_ends(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    rows = metalog("dump", log, "--json").lines
    at = next(a["offset"] for a, b in pairwise(rows) if a["batch_offset"] == b["batch_offset"])
    metalog("backup", log, tmp_path / "backup")
    document = metalog("restore", tmp_path / "backup", tmp_path / "one", "--at", at, "--json").json
    assert document["mid_batch"] is True
    cut = document["cut_batch"]
    assert cut["base_offset"] <= at < cut["end"] - 1
    text = metalog("restore", tmp_path / "backup", tmp_path / "two", "--at", at).out
    assert f"restore --at {cut['base_offset'] - 1} or {cut['end'] - 1}" in text


def test_restore_never_writes_over_a_log(metalog: Metalog, log: Path, tmp_path: Path) -> None:
    metalog("backup", log, tmp_path / "backup")
    answer = metalog("restore", tmp_path / "backup", log)
    assert answer.code == 3
    assert "LOG_EXISTS" in answer.err


def test_only_archived_segments_are_dropped_by_default(
    metalog: Metalog, log: Path, tmp_path: Path, s3_place: str
) -> None:
    base = int(segments(log)[2].stem)
    refused = metalog("retain", log, "--before", base)
    assert refused.code == 3
    assert "NOT_ARCHIVED" in refused.err
    assert metalog("archive", log, s3_place).code == 0
    whole = metalog("digest", log).out
    done = metalog("retain", log, "--before", base, "--json")
    assert done.code == 0
    assert done.json["history_start"] == base
    assert done.json["dropped_segments"] == 2
    assert metalog("digest", log).out == whole
    assert metalog("verify", log).code == 0
    full = tmp_path / "full"
    assert metalog("restore", s3_place, full, "--tail", log).code == 0
    assert metalog("digest", full).out == whole
    assert metalog("info", full, "--json").json["history_start"] == 0


def test_offset_counted_back_from_the_end_names_the_record_to_keep(
    metalog: Metalog, log: Path
) -> None:
    earlier, base = [int(path.stem) for path in segments(log)[1:3]]
    last = metalog("info", log, "--json").json["as_of"]
    for keep, start in ((base - 1, earlier), (base, base)):
        done = metalog(
            "retain", log, "--before", f"end-{last - keep}", "--without-archive", "--json"
        )
        assert done.json["history_start"] == start


def test_what_lies_below_the_start_is_unknown_and_never_absent(metalog: Metalog, log: Path) -> None:
    base = int(segments(log)[2].stem)
    metalog("snapshot", "create", log, "--at", base - 20)
    assert metalog("retain", log, "--before", base, "--without-archive").code == 0
    time = "2000-01-01T00:00:00Z"
    for arguments in (
        ["image", log, "--at", base - 2],
        ["image", log, "--at", time],
        ["digest", log, "--at", base - 2],
        ["digest", log, "--at", base - 20, "--by", "snapshot"],
        ["dump", log, "--from", base - 2],
        ["diff", log, base - 5, base],
        ["blame", log, "broker:1", "--at", base - 2],
        ["restore", log, log.with_name("copy"), "--at", base - 2],
    ):
        answer = metalog(*arguments)
        assert answer.code == 3, arguments
        assert f"history starts at {base}" in answer.err or (
            f"history starts at offset {base}" in answer.err
        ), (arguments, answer.err)
    history = metalog("history", log, "broker:1", "--json", "--verbose")
    assert (history.code, history.out) == (3, "")
    error = json.loads(history.err)
    assert error["code"] == "UNKNOWN_HISTORY"
    assert error["message"].startswith("broker:1 ")
    assert f"history starts at {base}" in history.err


def test_retain_by_age_and_by_offset_that_drop_nothing_say_so(metalog: Metalog, log: Path) -> None:
    for before in ("36500d", "0", "start", "3"):
        answer = metalog("retain", log, "--before", before, "--without-archive")
        assert answer.code == 0, before
        assert "nothing to drop, history starts at 0" in answer.out
    assert metalog("info", log, "--json").json["history_start"] == 0


def test_backup_of_a_retained_log_keeps_the_history_it_had(
    metalog: Metalog, log: Path, tmp_path: Path
) -> None:
    metalog("backup", log, tmp_path / "backup")
    metalog("retain", log, "--before", int(segments(log)[3].stem), "--without-archive")
    answer = metalog("backup", log, tmp_path / "backup", "--json")
    assert answer.code == 0
    assert answer.json["start_offset"] == 0
    assert metalog("info", tmp_path / "backup", "--json").json["history_start"] == 0
    assert metalog("backup", log, tmp_path / "later", "--json").json["start_offset"] > 0
    assert metalog("verify", tmp_path / "later").code == 0
    assert metalog("digest", tmp_path / "later").out == metalog("digest", log).out


def test_progress_goes_to_a_terminal_only(log: Path, tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    command = [*METALOG, "backup", str(log), str(tmp_path / "backup")]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=follower,
        check=True,
        timeout=60,
        text=True,
        env={**os.environ, "TERM": "xterm", BARS_AT_ONCE: "1"},
    )
    os.close(follower)
    shown = os.read(leader, 65_536).decode(errors="replace")
    os.close(leader)
    assert "copying" in shown
    assert "copying" not in done.stdout
    quiet = subprocess.run(
        [*command[:-1], str(tmp_path / "other")], capture_output=True, check=True, timeout=60
    )
    assert quiet.stderr == b""


def test_place_that_cannot_be_meant_is_refused(
    metalog: Metalog, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the path is empty" in metalog("verify", "").err
    assert "the path is empty" in metalog("backup", log, "").err
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    refused = metalog("verify", "s3://bucket/log")
    assert refused.code == 3
    assert "no credentials; set AWS_ACCESS_KEY_ID" in refused.err
