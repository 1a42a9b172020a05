"""The commands that can be run by name, in this process or over a connection.

One table serves both: a service or a client runs `run("topics create", request)` and returns the
decision's response. Over a connection both are encoded by `controller.wire`.
"""

import functools
from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from api.questions.question import Question
from api.questions.table import STEPS, find_question, guard_of
from api.requests.command import ISR_CHANGES_MAX, ITEMS_MAX, Command, Decide, DecideInTurns
from api.requests.transactions import (
    NAME,
    STEPS_MAX,
    Transact,
    Transacted,
    guard,
    item_count,
    transact,
    transact_in_turns,
)
from controller.decisions.context.context import Context
from controller.decisions.request import Request
from controller.descriptions.view import View
from controller.forks.commands import Commands
from controller.results.result import ControllerResult
from controller.results.turns import Turns
from controller.rights.guard import Guard
from controller.wire import from_wire
from records.command_names import logged_name
from records.errors import RequestError
from replay.image.fields import copied

_PARTITIONS_MAX = 7_500
"""Maximum partitions in a request: Kafka's tools send a whole plan at once; each takes 5 us."""

_ASSIGNED = {"topics": [{"name": "orders", "partitions": 3}]}
_ACL = {
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "pattern_type": "LITERAL",
    "principal": "User:ann",
    "host": "*",
    "operation": "READ",
    "permission_type": "ALLOW",
}
_RETENTION = {
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "changes": [{"name": "retention.ms", "value": "86400000"}],
}

_DIRECTORIES_MAX = 2_250
"""Maximum replicas in a request, as many as Kafka's brokers send in AssignReplicasToDirs."""


def _command(
    place: str,
    right: str,
    struct: str | None = None,
    items_max: int = ITEMS_MAX,
    /,
    **example: Any,
) -> Command:
    """Return the row of a command, without its name."""
    place = f"controller.decisions.{place}"
    return Command(place, right, example, struct, items_max=items_max)


def _in_turns(row: Command) -> Command:
    """Return the row of a command whose decision may take several turns of the event loop."""
    return replace(row, turns=f"{row.place}_in_turns")


def _of_brokers(place: str, items_max: int = ITEMS_MAX) -> Command:
    place = f"controller.decisions.{place}"
    return Command(place, "BROKER_ACTION", tells_versions=False, items_max=items_max)


def _with_names(rows: dict[str, Command]) -> dict[str, Command]:
    return {name: replace(row, name=name) for name, row in rows.items()}


def _run_steps(context: Context, request: Transact) -> ControllerResult[Transacted]:
    return transact(context, request, find_command)


def _run_steps_in_turns(context: Context, request: Transact) -> Turns[ControllerResult[Transacted]]:
    return transact_in_turns(context, request, find_command)


class _Transaction(Command, frozen=True):
    """Several commands as one; it requires the rights of all of them and has all their items."""

    @property
    def decide(self) -> Decide:
        """Decides the steps."""
        return _run_steps

    @property
    def in_turns(self) -> DecideInTurns:
        """Decides the steps, some in each turn of the event loop."""
        return _run_steps_in_turns

    @property
    def guard(self) -> Guard:
        """Requires the rights of all steps."""
        return guard(find_command)

    def count(self, request: Any) -> int:
        """Return the number of items in all steps; raises as `item_count`."""
        return item_count(request, find_command)


