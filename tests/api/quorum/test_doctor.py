"""`metalog doctor kafka://...` says what stands in the way of recording a quorum."""

import re
import threading
from pathlib import Path

from tests.api.conftest import Metalog
from tests.stand_in_quorum import FETCH, Answer, Quorum


def test_quorum_in_order_is_ready(metalog: Metalog, partition: Path) -> None:
    with Quorum(partition, nodes=3) as quorum:
        answer = metalog("doctor", f"kafka://{quorum.bootstrap}", "--json")
        text = metalog("doctor", f"kafka://{quorum.bootstrap}")
        end = quorum.leader.high_watermark
        leader = quorum.address(1)
    assert (answer.code, text.code) == (0, 0)
    assert answer.json["ready"] is True
    assert [each["leader_id"] for each in answer.json["controllers"]] == [1, 1, 1]
    assert {each["release"] for each in answer.json["controllers"]} == {"3.9 or 4.0"}
    log = answer.json["log"]
    assert (log["address"], log["log_start"], log["log_end"]) == (leader, 0, end)
    assert (log["starts_from_snapshot"], log["bytes_per_day"]) == (False, 0)
    assert "a new mirror starts from offset 0\n" in text.out
    assert f"kept: offsets 0 to {end - 1}, since 2023-11-14T22:13:" in text.out


def test_start_of_a_mirror_is_that_of_an_import(metalog: Metalog, with_snapshots: Path) -> None:
    with Quorum(with_snapshots) as quorum:
        oldest, *_ = sorted(quorum.leader.log.snapshots)
        assert "starts from offset 1\n" in metalog("doctor", f"kafka://{quorum.bootstrap}").out
        quorum.clean(oldest)
        cleaned = metalog("doctor", f"kafka://{quorum.bootstrap}")
    assert f"starts from the snapshot at offset {oldest.end_offset}\n" in cleaned.out


def test_growth_is_that_of_the_log(metalog: Metalog, partition: Path) -> None:
    with Quorum(partition, end_offset=0, high_watermark=0) as quorum:
        first = quorum.source.batches[0].end_offset
        quorum.reveal(first)
        before = len(quorum.asked(FETCH))

        def grow() -> None:
            quorum.wait_for(lambda: len(quorum.asked(FETCH)) >= before + 4)
            quorum.reveal()

        thread = threading.Thread(target=grow)
        thread.start()
        answer = metalog("doctor", f"kafka://{quorum.bootstrap}", "--json")
        thread.join()
        size = sum(len(each.data) for each in quorum.source.batches[1:])
    assert answer.code == 0
    per_day = answer.json["log"]["bytes_per_day"]
    assert size / 20 * 86_400 < per_day <= size / 3 * 86_400


def test_missing_right_is_named_with_what_it_also_allows(metalog: Metalog, partition: Path) -> None:
    with Quorum(partition) as quorum:
        quorum.fail(Answer(top_error=31), key=FETCH, times=100)
        answer = metalog("doctor", f"kafka://{quorum.bootstrap}", "--json")
    assert answer.code == 1
    problem = answer.json["controllers"][0]["problem"]
    assert re.search("CLUSTER_ACTION on the cluster.*to register brokers", problem)
    assert answer.json["ready"] is False


def test_node_that_does_not_answer_is_named_beside_those_that_do(
    metalog: Metalog, partition: Path
) -> None:
    with Quorum(partition, nodes=3) as quorum:
        quorum.stop(2)
        answer = metalog("doctor", f"kafka://{quorum.bootstrap}", "--json")
        stopped = quorum.address(2)
    assert answer.code == 1
    assert [each["address"] for each in answer.json["controllers"] if each["problem"]] == [stopped]
    assert answer.json["log"] is not None


def test_broker_and_another_cluster_are_told(metalog: Metalog, partition: Path) -> None:
    with Quorum(partition) as quorum:
        broker = metalog("doctor", f"kafka://{quorum.broker}")
        other = metalog("doctor", f"kafka://{quorum.bootstrap}", "--cluster-id", "another")
    assert (broker.code, other.code) == (1, 1)
    assert "it is a broker's listener" in " ".join(broker.out.split())
    assert "of another cluster" in " ".join(other.out.split())
