"""`metalog compare`: lagging nodes, where logs diverge, and records that only one node has."""

import shutil
from pathlib import Path

import pytest

from benchmarks.generate_kraft import CLUSTER_ID, generate
from metadata_log.kraft_format.batch import parse_header
from metadata_log.kraft_format.names import META_PROPERTIES, QUORUM_STATE, segment_name
from records.base import Uuid
from records.control import KRaftVersionRecord
from records.topics import TopicRecord
from tests.api.advise.clusters import voters_record
from tests.api.conftest import Metalog
from tests.api.contradicting_log import WRONG_EPOCH, write_kraft_log
from tests.metadata_log.kraft.logs import (
    LogFiles,
    batch,
    checkpoint,
    leader_change,
    topic,
)

_START = (batch(0, 1, leader_change()), batch(1, 1, topic("orders")))

VOTERS_OF_FORMAT = (KRaftVersionRecord(version=0, kraft_version=1), voters_record(1, 2))


def _other(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=Uuid(bytes(reversed(range(16)))))


def _node(directory: Path, *batches: bytes, node_id: int, cluster: str = "c") -> LogFiles:
    files = LogFiles(directory)
    files.segment(0, *batches)
    (directory / META_PROPERTIES).write_text(f"cluster.id={cluster}\nnode.id={node_id}\n")
    return files


def test_node_that_is_behind(metalog: Metalog, tmp_path: Path) -> None:
    generate(tmp_path / "a", records=2_000, seed=3)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (segment,) = (tmp_path / "b").glob("*/*.log")
    segment.write_bytes(segment.read_bytes()[:-5_000])
    names = [str(tmp_path / name) for name in "ab"]
    answer = metalog("compare", *names, "--json")
    assert answer.code == 0
    found = answer.json
    first, second = found["nodes"]
    assert found["clusters"] == [CLUSTER_ID]
    assert (first["name"], first["node_id"], first["start"], first["end"]) == (
        *(names[0], 3001, 0),
        2_000,
    )
    assert second["trailing_bytes"] > 0
    assert found["common_end"] == second["end"] < 2_000
    assert found["divergence"] is None
    assert found["behind"] == {names[1]: 2_000 - second["end"]}
    assert found["ahead"] == names[0]
    assert {tuple(each["on"]) for each in found["differences"]} == {(names[0],)}
    assert found["differences"][0]["from_offset"] >= second["end"]
    text = metalog("compare", *names).out
    assert f"{names[1]} lacks {2_000 - second['end']} records of it" in text
    assert f"only {names[0]}:" in text
    assert found["differences"][0]["text"] in text
    assert "node id 3001 is that of" in text


def test_logs_that_part_are_told_by_epoch_and_in_words(metalog: Metalog, tmp_path: Path) -> None:
    _node(tmp_path / "a", *_START, batch(2, 1, _other("lost")), node_id=1)
    _node(tmp_path / "b", *_START, batch(2, 2, leader_change(2)), node_id=2)
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    answer = metalog("compare", a, b, "--json")
    assert answer.code == 1
    assert answer.json["common_end"] == 2
    assert answer.json["divergence"] == {"offset": 2, "epochs": {a: 1, b: 2}}
    assert answer.json["ahead"] == b
    assert [(each["text"][:20], each["on"]) for each in answer.json["differences"]] == [
        ("controller 2 became ", [b]),
        ("topic lost created", [a]),
    ]
    text = metalog("compare", a, b).out
    assert f"they part at offset 2: epoch 1 in {a}, epoch 2 in {b}" in text


