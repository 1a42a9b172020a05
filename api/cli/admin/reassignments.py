"""Reassignments: start, list, cancel."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.admin.options import NamespaceOption, ValidateOnly
from api.cli.admin.texts import broker_ids, partition_ref
from api.cli.options.parameters import Argument, Option, bad_parameter
from api.cli.parser.typer_app import App
from api.cli.terminal.output import print_line, print_table, time_text, value_text
from records.text import duration_text

if TYPE_CHECKING:
    from api.documents.topics import Missing, Reassignment, ReassignmentList
    from controller.decisions.lookup import TopicRef

app = App()

_Move = tuple["TopicRef", int, tuple[int, ...] | None]
"""A topic, the number of its partition, and the brokers to move it to; None cancels its move."""


@changing(app)
def start(
    ask: AdminClient,
    moves: Annotated[
        list[str],
        Argument(
            metavar="TOPIC/NUMBER=1,2,3...",
            help="Partitions and their brokers, the leader first.",
            show_default=False,
        ),
    ],
    keep_replication_factor: Annotated[
        bool,
        Option("--keep-replication-factor", help="Refuse to change the number of replicas."),
    ] = False,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Begin to move partitions to other brokers; a new target replaces an earlier one."""
    return _alter(
        ask,
        [_move(text, namespace) for text in moves],
        "can move" if validate_only else "moves",
        allow_rf_change=not keep_replication_factor,
        validate_only=validate_only,
    )


@changing(app)
def cancel(
    ask: AdminClient,
    partitions: Annotated[
        list[str],
        Argument(
            metavar="TOPIC/NUMBER...", help="Partitions that are being moved.", show_default=False
        ),
    ],
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Cancel moves; the partitions keep the replicas that they had before."""
    moves: list[_Move] = [(*partition_ref(text, namespace), None) for text in partitions]
    verb = "can stay" if validate_only else "stays"
    return _alter(ask, moves, verb, allow_rf_change=True, validate_only=validate_only)


@reading(app, "list")
def list_(look: Look) -> None:
    """List the partitions that are being moved, since when, and the replicas they wait for."""
    from controller.descriptions.progress import ListReassignments

    look.show("reassignments list", ListReassignments(), _print_reassignments)


def _print_reassignments(found: "ReassignmentList") -> None:
    if not found.reassignments:
        print_line("no partition is being moved")
        return
    lists = ("replicas", "adding_replicas", "removing_replicas", "waited_for")
    print_table(
        ("topic", "partition", "replicas", "adding", "removing", "waits for"),
        [
            (m.topic, m.partition, *(value_text(getattr(m, name)) for name in lists))
            for m in found.reassignments
        ],
    )
    for moving in found.reassignments:
        print_line()
        print_line(_running_text(moving))
        for replica in moving.missing:
            print_line(f"  {_missing_text(replica)}")


def _running_text(moving: "Reassignment") -> str:
    partition = f"{moving.topic}/{moving.partition}"
    if moving.since_offset is None or moving.age_ms is None:
        return f"{partition} moves since before the kept history"
    since = f"since offset {moving.since_offset}, {time_text(moving.since)}"
    return f"{partition} moves {since}, for {duration_text(moving.age_ms)}"


def _missing_text(replica: "Missing") -> str:
    has = "has not joined the ISR" if replica.is_added else "has left the ISR"
    since = ""
    if replica.since_offset is not None:
        since = f" since offset {replica.since_offset}, {time_text(replica.since)}"
    return f"{replica.broker} {has}: {replica.broker_state}{since}"


def _alter(
    ask: AdminClient,
    moves: list[_Move],
    verb: str,
    *,
    allow_rf_change: bool,
    validate_only: bool,
) -> int:
    from api.documents.changes import PartitionMoved
    from controller.decisions.partitions.reassignments import AlterReassignments, PartitionTarget

    request = AlterReassignments(
        partitions=tuple(
            [
                PartitionTarget(topic=topic, partition_id=number, broker_ids=brokers)
                for topic, number, brokers in moves
            ]
        ),
        allow_rf_change=allow_rf_change,
        validate_only=validate_only,
    )
    answer = ask.run("reassignments alter", request)
    items = []
    for (_, _, brokers), result in zip(moves, answer.response, strict=True):
        where = "" if brokers is None else f" to {value_text(brokers)}"
        items.append(
            Item(
                answer=PartitionMoved(
                    topic=result.topic, partition=result.partition_id, replicas=brokers
                ),
                lines=(f"{result.topic}/{result.partition_id} {verb}{where}",),
                refusal=result.refusal,
            )
        )
    return ask.report(answer, items, validate_only=validate_only)


def _move(text: str, namespace: str) -> _Move:
    partition, equals, brokers = text.rpartition("=")
    if not equals:
        raise bad_parameter(f"{text!r} is not a move; write TOPIC/NUMBER=1,2,3")
    return *partition_ref(partition, namespace), broker_ids(brokers)