_ROWS: dict[str, Command] = {
    "topics create": _in_turns(
        _command("topics.topics:create_topics", "CREATE_TOPICS", **_ASSIGNED)
    ),
    "topics alter": _command(
        "topics.alterations:alter_topics",
        "ALTER_TOPICS",
        topics=[{"topic": "orders", "partitions": 6}],
    ),
    "topics delete": _command("topics.topics:delete_topics", "DELETE_TOPICS", topics=["orders"]),
    "partitions create": _command(
        "topics.growth:create_partitions",
        "CREATE_PARTITIONS",
        topics=[{"topic": "orders", "partitions": 6}],
    ),
    "partitions plan": _command(
        "topics.partition_plan:plan_partitions", "PLAN_PARTITIONS", topics=["orders"], partitions=2
    ),
    "partitions delete": _command(
        "topics.partition_removal:delete_partitions",
        "DELETE_PARTITIONS",
        topics=[{"topic": "orders", "partitions": 2}],
    ),
    "partitions cancel-delete": _command(
        "topics.partition_removal:cancel_delete_partitions",
        "CANCEL_DELETE_PARTITIONS",
        "CancelDeletePartitions",
        topic="orders",
    ),
    "leaders elect": _in_turns(
        _command(
            "partitions.elections:elect_leaders",
            "ALTER_CLUSTER",
            None,
            _PARTITIONS_MAX,
            partitions=[["orders", 0]],
        )
    ),
    "reassignments alter": _in_turns(
        _command(
            "partitions.reassignments:alter_reassignments",
            "ALTER_CLUSTER",
            None,
            _PARTITIONS_MAX,
            partitions=[{"topic": "orders", "partition_id": 0, "broker_ids": [1, 2]}],
        )
    ),
    "brokers register": _command(
        "brokers.registrations:register_broker",
        "BROKER_ACTION",
        broker_id=1,
        cluster_id="EpwKlK0lQkSmdhfG2sVDkg",
        incarnation_id="AAAAAAAAAAAAAAAAAAAAAQ",
    ),
    "brokers fence": _command(
        "brokers.fencing:set_fencing", "ALTER_CLUSTER", broker_id=1, fenced=True
    ),
    "brokers unregister": _command(
        "brokers.registrations:unregister_broker", "ALTER_CLUSTER", "UnregisterBroker", broker_id=1
    ),
    "configs alter": _command(
        "configs.changes:alter_configs", "ALTER_CONFIGS", resources=[_RETENTION]
    ),
    "configs replace": _command(
        "configs.changes:replace_configs", "ALTER_CONFIGS", resources=[_RETENTION]
    ),
    "acls create": _command("security.acls:create_acls", "ALTER_CLUSTER", acls=[_ACL]),
    "acls delete": _command(
        "security.acls:delete_acls", "ALTER_CLUSTER", filters=[{"principal": "User:ann"}]
    ),
    "features update": _command(
        "features.levels_in_use:update_features",
        "ALTER_CLUSTER",
        updates=[{"name": "metadata.version", "level": 25}],
    ),
    "users alter": _command(
        "security.users:alter_users",
        "ALTER_CLUSTER",
        deletions=[{"user": "ann", "mechanism": "SCRAM_SHA_256"}],
    ),
    "tokens create": _command("security.tokens:create_token", "CREATE_TOKEN", owner="User:ann"),
    "tokens renew": _command("security.tokens:renew_token", "OWN_TOKEN", token_id="dG9rZW4"),
    "tokens expire": _command("security.tokens:expire_token", "OWN_TOKEN", token_id="dG9rZW4"),
    "quotas alter": _command(
        "quotas.client_quotas:alter_quotas",
        "ALTER_QUOTAS",
        entities=[
            {
                "entity": [["user", "ann"]],
                "changes": [{"key": "producer_byte_rate", "value": 1048576.0}],
            }
        ],
    ),
    "namespaces create": _command(
        "namespaces.namespaces:create_namespace", "namespace_rights:CREATE_NAMESPACE", name="shop"
    ),
    "namespaces delete": _command(
        "namespaces.namespaces:delete_namespace", "namespace_rights:DELETE_NAMESPACE", name="shop"
    ),
    "topics move": _command(
        "namespaces.namespaces:move_topics",
        "namespace_rights:MOVE_TOPICS",
        from_namespace="",
        to_namespace="shop",
        topic="orders",
    ),
    "subscriptions register": _command(
        "topics.subscriptions:register_subscription",
        "subscription_rights:REGISTER_SUBSCRIPTION",
        group="billing",
        pattern="orders.*",
    ),
    "subscriptions delete": _command(
        "topics.subscriptions:delete_subscription",
        "subscription_rights:DELETE_SUBSCRIPTION",
        group="billing",
    ),
    "notes add": _command("notes:add_note", "ALTER_CLUSTER", at_offset=0, text="seen"),
    "records append": _in_turns(
        Command("controller.raw_appends.raw_append:append_rows", "BROKER_ACTION", items_max=None)
    ),
    NAME: _Transaction(
        "api.requests.transactions:transact",
        "",
        {"steps": [{"command": "topics create", "request": _ASSIGNED}]},
        items_max=STEPS_MAX,
    ),
}

