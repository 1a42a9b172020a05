"""How tests ask each question: one row for each, which a new question is to have."""

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

Query = list[tuple[str, Any]]


class Asked(NamedTuple):
    """Command lines and queries that ask a question.

    Attributes:
        lines: Command lines about the log of a small demo; LOG stands for the log directory, where
            it is named so, and FILE.html for a file to be written.
        queries: The same over HTTP, in the same order. None: a command line that only prints counts
            of an answer, for which HTTP has no query.
        at_points: Command lines about any log; by default the first one, at a point. LOG, FILE,
            TOPIC, its NAME and PARTITION stand for a log, a file, and objects of the log; FROM and
            TO for two points.
        whole: What the answer is, if it is no list of which there are pages.
        noops: Why the answer depends on the NoOps of a mirror, if it does.
    """

    lines: list[str]
    queries: Sequence[str | None] = ("",)
    at_points: Sequence[str] = ()
    whole: str | None = None
    noops: str | None = None


ASKED: dict[str, Asked] = {
    "topics list": Asked(
        lines=["topics list", "topics list --at 120"],
        queries=["", "at=120"],
    ),
    "topics describe": Asked(
        lines=["topics describe", "topics describe --all-configs --show-secrets --at end-50"],
        queries=["", "all_configs=true&show_secrets=true&at=end-50"],
        at_points=["topics describe --all-configs --log LOG --at TO"],
    ),
    "partitions describe": Asked(
        lines=["partitions list", "partitions list --at start"],
        queries=["", "at=start"],
    ),
    "partitions removals": Asked(
        lines=["partitions list --removing"],
    ),
    "reassignments list": Asked(
        lines=["reassignments list", "reassignments list --at 400"],
        queries=["", "at=400"],
    ),
    "brokers list": Asked(
        lines=["brokers list", "brokers list --at end-3h"],
        queries=["", "at=end-3h"],
    ),
    "brokers describe": Asked(
        lines=["brokers describe 1"],
        queries=["broker_id=1"],
        whole="one broker",
    ),
    "configs explain": Asked(
        lines=["configs explain topic/__consumer_offsets retention.ms", "configs explain cluster"],
        queries=[
            "resource_type=2&resource_name=__consumer_offsets&config=retention.ms",
            "resource_type=4&resource_name=",
        ],
        at_points=["configs explain cluster --log LOG --at TO"],
    ),
    "configs describe": Asked(
        lines=[
            "configs describe topic/__consumer_offsets --all",
            "configs describe cluster --at 2026-01-01T02:00:00 --time-zone +01:00",
        ],
        queries=[
            "resource_type=2&resource_name=__consumer_offsets&effective=true",
            "resource_type=4&resource_name=&at=2026-01-01T02:00:00%2B01:00",
        ],
        at_points=["configs describe cluster --all --log LOG --at TO"],
    ),
    "features describe": Asked(
        lines=["features describe"],
    ),
    "namespaces list": Asked(
        lines=["namespaces list"],
    ),
    "notes list": Asked(
        lines=["notes list"],
    ),
    "subscriptions list": Asked(
        lines=["subscriptions list"],
    ),
    "acls list": Asked(
        lines=["acls list"],
        queries=["filter={}"],
    ),
    "acls explain": Asked(
        lines=["acls explain User:a read topic:__consumer_offsets"],
        queries=["principal=User:a&operation=3&resource_type=2&resource_name=__consumer_offsets"],
        at_points=["acls explain User:a read TOPIC --log LOG --at TO"],
        whole="a decision",
    ),
    "users describe": Asked(
        lines=["users list"],
    ),
    "quotas describe": Asked(
        lines=["quotas describe"],
    ),
    "quotas explain": Asked(
        lines=["quotas explain --user ann"],
        queries=["user=ann"],
    ),
    "tokens describe": Asked(
        lines=["tokens describe"],
    ),
    "info": Asked(
        lines=["info LOG"],
        at_points=["info LOG"],
        whole="a log",
    ),
    "nodes list": Asked(
        lines=["nodes list LOG"],
        at_points=["nodes list LOG"],
        whole="a shared log",
    ),
    "image": Asked(
        lines=[
            "image LOG --json",
            "image LOG --part configs --part brokers --at 130 --show-secrets",
        ],
        queries=["", "parts=configs&parts=brokers&at=130&show_secrets=true"],
        at_points=["image LOG --at TO"],
        whole="a state in parts; each part has a list of its own name",
    ),
    "image overview": Asked(
        lines=["image LOG"],
        at_points=["image LOG --at TO"],
        whole="counts",
        noops="its text is compared, as that of all others",
    ),
    "image kraft": Asked(
        lines=["image LOG --format kraft-json --at end-1h"],
        queries=["at=end-1h"],
        at_points=["image LOG --format kraft-json --at TO"],
        whole="a file in Kafka's form",
    ),
    "digest": Asked(
        lines=["digest LOG", "digest LOG --at start"],
        queries=["", "at=start"],
        at_points=["digest LOG --at TO"],
        whole="a number",
    ),
    "du": Asked(
        lines=["du LOG", "du LOG --by type --by cause --at 300"],
        queries=["", "by=type&by=cause&at=300"],
        at_points=["du LOG --at TO"],
        noops="it counts NoOps",
    ),
    "export commands": Asked(
        lines=["export commands LOG", "export commands LOG --since end --at 300 --only topic:*"],
        queries=["", "since=end&at=300&only=topic:*"],
        at_points=["export commands LOG --at TO"],
        noops="the script begins with the offset of its state",
    ),
    "history": Asked(
        lines=[
            "history LOG partition:__consumer_offsets/0 --verbose",
            "history LOG broker:1 --last 3 --from 10 --to end-10",
            "history LOG broker:1#fenced --next start --verbose",
            "history LOG broker:1 --prev end-1h --verbose",
            "history LOG topic:* --last 3 --verbose",
            "history LOG config:* --last 5",
            "history LOG broker:1 --notes --next start",
            "history LOG partition:__consumer_offsets/?#leader --next start",
        ],
        queries=[
            "object=partition:__consumer_offsets/0&verbose=true",
            "object=broker:1&last=3&from=10&to=end-10",
            "object=broker:1#fenced&step=next&to=start&verbose=true",
            "object=broker:1&step=prev&to=end-1h&verbose=true",
            "object=topic:*&last=3&verbose=true",
            "object=config:*&last=5",
            "object=broker:1&notes=true&step=next&to=start",
            "object=partition:__consumer_offsets/?#leader&step=next&to=start",
        ],
        at_points=[
            "history LOG PARTITION --from FROM --to TO",
            "history LOG PARTITION --prev TO",
            "history LOG broker:* --next FROM",
        ],
    ),
    "diff": Asked(
        lines=["diff LOG 100 end-20", "diff LOG start 300 --stat"],
        queries=["from=100&to=end-20&passed=true", None],
        at_points=["diff LOG FROM TO"],
    ),
    "blame": Asked(
        lines=[
            "blame LOG config:topic/__consumer_offsets",
            "blame LOG feature:metadata.version --at 200",
        ],
        queries=[
            "object=config:topic/__consumer_offsets",
            "object=feature:metadata.version&at=200",
        ],
        at_points=["blame LOG PARTITION --at TO"],
        whole="the fields of one object",
    ),
    "why": Asked(
        lines=[
            "why LOG partition:__consumer_offsets/0",
            "why LOG broker:1#in_controlled_shutdown --at end-30",
            "why LOG config:topic/__consumer_offsets#cleanup.policy",
        ],
        queries=[
            "object=partition:__consumer_offsets/0",
            "object=broker:1#in_controlled_shutdown&at=end-30",
            "object=config:topic/__consumer_offsets#cleanup.policy",
        ],
        at_points=["why LOG PARTITION --at TO", "why LOG broker:1 --at TO"],
        whole="one field",
    ),
    "topics lives": Asked(
        lines=["topics lives __consumer_offsets", "topics lives *"],
        queries=["name=__consumer_offsets", "name=*"],
        at_points=["topics lives NAME --log LOG --at TO"],
    ),
    "timeline": Asked(
        lines=[
            "timeline LOG",
            "timeline LOG --from 100 --to end-20 --type brokers --stat",
            "timeline LOG --object partition:__con*/? --object broker:1",
            "timeline LOG --kind config --kind acl",
            "timeline LOG --by-people",
        ],
        queries=[
            *("", None, "objects=partition:__con*/?&objects=broker:1", "kinds=config&kinds=acl"),
            "by_people=true",
        ],
        at_points=["timeline LOG --from FROM --to TO"],
    ),
    "summary": Asked(
        lines=["summary LOG --to end", "summary LOG --from 150 --to end-20"],
        queries=["", "from=150&to=end-20"],
        at_points=["summary LOG --from FROM --to TO"],
        whole="counts and totals",
    ),
    "outages": Asked(
        lines=[
            "outages LOG --to end",
            "outages LOG --broker 1 --from 150 --to end-20",
            "outages LOG --to end --object partition:__con*/? --object broker:1",
            "outages LOG --to end --topic __con* --assume min.insync.replicas=3",
        ],
        queries=[
            "",
            "broker=1&from=150&to=end-20",
            "objects=partition:__con*/?&objects=broker:1",
            "topic=__con*&min_insync_replicas=3",
        ],
        at_points=["outages LOG --from FROM --to TO", "outages LOG --broker 1 --to TO"],
    ),
    "report": Asked(
        lines=["report LOG FILE.html", "report LOG FILE.html --from 50 --to end-9"],
        queries=["", "from=50&to=end-9"],
        at_points=["report LOG FILE --from FROM --to TO"],
        whole="a page",
    ),
    "check": Asked(
        lines=["check LOG", "check LOG --from 20 --expect 'size(topics) >= 0'"],
        queries=["", "from=20&expect=size(topics) >= 0"],
        at_points=[
            "check LOG --from FROM --to TO",
            "check LOG --from FROM --to TO --expect 'size(topics) < 1'",
        ],
        whole="findings, and whether they are all",
    ),
    "upgrade-check": Asked(
        lines=["upgrade-check LOG --to 4.0", "upgrade-check LOG --to 4.4 --at 300"],
        queries=["to=4.0", "to=4.4&at=300"],
        at_points=["upgrade-check LOG --to 4.0 --at TO"],
        whole="findings, and whether there are none",
    ),
    "bisect": Asked(
        lines=[
            "bisect LOG 'partitions.exists(p, p.leader != p.replicas[0])'",
            "bisect LOG 'size(topics)' --from 20 --to end-20",
            "bisect LOG 'size(topics) > 3' --monotone",
        ],
        queries=[
            "expression=partitions.exists(p, p.leader != p.replicas[0])",
            "expression=size(topics)&from=20&to=end-20",
            "expression=size(topics) > 3&monotone=true",
        ],
        at_points=["bisect LOG 'size(topics)' --from FROM --to TO"],
        whole="the first offset of each state",
    ),
    "what-if": Asked(
        lines=[
            "what-if LOG --at 100 --without broker:1#fenced=true",
            "what-if LOG --drop 150 --to end-20 --verbose",
        ],
        queries=["from=100&without=broker:1#fenced=true", "drop=150&to=end-20"],
        at_points=["what-if LOG --at start --to TO"],
        whole="two states compared",
        noops="it names the records that it decides again by their numbers",
    ),
    "dump": Asked(
        lines=[
            "dump LOG --asked --verbose",
            "dump LOG --type TopicRecord --from 50 --to end-10m",
            "dump LOG --object topic:__consumer_offsets",
        ],
        queries=[
            "asked=true&verbose=true",
            "types=TopicRecord&from=50&to=end-10m",
            "object=topic:__consumer_offsets",
        ],
        at_points=["dump LOG --object broker:1 --from FROM --to TO"],
    ),
    "tail": Asked(
        lines=["tail LOG --from end-90 --count 60 --verbose"],
        queries=["from=end-90"],
        at_points=["tail LOG --from end --count 1"],
        whole="in pages of its own: next_offset",
        noops="it prints records, of which the NoOps are some",
    ),
    "partitions states": Asked(
        lines=[
            "partitions states --verbose",
            "partitions states __consumer_offsets/3 --replicas --since end-10h",
        ],
        queries=[
            "verbose=true",
            "topic=__consumer_offsets&partition_id=3&replicas=true&since=end-10h",
        ],
        at_points=["partitions states --since FROM --log LOG --at TO"],
    ),
}
"""By the question's name."""

VERBS: dict[str, list[list[str]]] = {
    name: [shlex.split(line) for line in each.lines] for name, each in ASKED.items()
}
"""The words of the command lines of each question."""

QUERIES: dict[str, list[Query | None]] = {
    name: [
        None if query is None else parse_qsl(query, keep_blank_values=True)
        for query in each.queries
    ]
    for name, each in ASKED.items()
}
"""The parameters of the queries of each question."""

AT_POINTS = {
    name: [shlex.split(line) for line in each.at_points or [f"{each.lines[0]} --log LOG --at TO"]]
    for name, each in ASKED.items()
}
"""The words of the command lines at points."""
