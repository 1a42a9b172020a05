"""A topic's highest partitions are taken offline to be removed, while others are down."""

from records.partitions import RemovePartitionsRecord
from tests.replay.builders import change, partition, topic, uid

SHRUNK = (
    (topic("orders"), *(partition("orders", n) for n in range(4))),
    (
        change("orders", 0, leader=-1),
        # Down before they are removed.
        change("orders", 2, isr=(), leader=-1),
        change("orders", 3, isr=(1, 2)),
    ),
    tuple(change("orders", n, mode=1) for n in (1, 2, 3)),
    (change("orders", 1, mode=-1, leader=-1, isr=(1,)), change("orders", 2, mode=-1)),
    (change("orders", 3, mode=-1, leader=-1),),
)
"""The batches up to the last partition that is taken offline."""

REMOVED = RemovePartitionsRecord(topic_id=uid("orders"), partition_ids=(1, 2, 3))

OUTAGES = {
    ("leaderless", 0, 5, None),
    ("leaderless", 2, 6, 12),
    ("under_replicated", 2, 6, 12),
    ("under_replicated", 3, 7, 13),
}
"""Kind, partition, begin and end of each outage, with and without the removal."""
