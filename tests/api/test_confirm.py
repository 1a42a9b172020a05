"""`metalog confirm`: the end of a mirror is committed, since its cluster is no more."""

from pathlib import Path

import msgspec
import pytest

from metadata_log.kraft.confirmation import Confirmations
from tests.api.conftest import Metalog
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import topic


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """One of three voters: without a checkpoint its log alone confirms nothing."""
    node = Node(tmp_path / "node", voters=3)
    for number in range(10):
        node.append(topic(f"t{number}"))
    return node


@pytest.fixture
def mirror(metalog: Metalog, node: Node, tmp_path: Path) -> Path:
    made = tmp_path / "mirror"
    answer = metalog("import", "kraft", node.directory, made, "--json").json
    assert answer["confirmed_end"] < answer["log_end"]
    return made


def test_all_records_are_confirmed_and_their_history_is_in_sql(
    metalog: Metalog, mirror: Path, node: Node
) -> None:
    before = metalog("sql", "sync", mirror, "--json").json
    end = metalog("info", mirror, "--json").json["log_end"]
    assert before["to"] < end
    made = metalog("confirm", mirror, "--reason", "removed in May", "--json").json
    assert (made["from"], made["to"], made["reason"]) == (before["to"], end, "removed in May")
    assert metalog("info", mirror, "--json").json["confirmed_end"] == end
    assert metalog("sql", "sync", mirror, "--json").json["to"] == end
    text = (mirror / "confirmations.json").read_bytes()
    (kept,) = msgspec.json.decode(text, type=Confirmations).confirmations
    assert (kept.from_offset, kept.to_offset, kept.reason) == (before["to"], end, "removed in May")
    # It is the same log: another import finds nothing new, another confirmation nothing to do.
    assert metalog("import", "kraft", node.directory, mirror).code == 0
    again = metalog("confirm", mirror, "--reason", "again")
    assert again.code == 3
    assert "all records are confirmed" in again.err
    node.append(topic("t10"))
    assert metalog("import", "kraft", node.directory, mirror).code == 0
    assert metalog("info", mirror, "--json").json["confirmed_end"] == end


def test_what_was_confirmed_is_never_replaced(metalog: Metalog, mirror: Path, node: Node) -> None:
    end = metalog("info", mirror, "--json").json["log_end"]
    assert metalog("confirm", mirror, "--reason", "it is gone").code == 0
    node.truncate_to(5)
    node.elect(7)
    for number in range(10):
        node.append(topic(f"t{number}"))
    refused = metalog("import", "kraft", node.directory, mirror)
    assert refused.code == 3
    assert f"offsets below {end} are committed" in " ".join(refused.err.split())


def test_other_nodes_are_the_evidence(
    metalog: Metalog, mirror: Path, node: Node, tmp_path: Path
) -> None:
    same = tmp_path / "same"
    metalog("import", "kraft", node.directory, same)
    node.truncate_to(5)
    node.elect(7)
    refused = metalog("confirm", mirror, "--reason", "gone", "--with", node.directory)
    assert refused.code == 3
    assert "metalog compare" in refused.err
    answer = metalog("confirm", mirror, "--reason", "gone", "--with", same)
    end = metalog("info", mirror, "--json").json["log_end"]
    assert f"equal in {same} up to offset {end - 1}" in answer.out


def test_a_node_that_ends_earlier_is_evidence_up_to_there(
    metalog: Metalog, mirror: Path, node: Node, tmp_path: Path
) -> None:
    node.truncate_to(5)
    made = metalog("confirm", mirror, "--reason", "gone", "--with", node.directory, "--json").json
    assert made["equal_up_to"] == {str(node.directory): 5}
    assert made["to"] > 5
    other = Node(tmp_path / "other", voters=3, cluster_id="another")
    other.append(topic("t"))
    refused = metalog("confirm", mirror, "--reason", "gone", "--with", other.directory)
    assert refused.code == 3


def test_what_cannot_be_confirmed_is_said(metalog: Metalog, mirror: Path, demo_log: Path) -> None:
    for words, what in (
        ((demo_log, "--reason", "x"), "is not a mirror: all of its records are committed already"),
        ((mirror, "--reason", " "), "say why the cluster will not replace"),
    ):
        refused = metalog("confirm", *words)
        assert refused.code == 3
        assert what in " ".join(refused.err.split())
    assert metalog("confirm", mirror).code == 2


def test_copies_have_the_evidence_and_verify_knows_it(
    metalog: Metalog, mirror: Path, tmp_path: Path
) -> None:
    assert metalog("confirm", mirror, "--reason", "gone").code == 0
    assert metalog("backup", mirror, tmp_path / "copy").code == 0
    assert metalog("restore", tmp_path / "copy", tmp_path / "restored").code == 0
    assert metalog("repair", mirror, tmp_path / "mended").code == 0
    kept = (mirror / "confirmations.json").read_bytes()
    for copy in ("copy", "restored", "mended"):
        assert (tmp_path / copy / "confirmations.json").read_bytes() == kept
        assert metalog("verify", tmp_path / copy, "--json").json["notes"] == []
