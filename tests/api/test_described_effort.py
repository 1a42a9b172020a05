"""Questions that are answered from a controller's state read its index, and do not make another."""

from functools import partial
from typing import Any

import pytest

from api.questions.table import find_question
from api.requests.commands import described
from controller.descriptions.brokers import ListBrokers
from controller.descriptions.progress import ListReassignments
from controller.descriptions.subscriptions import ListSubscriptions
from tests.controller.cluster import Cluster
from tests.controller.effort import lines_run


def _cluster(partitions: int) -> Cluster:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    cluster.create("orders", *[[1, 2]] * partitions)
    return cluster


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("brokers list", ListBrokers()),
        ("reassignments list", ListReassignments()),
        ("subscriptions list", ListSubscriptions()),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_effort_does_not_grow_with_the_partitions(name: str, request_: Any) -> None:
    efforts = []
    for count in (20, 200):
        context = _cluster(count).context()
        efforts.append(lines_run(partial(described, find_question(name), context, request_)))
    few, many = efforts
    assert many < 1.1 * few, f"{few:,} lines for 20 partitions, {many:,} for 200"