def test_logs_of_several_clusters_are_not_compared(metalog: Metalog, tmp_path: Path) -> None:
    _node(tmp_path / "a", *_START, node_id=1)
    _node(tmp_path / "b", *_START, node_id=1, cluster="other")
    answer = metalog("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert answer.code == 1
    assert answer.json["clusters"] == ["c", "other"]
    assert answer.json["common_end"] is None
    assert "several clusters" in answer.json["remarks"][0]
    assert "they part" not in metalog("compare", tmp_path / "a", tmp_path / "b").out


def test_mirror_is_compared_with_the_node_that_it_was_imported_from(
    metalog: Metalog, tmp_path: Path
) -> None:
    generate(tmp_path / "node", records=2_000, seed=3)
    metalog("import", "kraft", tmp_path / "node", tmp_path / "mirror")
    answer = metalog("compare", tmp_path / "node", tmp_path / "mirror", "--json")
    assert answer.code == 0
    assert answer.json["common_end"] == 2_000
    assert (answer.json["behind"], answer.json["differences"]) == ({}, [])


def test_own_log_is_compared_with_its_backup(
    metalog: Metalog, demo_log: Path, tmp_path: Path
) -> None:
    assert metalog("backup", demo_log, tmp_path / "copy").code == 0
    answer = metalog("compare", demo_log, tmp_path / "copy", "--json")
    assert answer.code == 0
    assert answer.json["common_end"] == metalog("info", demo_log, "--json").json["log_end"]


def test_damaged_log_is_told_and_compared_up_to_there(metalog: Metalog, tmp_path: Path) -> None:
    _node(tmp_path / "a", *_START, batch(2, 1, _other("b")), node_id=1)
    bad = _node(tmp_path / "b", *_START, batch(2, 1, _other("b")), node_id=2)
    (segment,) = bad.partition.glob("*.log")
    segment.write_bytes(segment.read_bytes()[:-3] + b"xyz")
    answer = metalog("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert answer.code == 1
    assert answer.json["common_end"] == 2
    assert "CRC" in answer.json["nodes"][1]["damage"]
    assert "damaged: " in metalog("compare", tmp_path / "a", tmp_path / "b").out


def test_node_without_a_log_lacks_everything(metalog: Metalog, tmp_path: Path) -> None:
    _node(tmp_path / "a", *_START, node_id=1)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / META_PROPERTIES).write_text("cluster.id=c\nnode.id=2\n")
    answer = metalog("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert answer.json["behind"] == {str(tmp_path / "b"): 2}
    assert "holds no record" in answer.json["remarks"][0]


def test_node_that_lacks_committed_records_is_told(metalog: Metalog, tmp_path: Path) -> None:
    whole = _node(tmp_path / "a", *_START, batch(2, 1, _other("b")), node_id=1)
    whole.checkpoint(2, 1, checkpoint(1, topic("orders")))
    _node(tmp_path / "b", _START[0], node_id=2)
    (whole.partition / QUORUM_STATE).write_text(
        '{"leaderId":1,"leaderEpoch":1,"votedId":-1,"data_version":0}'
    )
    remarks = metalog("compare", tmp_path / "a", tmp_path / "b", "--json").json["remarks"]
    assert [text for text in remarks if "lacks committed records" in text]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_logs_are_refused(metalog: Metalog, tmp_path: Path, count: int) -> None:
    assert metalog("compare", *[tmp_path] * count).code == 2


def test_folder_that_is_no_log_is_refused(metalog: Metalog, tmp_path: Path) -> None:
    answer = metalog("compare", tmp_path, tmp_path)
    assert answer.code == 3
    assert "LOG_NOT_FOUND" in answer.err


def test_contradiction_is_told_and_leaves_the_comparison(metalog: Metalog, tmp_path: Path) -> None:
    _node(tmp_path / "a", *_START, batch(2, 1, topic("orders")), node_id=1)
    _node(tmp_path / "b", *_START, node_id=2)
    answer = metalog("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert answer.json["common_end"] == 2
    assert "cannot be read: " in answer.json["remarks"][0]


def test_equal_logs_have_none_ahead_and_one_log_named_twice_is_no_copy(
    metalog: Metalog, tmp_path: Path
) -> None:
    a, b = (_node(tmp_path / name, *_START, node_id=number) for number, name in enumerate("ab", 1))
    assert metalog("compare", a.directory, b.directory).out.endswith(
        "equal below offset 2\nnone is ahead of another\n"
    )
    for same in (a.directory, a.partition):
        answer = metalog("compare", a.directory, same)
        assert answer.code == 0
        notes = [line for line in answer.out.splitlines() if line.startswith("note: ")]
        assert [note.partition(": one log, named twice; ")[2] for note in notes] == [
            "name those of several nodes"
        ]


def test_what_a_contradicting_log_holds_is_not_told_to_change_nothing(
    metalog: Metalog, tmp_path: Path
) -> None:
    kafka = write_kraft_log(tmp_path / "a")
    files = LogFiles(tmp_path / "b")
    files.segment(0, _first_batch(kafka))
    answer = metalog("compare", tmp_path / "a", tmp_path / "b", "--json").json
    assert (answer["untold"], answer["differences"]) == ([str(tmp_path / "a")], [])
    text = metalog("compare", tmp_path / "a", tmp_path / "b").out
    assert f"offset {WRONG_EPOCH}: FenceBrokerRecord: broker 2 has epoch 2, not 1" in text
    assert "changes nothing" not in text


def _first_batch(partition: Path) -> bytes:
    content = (partition / segment_name(0)).read_bytes()
    return content[: parse_header(content).size]


def test_a_zero_checkpoint_is_what_format_wrote_and_proves_nothing(
    metalog: Metalog, tmp_path: Path
) -> None:
    """Both nodes are voters of a dynamic quorum; the second was formatted and has fetched
    nothing.
    """
    voter, formatted = (
        _node(tmp_path / name, *batches, node_id=number)
        for number, (name, batches) in enumerate((("a", _START), ("b", ())), 1)
    )
    for files in (voter, formatted):
        files.checkpoint(0, 0, checkpoint(0, *VOTERS_OF_FORMAT))
    (formatted.partition / segment_name(0)).unlink()
    places = [str(voter.directory), str(formatted.directory)]
    found = metalog("compare", *places, "--json").json
    assert [(each["end"], each["committed_end"]) for each in found["nodes"]] == [(2, 0), (0, 0)]
    assert (found["common_end"], found["behind"]) == (0, {places[1]: 2})
    assert found["remarks"] == [f"{places[1]} holds no record: it was formatted, or emptied"]
    assert [each["text"] for each in found["differences"]][-1] == "topic orders created"
