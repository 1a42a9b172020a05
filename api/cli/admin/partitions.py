"""Partitions: list, describe, and print their state transitions."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.look import Look, reading
from api.cli.admin.options import NamespaceOption
from api.cli.admin.texts import need_topics, partition_ref, topic_ref
from api.cli.admin.topics import PARTITION_COLUMNS, partition_row
from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.source.source import print_end
from api.cli.terminal.output import (
    print_json_line,
    print_line,
    print_table,
    time_text,
    value_text,
)

if TYPE_CHECKING:
    from api.documents.topics import OnePartition, PartitionList, RemovalList, StateChange
    from controller.decisions.lookup import TopicRef
    from replay.image.partitions import Partition

app = App()

_Topic = Annotated[
    str | None,
    Argument(
        metavar="[TOPIC]", help="Topic, by name or @ID; default: all topics.", show_default=False
    ),
]


@reading(app, "list")
def list_(
    look: Look,
    topic: _Topic = None,
    namespace: NamespaceOption = "",
    unavailable: Annotated[
        bool, Option("--unavailable", help="Show only partitions without a leader.")
    ] = False,
    under_replicated: Annotated[
        bool,
        Option(
            "--under-replicated", help="Show only partitions with replicas that are not in sync."
        ),
    ] = False,
    removing: Annotated[
        bool,
        Option(
            "--removing",
            help="Show only partitions that are being removed, with the removal's progress.",
        ),
    ] = False,
) -> None:
    """List partitions of one topic, or of all."""
    from api.documents.topics import Partition, PartitionList
    from controller.descriptions.partitions import DescribePartitions

    need_topics(namespace, topic)
    ref = None if topic is None else topic_ref(topic, namespace)
    if removing:
        from controller.descriptions.progress import ListRemovals

        look.show("partitions removals", ListRemovals(topic=ref), _print_removals)
        return
    question = DescribePartitions(topic=ref)
    with look.explaining(question):
        answer, about = look.answer("partitions describe", question)
    found = tuple(
        [
            Partition.listed(found)
            for found in answer
            if _is_listed(found.description.partition, unavailable, under_replicated)
        ]
    )
    look.print(PartitionList(partitions=found), about, _print_partitions)


def _print_partitions(found: "PartitionList") -> None:
    rows = [(p.topic, *partition_row(p)) for p in found.partitions]
    print_table(("topic", *PARTITION_COLUMNS), rows)


@reading(app)
def describe(
    look: Look,
    partition: Annotated[
        str,
        Argument(
            metavar="TOPIC/NUMBER", help="Topic, and number of the partition.", show_default=False
        ),
    ],
    namespace: NamespaceOption = "",
) -> None:
    """Describe one partition."""
    from controller.descriptions.partitions import DescribePartitions

    ref, number = partition_ref(partition, namespace)
    question = DescribePartitions(topic=ref, partition_id=number)
    look.show("partitions describe", question, _print_partition)


def _print_partition(found: "OnePartition") -> None:
    shown = found.partition
    for name in shown.__struct_fields__:
        value = getattr(shown, name)
        if name == "lags":
            value = ["?" if lag is None else lag for lag in value]
        print_line(f"{name.replace('_', ' '):<18}{value_text(value)}")


@reading(app)
def states(
    look: Look,
    topic: Annotated[
        str | None,
        Argument(
            metavar="[TOPIC[/NUMBER]]", help="Topic or partition; default: all.", show_default=False
        ),
    ] = None,
    since: Annotated[
        str, Option("--since", metavar="POINT", help="First point, inclusive; --at gives the last.")
    ] = "start",
    replicas: Annotated[
        bool, Option("--replicas", help="Also print the states of replicas.")
    ] = False,
    verbose: Annotated[
        bool,
        Option(
            "--verbose", help="Also print the position in the log, such as `as of offset 4107`."
        ),
    ] = False,
) -> None:
    """Print the states that partitions walked through, one transition a line."""
    from api.documents.topics import StateChange
    from api.questions.states import STATES, WalkStates

    ref, number = _named(topic)
    source = look.source
    question = WalkStates(
        since=source.point(since), topic=ref, partition_id=number, replicas=replicas
    )
    with look.explaining(question):
        result = source.ask(STATES, question, at=look.at)
        for step in result.items:
            _print_state_change(StateChange.of(step), json=look.json)
    if verbose:
        print_end(result.about(), json=look.json)


def _named(topic: str | None) -> "tuple[TopicRef | None, int | None]":
    if topic is None:
        return None, None
    return partition_ref(topic) if "/" in topic else (topic_ref(topic), None)


def _is_listed(partition: "Partition", unavailable: bool, under_replicated: bool) -> bool:
    from replay.incidents.health import LEADERLESS, UNDER_REPLICATED, partition_kinds

    kinds = partition_kinds(partition, 0)
    return (not unavailable or LEADERLESS in kinds) and (
        not under_replicated or UNDER_REPLICATED in kinds
    )


def _print_removals(found: "RemovalList") -> None:
    print_table(
        ("topic", "partition", "mode", "due", "waits for"),
        [
            (r.topic, r.partition, r.mode, time_text(r.due), value_text(r.waited_for))
            for r in found.removals
        ],
    )


def _print_state_change(step: "StateChange", *, json: bool) -> None:
    if json:
        print_json_line(step)
        return
    what = f"{step.topic}/{step.partition}"
    if step.broker is not None:
        what += f" on broker {step.broker}"
    leader = f"  leader {step.leader}" if step.broker is None and step.leader >= 0 else ""
    print_line(
        f"{step.offset:>8} {time_text(step.timestamp)} {what}: "
        f"{step.before} -> {step.after}{leader}"
    )