COMMANDS = _with_names(_ROWS)
"""Commands of clients, which change a cluster. For questions see `api.questions`."""

BROKER_COMMANDS = _with_names(
    {
        "register": _of_brokers("brokers.registrations:register_broker"),
        "heartbeat": _of_brokers("brokers.heartbeats:heartbeat"),
        "alter partition": _of_brokers("brokers.isr_proposals:alter_partition", ISR_CHANGES_MAX),
        "assign directories": _of_brokers(
            "brokers.directory_assignment:assign_replicas", _DIRECTORIES_MAX
        ),
        "producer ids allocate": _of_brokers("brokers.producer_ids:allocate_producer_ids"),
        "report deletions": _of_brokers("brokers.deletion_reports:report_deletions"),
        "announce voter": _of_brokers("brokers.voters:announce_voter"),
    }
)
"""Commands of brokers, each of which is a Kafka request of its own."""


class _Description(Command, frozen=True):
    """A question about a cluster at one point as a command: it writes no records."""

    @property
    def is_question(self) -> bool:
        """True."""
        return True

    @property
    def decide(self) -> Decide:
        """Answers the question."""
        return partial(described, find_question(self.name))

    @property
    def guard(self) -> Guard:
        """The guard of the question."""
        return guard_of(find_question(self.name))

    @property
    def response(self) -> Any:
        """The type of the answer."""
        return find_question(self.name).response


_DESCRIPTIONS = _with_names(
    {
        name: _Description(row.question, row.guard, struct=row.struct, items_max=None)
        for name, row in STEPS.items()
    }
)
"""Questions that can also be run as commands: alone, or as a step of a transaction."""

_FOR_CLIENTS = COMMANDS | _DESCRIPTIONS

ALL_COMMANDS = _FOR_CLIENTS | BROKER_COMMANDS
"""Commands of clients and brokers, and questions that can be a step of a transaction."""

RECORDED = Commands(ALL_COMMANDS, "records append", NAME, transact)
"""All commands that a log can contain, for repeating past decisions."""


def described(question: Question, context: Context, request: Any) -> ControllerResult[Any]:
    """Answer a question from the state in a decision's context; no records are written."""
    assert question.describe is not None, "a controller answers only descriptions"
    view = copied(context, View)
    return ControllerResult(response=question.describe(view, request))


def load_commands() -> None:
    """Import the modules of all commands now, because a later import would delay other requests."""
    for command in ALL_COMMANDS.values():
        _ = command.decide, command.guard


def find_command(name: str) -> Command:
    """Return the command that clients may run, by either of its names (`command_names`).

    Raises:
        RequestError: INVALID_REQUEST, there is no such command.
    """
    return _named(_FOR_CLIENTS, name)


def any_command(name: str) -> Command:
    """Return a command for clients or brokers by its name; raises the error of `find_command`."""
    return _named(ALL_COMMANDS, name)


def _named(commands: Mapping[str, Command], name: str) -> Command:
    found = commands.get(logged_name(name))
    if found is None:
        raise RequestError("INVALID_REQUEST", f"there is no command {name!r}")
    return found


def step_responses(transacted: Transacted) -> list[Any]:
    """Return the response to each step of a transaction, in order."""
    return [
        from_wire(step.response, find_command(step.command).response, lenient=True)
        for step in transacted.steps
    ]


def named(request: Request[Any]) -> tuple[str, Any]:
    """Return the name of the command for a request, and the argument that the command takes.

    Raises:
        RequestError: INVALID_REQUEST, no command takes this request.
    """
    cls = type(request)
    command = _command_of(cls)
    if command is None:
        kind = cls.__name__
        raise RequestError("INVALID_REQUEST", f"no command has a request of the type {kind}")
    if command.struct is None:
        return command.name, request
    (field,) = request.__struct_fields__
    return command.name, getattr(request, field)


@functools.cache
def _command_of(cls: type[Request[Any]]) -> Command | None:
    """Return the command whose requests are of this class, importing only that command's module."""
    for command in _FOR_CLIENTS.values():
        if command.place.startswith(f"{cls.__module__}:") and command.request_struct is cls:
            return command
    return None
