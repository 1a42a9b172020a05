"""Partitions: list, describe, and the states they walked through."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.cli.admin.looking_at import Look, reading
from api.cli.admin.options import NamespaceOption
from api.cli.admin.parsing import partition_object, partition_ref, topic_object, topic_ref
from api.cli.admin.topics import PARTITION_COLUMNS, id_text, partition_json, partition_row
from api.cli.output import print_json, print_json_line, print_line, print_table, time_text
from api.cli.typer_app import App

if TYPE_CHECKING:
    from controller.decisions.lookup import TopicRef
    from controller.descriptions.state_walk import Transition
    from replay.image.partitions import Partition

app = App()

_Topic = Annotated[
    str | None, typer.Argument(metavar="[TOPIC]", help="Name or @ID.", show_default=False)
]


@reading(app, "list")
def list_(
    look: Look,
    topic: _Topic = None,
    namespace: NamespaceOption = "",
    unavailable: Annotated[
        bool, typer.Option("--unavailable", help="Only those without a leader.")
    ] = False,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated", help="Only those with replicas out of sync.")
    ] = False,
    removing: Annotated[
        bool, typer.Option("--removing", help="Only those on their way out, and how far.")
    ] = False,
) -> None:
    """List partitions of one topic, or of all."""
    from api.questions.descriptions import PARTITIONS
    from controller.descriptions.queries import DescribePartitions

    ref = None if topic is None else topic_ref(topic, namespace)
    if removing:
        _print_removals(look, ref)
        return
    with look.explaining(topic_object(ref or "")):
        answer, about = look.answer(PARTITIONS, DescribePartitions(topic=ref))
    found = [
        {"topic": found.topic, **partition_json(found.description)}
        for found in answer
        if _is_listed(found.description.partition, unavailable, under_replicated)
    ]
    if look.json:
        print_json({**about, "partitions": found})
    else:
        print_table(("topic", *PARTITION_COLUMNS), [(p["topic"], *partition_row(p)) for p in found])


@reading(app)
def describe(
    look: Look,
    partition: Annotated[
        str, typer.Argument(metavar="TOPIC/NUMBER", help="Which.", show_default=False)
    ],
    namespace: NamespaceOption = "",
) -> None:
    """Describe one partition."""
    from api.questions.descriptions import PARTITIONS
    from controller.descriptions.queries import DescribePartitions

    ref, number = partition_ref(partition, namespace)
    question = DescribePartitions(topic=ref, partition_id=number)
    with look.explaining(partition_object(ref, number)):
        (found,), about = look.answer(PARTITIONS, question)
    document = {
        "topic": found.topic,
        "topic_id": id_text(found.topic_id),
        **partition_json(found.description),
    }
    if look.json:
        print_json({**about, "partition": document})
        return
    for name, value in document.items():
        shown = ["?" if lag is None else lag for lag in value] if name == "lags" else value
        print_line(f"{name.replace('_', ' '):<18}{_text(shown)}")


@reading(app)
def states(
    look: Look,
    topic: Annotated[
        str | None,
        typer.Argument(metavar="[TOPIC[/NUMBER]]", help="Which; else all.", show_default=False),
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="POINT", help="First, inclusive; --at is the last.")
    ] = "start",
    replicas: Annotated[
        bool, typer.Option("--replicas", help="Also the states of replicas.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="With --json: a last line about the log.")
    ] = False,
) -> None:
    """Print the states that partitions walked through, one transition a line."""
    from api.cli.asking import about_json
    from api.questions.states import STATES, WalkStates

    ref, number = _named(topic)
    source = look.source
    question = WalkStates(
        since=source.point(since), topic=ref, partition_id=number, replicas=replicas
    )
    with look.explaining("" if topic is None else _object(ref, number)):
        told = source.ask(STATES, question, at=look.at)
        for step in told.items:
            _print_transition(step, json=look.json)
    if look.json and verbose:
        print_json_line({"end": about_json(told.about())})


def _named(topic: str | None) -> "tuple[TopicRef | None, int | None]":
    if topic is None:
        return None, None
    return partition_ref(topic) if "/" in topic else (topic_ref(topic), None)


def _object(ref: "TopicRef | None", number: int | None) -> str:
    assert ref is not None, "what is named has a topic"
    return topic_object(ref) if number is None else partition_object(ref, number)


def _is_listed(partition: "Partition", unavailable: bool, under_replicated: bool) -> bool:
    if unavailable and partition.leader >= 0:
        return False
    return not under_replicated or len(partition.isr) < len(partition.replicas)


def _print_removals(look: Look, ref: "TopicRef | None") -> None:
    from api.questions.descriptions import REMOVALS
    from controller.decisions.replica_states import REPLICAS
    from controller.descriptions.queries import ListRemovals

    with look.explaining(topic_object(ref or "")):
        found, about = look.answer(REMOVALS, ListRemovals(topic=ref))
    removals: list[dict[str, Any]] = [
        {
            "topic": removal.topic,
            "partition": removal.partition_id,
            "mode": "READ_ONLY" if removal.mode == 1 else "NONE",
            "due": removal.due_ms,
            "waited_for": list(removal.waited_for),
            "replicas": {
                str(broker): REPLICAS.name(state) for broker, state in removal.replica_states
            },
        }
        for removal in found
    ]
    if look.json:
        print_json({**about, "removals": removals})
        return
    print_table(
        ("topic", "partition", "mode", "due", "waits for"),
        [
            (r["topic"], r["partition"], r["mode"], time_text(r["due"]), _text(r["waited_for"]))
            for r in removals
        ],
    )


def _print_transition(step: "Transition", *, json: bool) -> None:
    if json:
        print_json_line(_transition_json(step))
    else:
        print_line(_transition_text(step))


def _transition_json(step: "Transition") -> dict[str, Any]:
    return {
        "offset": step.offset,
        "timestamp": step.timestamp,
        "topic": step.topic,
        "topic_id": id_text(step.topic_id),
        "partition": step.partition_id,
        "broker": step.broker_id,
        "before": step.before,
        "after": step.after,
        "leader": step.leader,
    }


def _transition_text(step: "Transition") -> str:
    what = f"{step.topic}/{step.partition_id}"
    if step.broker_id is not None:
        what += f" on broker {step.broker_id}"
    leader = f"  leader {step.leader}" if step.broker_id is None and step.leader >= 0 else ""
    return (
        f"{step.offset:>8} {time_text(step.timestamp)} {what}: "
        f"{step.before} -> {step.after}{leader}"
    )


def _text(value: Any) -> str:
    from api.cli.output import value_text

    return value_text(value)
