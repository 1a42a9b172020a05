"""The voters of an imported log's quorum, since when they vote, and their addresses."""

from pathlib import Path

import pytest

from records.base import ZERO_UUID, Uuid
from records.control import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    QuorumVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VoterEndpoint,
    VotersRecord,
)
from tests.api.conftest import Metalog
from tests.metadata_log.kraft.logs import START_TIME_MS, LogFiles, batch, topic

HEADER = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=START_TIME_MS)
FOOTER = SnapshotFooterRecord(version=0)
DYNAMIC = KRaftVersionRecord(version=0, kraft_version=1)


def voters(*hosts: str) -> VotersRecord:
    """Return the set of voters 1, 2, ... on these hosts; an empty name stands for no voter."""
    return VotersRecord(
        version=0,
        voters=tuple(
            QuorumVoter(
                voter_id=voter_id,
                voter_directory_id=Uuid(bytes([voter_id]) * 16),
                endpoints=(VoterEndpoint(name="CONTROLLER", host=host, port=9093),),
                kraft_version_feature=KRaftVersionFeature(
                    min_supported_version=0, max_supported_version=1
                ),
            )
            for voter_id, host in enumerate(hosts, 1)
            if host
        ),
    )


def leader_change(*voter_ids: int) -> LeaderChangeMessage:
    named = tuple(
        LeaderChangeVoter(voter_id=voter_id, voter_directory_id=ZERO_UUID) for voter_id in voter_ids
    )
    return LeaderChangeMessage(version=0, leader_id=1, voters=named, granting_voters=named)


@pytest.fixture
def dynamic(tmp_path: Path, metalog: Metalog) -> Path:
    """A quorum that was formatted with voter 1; voter 2 was added and moved, voter 1 was
    removed.
    """
    files = LogFiles(tmp_path / "node")
    files.checkpoint(0, 0, [batch(0, 0, HEADER, DYNAMIC, voters("a")), batch(3, 0, FOOTER)])
    files.segment(
        0,
        batch(0, 1, leader_change(1)),
        batch(1, 1, topic()),
        batch(2, 1, voters("a", "b")),
        batch(3, 1, voters("a", "moved")),
        batch(4, 1, voters("", "moved")),
    )
    confirmed = [batch(0, 1, HEADER, DYNAMIC, voters("", "moved")), batch(3, 1, topic())]
    files.checkpoint(5, 1, [*confirmed, batch(4, 1, FOOTER)])
    assert metalog("import", "kraft", files.partition, tmp_path / "log").code == 0
    return tmp_path / "log"


def _voters(metalog: Metalog, log: Path, at: object = "end") -> dict[str, list[str]]:
    shown = metalog("image", log, "--part", "voters", "--at", at, "--json").json
    return {
        each["object"]: [f"{e['host']}:{e['port']}" for e in each["endpoints"]]
        for each in shown["parts"]["voters"]
    }


def test_voters_of_any_point_are_shown_with_their_endpoints(
    metalog: Metalog, dynamic: Path
) -> None:
    assert _voters(metalog, dynamic, 1) == {"voter:1": ["a:9093"]}
    assert _voters(metalog, dynamic, 2) == {"voter:1": ["a:9093"], "voter:2": ["b:9093"]}
    assert _voters(metalog, dynamic) == {"voter:2": ["moved:9093"]}


def test_history_of_the_voters_tells_who_came_moved_and_left(
    metalog: Metalog, dynamic: Path
) -> None:
    lines = metalog("history", dynamic, "voters", "--json").lines
    found = [
        (event["offset"], change["field"], change["before"] and "set", change["after"] and "set")
        for event in lines
        for change in event["changes"]
    ]
    assert found == [(2, "2", None, "set"), (3, "2", "set", "set"), (4, "1", "set", None)]
    blame = metalog("blame", dynamic, "voter:2", "--json").json["fields"]
    assert blame["endpoints"]["offset"] == 3
    assert blame["voter_directory_id"]["offset"] == 2


def test_voters_are_in_the_digest_of_replay_sql_and_snapshots(
    metalog: Metalog, dynamic: Path
) -> None:
    def digest(at: int, by: str = "replay") -> str:
        return str(metalog("digest", dynamic, "--at", at, "--by", by, "--json").json["digest"])

    before = [digest(at) for at in (2, 3)]
    assert len(set(before)) == 2
    assert metalog("sql", "sync", dynamic).code == 0
    assert [digest(at, "sql") for at in (2, 3)] == before
    assert metalog("snapshot", "create", dynamic, "--at", 2).code == 0
    assert digest(2, "snapshot") == before[0]


