"""Answers say who asked for what a broker or the controller did."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import run
from api.questions.past import Past
from api.questions.report import ShowReport, report_shown
from metadata_log.format.batch import NewBatch
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.text import uuid_text
from tests.api.isolation.worlds import CLUSTER_ID
from tests.replay.asked_log import asked_log, who_asked
from tests.replay.builders import uid
from tests.replay.report.unpacked import Unpacked

FIRST = 1
"""Offset of the first record after that of the new log's own."""


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A log whose requests are carried out by others."""

    async def write() -> None:
        create_log(tmp_path / "log", CLUSTER_ID)
        log = await MetadataLog.open(tmp_path / "log")
        for batch in asked_log():
            origin = batch.rows[0].origin
            await log.append(
                NewBatch(records=tuple([row.payload for row in batch.rows]), origin=origin)
            )
        await log.close()

    asyncio.run(write())
    return str(tmp_path / "log")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 0
    return capsys.readouterr().out


def events(capsys: pytest.CaptureFixture[str], log: str, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told(capsys, "history", log, name, "--json").splitlines()]


@pytest.mark.parametrize("is_indexed", [False, True])
def test_history_of_every_object_and_of_patterns_says_who_asked(
    log: str, capsys: pytest.CaptureFixture[str], is_indexed: bool
) -> None:
    if is_indexed:
        told(capsys, "snapshot", "create", log, "--at", "25")
        told(capsys, "sql", "sync", log)
    found: dict[int, set[str]] = {}
    for kind in ("partition", "removal", "deletion"):
        for event in events(capsys, log, f"{kind}:*"):
            asked = event.get("asked")
            single = event["object"]
            (same,) = [e for e in events(capsys, log, single) if e["offset"] == event["offset"]]
            assert same == {name: value for name, value in event.items() if name != "object"}
            if asked is not None:
                assert asked["offset"] < event["offset"]
                who = asked["origin"]["principal"].removeprefix("User:")
                found.setdefault(event["offset"], set()).add(who)
    assert found == {FIRST + offset: set(who.split()) for offset, who in who_asked().items()}


def test_each_step_says_who_asked(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    for event in events(capsys, log, "partition:orders/2"):
        for step, point in (("--next", event["offset"] - 1), ("--prev", event["offset"] + 1)):
            arguments = ["history", log, "partition:orders/2", step, str(point), "--json"]
            if point >= 0:
                assert json.loads(told(capsys, *arguments)) == event


def test_text_says_it_in_a_few_words(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "history", log, "removal:orders/2")
    (removed,) = [line for line in text.splitlines() if "RemovePartitionsRecord" in line]
    (asked,) = [e["asked"] for e in events(capsys, log, "removal:orders/2") if "asked" in e]
    assert removed.endswith(
        "by User:broker-1 topics alter (broker-1 said so), "
        f"asked by User:eve topics alter (eve said so) at offset {asked['offset']}"
    )
    # eve's own record needs no such words.
    text = told(capsys, "history", log, "partition:orders/2")
    asked_lines = [line for line in text.splitlines() if "asked by" in line]
    assert [line.split(" by ")[1].split()[0] for line in asked_lines] == [
        "User:controller",
        "User:broker-1",
    ]


def test_blame_says_who_asked(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "partition:orders/0"
    fields = json.loads(told(capsys, "blame", log, name, "--json"))["fields"]
    assert fields["replicas"]["origin"]["principal"] == "User:broker-2"
    assert fields["replicas"]["asked"]["origin"]["principal"] == "User:dan"
    assert fields["replicas"]["asked"]["type"] == "PartitionChangeRecord"
    assert "asked" not in fields["leader"]
    text = told(capsys, "blame", log, name)
    (line,) = [line for line in text.splitlines() if line.startswith("replicas")]
    offset = fields["replicas"]["asked"]["offset"]
    assert f", asked by User:dan topics alter (dan said so) at offset {offset}" in line


def test_deletion_of_a_replica_after_its_topic_was_asked_for_by_who_deleted_that(
    log: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = events(capsys, log, f"deletion:@{uuid_text(uid('sales'))}/1/1")
    assert [event["asked"]["origin"]["principal"] for event in found] == ["User:eve", "User:hal"]
    assert [event["asked"]["type"] for event in found] == [
        "DeleteTopicPartitionsRecord",
        "RemoveTopicRecord",
    ]


@pytest.mark.parametrize("field", ["leader", "isr", "mode", "replicas", "removing_replicas"])
def test_why_says_it_as_history_does(
    log: str, capsys: pytest.CaptureFixture[str], field: str
) -> None:
    by_offset: dict[int, dict[str, Any]] = {}
    linked = 0
    for name in ("orders/0", "orders/1"):
        for event in events(capsys, log, f"partition:{name}"):
            by_offset[event["offset"]] = event
            arguments = [log, f"partition:{name}#{field}", "--at", str(event["offset"])]
            if event["changes"][0]["after"] is None:
                continue
            for link in json.loads(told(capsys, "why", *arguments, "--json"))["chain"]:
                asked = by_offset[link["offset"]].get("asked")
                if asked is None:
                    assert "asked" not in link
                    continue
                linked += 1
                principal, reason = asked["origin"]["principal"], asked["origin"]["reason"]
                assert link["asked"] == {
                    "offset": asked["offset"],
                    "principal": principal,
                    "reason": reason,
                }
                text = told(capsys, "why", *arguments)
                assert f"by {link['principal']}  asked by {principal} at offset " in text
    assert linked > 0 or field == "leader"


def test_timeline_and_report_say_it(
    log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = json.loads(told(capsys, "timeline", log, "--json"))
    asked = [event["asked"] for event in answer["events"] if "asked" in event]
    askers = {each["offset"] for of in asked for each in of}
    batches = {
        e["offset"]: e
        for kind in ("partition", "removal", "deletion")
        for e in events(capsys, log, f"{kind}:*")
        if "asked" in e
    }
    assert askers == {event["asked"]["offset"] for event in batches.values()}
    text = told(capsys, "timeline", log)
    (line,) = [line for line in text.splitlines() if "partitions 1, 2 of orders removed" in line]
    both = " by User:eve at offset 21, by User:gus at offset 23"
    assert line.endswith(f"by User:broker-1 (broker-1 said so)  asked{both}")
    # eve's own record needs no such words.
    (own,) = [line for line in text.splitlines() if "partition 1 of sales to be removed" in line]
    assert own.endswith("by User:eve (eve said so)")
    with LogReader.open(Path(log)) as reader:
        told_by = report_shown(Past(reader), reader.end_offset - 1, ShowReport())
        (piece,) = told_by.items
    origins = Unpacked(piece.content).header["event_origins"]
    assert {offset for *_, of, _ in origins for offset, _ in of} == askers
