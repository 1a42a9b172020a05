"""The questions of `tests.api.questions.test_both_ways.VERBS`, as paths and query parameters."""

from typing import Any

Query = list[tuple[str, Any]]

_TOPIC, _BROKER = ("resource_type", 2), ("resource_type", 4)
_OFFSETS = ("resource_name", "__consumer_offsets")
_CLUSTER = [_BROKER, ("resource_name", "")]

QUERIES: dict[str, list[Query | None]] = {
    "topics list": [[], [("at", 120)]],
    "topics describe": [[], [("all_configs", "true"), ("show_secrets", "true"), ("at", "end-50")]],
    "partitions describe": [[], [("at", "start")]],
    "partitions removals": [[]],
    "reassignments list": [[], [("at", 400)]],
    "brokers list": [[], [("at", "end-3h")]],
    "brokers describe": [[("broker_id", 1)]],
    "configs explain": [[_TOPIC, _OFFSETS, ("config", "retention.ms")], _CLUSTER],
    "configs describe": [
        [_TOPIC, _OFFSETS, ("effective", "true")],
        [*_CLUSTER, ("at", "2026-01-01T02:00:00+01:00")],
    ],
    "features describe": [[]],
    "namespaces list": [[]],
    "notes list": [[]],
    "subscriptions list": [[]],
    "acls list": [[("filter", "{}")]],
    "acls explain": [
        [
            ("principal", "User:a"),
            ("operation", 3),
            ("resource_type", 2),
            _OFFSETS,
        ]
    ],
    "users describe": [[]],
    "quotas describe": [[]],
    "quotas explain": [[("user", "ann")]],
    "tokens describe": [[]],
    "info": [[]],
    "image": [
        [],
        [("parts", "configs"), ("parts", "brokers"), ("at", 130), ("show_secrets", "true")],
    ],
    "image overview": [[]],
    "image kraft": [[("at", "end-1h")]],
    "digest": [[], [("at", "start")]],
    "du": [[], [("by", "type"), ("by", "cause"), ("at", 300)]],
    "history": [
        [("object", "partition:__consumer_offsets/0"), ("verbose", "true")],
        [("object", "broker:1"), ("last", 3), ("from", 10), ("to", "end-10")],
        [("object", "broker:1#fenced"), ("step", "next"), ("to", "start"), ("verbose", "true")],
        [("object", "broker:1"), ("step", "prev"), ("to", "end-1h"), ("verbose", "true")],
        [("object", "topic:*"), ("last", 3), ("verbose", "true")],
        [("object", "broker:1"), ("notes", "true"), ("step", "next"), ("to", "start")],
        [("object", "partition:__consumer_offsets/?#leader"), ("step", "next"), ("to", "start")],
    ],
    "diff": [[("from", 100), ("to", "end-20"), ("passed", "true")], None],
    "blame": [
        [("object", "config:topic/__consumer_offsets")],
        [("object", "feature:metadata.version"), ("at", 200)],
    ],
    "why": [
        [("object", "partition:__consumer_offsets/0")],
        [("object", "broker:1#in_controlled_shutdown"), ("at", "end-30")],
        [("object", "config:topic/__consumer_offsets#cleanup.policy")],
    ],
    "topics lives": [[("name", "__consumer_offsets")]],
    "timeline": [
        [],
        None,
        [("objects", "partition:__con*/?"), ("objects", "broker:1")],
    ],
    "summary": [[], [("from", 150), ("to", "end-20")]],
    "outages": [
        [],
        [("broker", 1), ("from", 150), ("to", "end-20")],
        [("objects", "partition:__con*/?"), ("objects", "broker:1")],
        [("topic", "__con*"), ("min_insync_replicas", 3)],
    ],
    "report": [[], [("from", 50), ("to", "end-9")]],
    "check": [[], [("from", 20), ("expect", "size(topics) >= 0")]],
    "upgrade-check": [[("to", "4.0")], [("to", "4.4"), ("at", 300)]],
    "bisect": [
        [("expression", "partitions.exists(p, p.leader != p.replicas[0])")],
        [("expression", "size(topics)"), ("from", 20), ("to", "end-20")],
        [("expression", "size(topics) > 3"), ("monotone", "true")],
    ],
    "what-if": [
        [("from", 100), ("without", "broker:1#fenced=true")],
        [("drop", 150), ("to", "end-20")],
    ],
    "dump": [
        [("asked", "true"), ("verbose", "true")],
        [("types", "TopicRecord"), ("from", 50), ("to", "end-10m")],
        [("object", "topic:__consumer_offsets")],
    ],
    "tail": [[("from", "end-90")]],
    "partitions states": [
        [("verbose", "true")],
        [
            ("topic", "__consumer_offsets"),
            ("partition_id", 3),
            ("replicas", "true"),
            ("since", "end-10h"),
        ],
    ],
}
"""Queries of each question, in the order of its command lines. None: a command line that only
prints counts of an answer, for which HTTP has no query.
"""