def test_voters_of_a_static_quorum_are_those_that_the_last_leader_named(
    tmp_path: Path, metalog: Metalog
) -> None:
    files = LogFiles(tmp_path / "node")
    files.segment(
        0,
        batch(0, 1, leader_change(1, 2, 3)),
        batch(1, 1, topic()),
        batch(2, 2, leader_change(1, 2, 3)),
        batch(3, 3, leader_change(1, 2, 4)),
    )
    log = tmp_path / "log"
    assert metalog("import", "kraft", files.partition, log).code == 0
    shown = metalog("image", log, "--part", "voters", "--at", 2, "--json").json
    assert shown["parts"]["voters"] == [
        {"object": f"voter:{n}", "is_static": True, "named_at": 0} for n in (1, 2, 3)
    ]
    lines = metalog("history", log, "voters").out.splitlines()
    assert [line.strip() for line in lines[1::2]] == [
        "new: voter_ids=[1,2,3]",
        "voter_ids: [1,2,3] -> [1,2,4]",
    ]


def test_voter_of_a_static_quorum_has_the_history_of_its_announcements(
    tmp_path: Path, metalog: Metalog
) -> None:
    files = LogFiles(tmp_path / "node")
    files.segment(
        0,
        batch(0, 1, leader_change(1, 2, 3)),
        batch(1, 1, topic()),
        batch(2, 2, leader_change(1, 2, 3)),
        batch(3, 3, leader_change(1, 2, 4)),
    )
    log = tmp_path / "log"
    assert metalog("import", "kraft", files.partition, log).code == 0
    for part in (2, 3):
        shown = metalog("image", log, "--part", "voters", "--at", part, "--json").json
        for voter in shown["parts"]["voters"]:
            assert metalog("history", log, voter["object"], "--to", part).code == 0

    def changes(voter: str) -> list[tuple[int, object]]:
        lines = metalog("history", log, voter, "--json").lines
        return [(line["offset"], change["after"]) for line in lines for change in line["changes"]]

    assert changes("voter:1") == [(0, True)]
    assert changes("voter:3") == [(0, True), (3, None)]
    assert changes("voter:4") == [(3, True)]
    assert metalog("history", log, "voter:9").code == 3
    every = metalog("history", log, "voter:*", "--json").lines
    assert [(line["offset"], line["object"]) for line in every] == [
        *[(0, f"voter:{n}") for n in (1, 2, 3)],
        (3, "voter:3"),
        (3, "voter:4"),
    ]
    assert metalog("history", log, "voter:9*").code == 3


def test_steps_and_blame_of_a_static_voter_are_as_its_history(
    tmp_path: Path, metalog: Metalog
) -> None:
    files = LogFiles(tmp_path / "node")
    files.segment(
        0,
        batch(0, 1, leader_change(1, 2, 3)),
        batch(1, 1, topic()),
        batch(2, 2, leader_change(1, 2, 4)),
        batch(3, 3, leader_change(1, 2, 4)),
    )
    log = tmp_path / "log"
    assert metalog("import", "kraft", files.partition, log).code == 0

    def step(*arguments: object) -> list[int]:
        answer = metalog("history", log, *arguments, "--json")
        assert answer.code == 0, answer.err
        return [line["offset"] for line in answer.lines]

    for name in ("voter:3", "voter:*"):
        assert step(name, "--next", "start") == [0]
        assert step(name, "--next", 0) == [2]
        assert step(name, "--next", 2) == []
        assert step(name, "--prev", "end") == [2]
        assert step(name, "--prev", 2) == [0]
    assert step("voters", "--next", 0) == [2]
    fields = metalog("blame", log, "voter:1", "--json").json["fields"]
    assert {name: (each["value"], each["offset"]) for name, each in fields.items()} == {
        "is_static": (True, 0)
    }
    assert metalog("blame", log, "voter:4", "--at", 2).code == 0
    for gone in (["voter:4", "--at", 1], ["voter:3"], ["voter:9"]):
        assert metalog("blame", log, *gone).code == 3
