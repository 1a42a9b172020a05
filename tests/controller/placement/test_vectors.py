"""The placements give exactly the same results as Kafka's."""

import json
from typing import Any

import pytest

from controller.placement.classic import rack_alternated, rack_aware, rack_unaware
from controller.placement.placer import UsableBroker
from controller.placement.striped import StripedPlacer
from tests.real_logs import REFERENCE, needs_reference

_VECTORS = REFERENCE / "placement-vectors.json"

pytestmark = needs_reference


class _Starts:
    """A random source with fixed start positions, one for rings of brokers and one for the ring of
    racks.
    """

    def __init__(self, brokers: list[UsableBroker], broker_start: int, rack_start: int) -> None:
        rings = {(broker.rack, broker.fenced) for broker in brokers}
        self._starts = [broker_start] * len(rings) + [rack_start]

    def randrange(self, stop: int, /) -> int:
        return self._starts.pop(0) % stop

    def shuffle(self, items: Any, /) -> None:
        raise AssertionError("the vectors end before the first shuffle")


def _cases(kind: str) -> list[Any]:
    if not _VECTORS.exists():
        return []
    return [pytest.param(case, id=case["name"]) for case in json.loads(_VECTORS.read_text())[kind]]


def _expected(case: dict[str, Any]) -> list[tuple[int, ...]]:
    return [tuple(replicas) for replicas in case["expected"].values()]


@pytest.mark.parametrize("case", _cases("cases"))
def test_classic_placement_gives_the_exact_replicas(case: dict[str, Any]) -> None:
    start = case["start_partition_id"]
    partition_ids = range(start, start + case["partitions"])
    counts = (case["replication_factor"], case["start_index"], case["replica_shift"])
    if case["algorithm"] == "rack_unaware":
        placed = rack_unaware(case["brokers"], partition_ids, *counts)
    else:
        racks = {int(broker_id): rack for broker_id, rack in case["broker_racks"].items()}
        assert rack_alternated(racks) == case["rack_alternated_list"]
        placed = rack_aware(racks, partition_ids, *counts)
    assert placed == _expected(case)


@pytest.mark.parametrize("case", _cases("striped_cases"))
def test_striped_placement_gives_the_exact_replicas(case: dict[str, Any]) -> None:
    brokers = [
        UsableBroker(broker_id=b["id"], rack=b["rack"], fenced=b["fenced"]) for b in case["brokers"]
    ]
    placed = StripedPlacer().place(
        brokers=brokers,
        partitions=case["partitions"],
        replication_factor=case["replication_factor"],
        start_partition_id=0,
        rng=_Starts(brokers, case["broker_start_offset"], case["rack_start_offset"]),
    )
    assert placed == _expected(case)
