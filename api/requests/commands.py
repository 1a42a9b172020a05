"""The commands that can be run by name, in this process or over a connection.

One table serves both: a service or a client runs `run("topics create", request)` and returns the
decision's response. Over a connection both are encoded by `controller.wire`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from api.questions.descriptions import described
from api.questions.table import STEPS, find_question, guard_of
from api.requests.broker_commands import BROKER_COMMANDS
from api.requests.command import Command
from api.requests.transactions import (
    NAME,
    STEPS_MAX,
    Transact,
    Transacted,
    guard,
    item_count,
    transact,
)
from controller.decisions.brokers.fencing import SetFencing, set_fencing
from controller.decisions.brokers.registrations import (
    RegisterBroker,
    UnregisterBroker,
    register_broker,
    unregister_broker,
)
from controller.decisions.configs.changes import (
    AlterConfigs,
    ReplaceConfigs,
    alter_configs,
    replace_configs,
)
from controller.decisions.context.context import Context
from controller.decisions.features.levels_in_use import UpdateFeatures, update_features
from controller.decisions.lookup import TopicRef
from controller.decisions.namespaces.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.notes import AddNote, add_note
from controller.decisions.partitions.elections import ElectLeaders, elect_leaders
from controller.decisions.partitions.reassignments import AlterReassignments, alter_reassignments
from controller.decisions.quotas.client_quotas import AlterQuotas, alter_quotas
from controller.decisions.request import Request
from controller.decisions.security.acls import CreateAcls, DeleteAcls, create_acls, delete_acls
from controller.decisions.security.tokens import (
    CreateToken,
    ExpireToken,
    RenewToken,
    create_token,
    expire_token,
    renew_token,
)
from controller.decisions.security.users import AlterUsers, alter_users
from controller.decisions.topics.alterations import AlterTopics, alter_topics
from controller.decisions.topics.growth import CreatePartitions, create_partitions
from controller.decisions.topics.partition_plan import PlanPartitions, plan_partitions
from controller.decisions.topics.partition_removal import (
    CancelDeletePartitions,
    DeletePartitions,
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.topics.subscriptions import (
    DeleteSubscription,
    RegisterSubscription,
    delete_subscription,
    register_subscription,
)
from controller.decisions.topics.topics import (
    CreateTopics,
    DeleteTopics,
    create_topics,
    delete_topics,
)
from controller.descriptions.queries import DescribeBroker
from controller.raw_appends.raw_append import AppendRows, append_rows
from controller.results.result import ControllerResult
from controller.rights import namespace_rights, rights, subscription_rights
from controller.wire import from_wire
from records.command_names import logged_name
from records.errors import RequestError


def _transact(context: Context, request: Transact) -> ControllerResult[Transacted]:
    return transact(context, request, find_command)


_PARTITIONS_MAX = 7_500
"""Kafka's tools send all partitions of a plan in one request; each costs some 5 us."""

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

COMMANDS = {
    command.name: command
    for command in (
        Command(
            "topics create", CreateTopics, create_topics, rights.CREATE_TOPICS, example=_ASSIGNED
        ),
        Command(
            "topics alter",
            AlterTopics,
            alter_topics,
            rights.ALTER_TOPICS,
            example={"topics": [{"topic": "orders", "partitions": 6}]},
        ),
        Command(
            "topics delete",
            DeleteTopics,
            delete_topics,
            rights.DELETE_TOPICS,
            example={"topics": ["orders"]},
        ),
        Command(
            "partitions create",
            CreatePartitions,
            create_partitions,
            rights.CREATE_PARTITIONS,
            example={"topics": [{"topic": "orders", "partitions": 6}]},
        ),
        Command(
            "partitions plan",
            PlanPartitions,
            plan_partitions,
            rights.PLAN_PARTITIONS,
            example={"topics": ["orders"], "partitions": 2},
        ),
        Command(
            "partitions delete",
            DeletePartitions,
            delete_partitions,
            rights.DELETE_PARTITIONS,
            example={"topics": [{"topic": "orders", "partitions": 2}]},
        ),
        Command(
            "partitions cancel-delete",
            TopicRef,
            cancel_delete_partitions,
            rights.CANCEL_DELETE_PARTITIONS,
            example={"topic": "orders"},
        ),
        Command(
            "leaders elect",
            ElectLeaders,
            elect_leaders,
            rights.ALTER_CLUSTER,
            items_max=_PARTITIONS_MAX,
            example={"partitions": [["orders", 0]]},
        ),
        Command(
            "reassignments alter",
            AlterReassignments,
            alter_reassignments,
            rights.ALTER_CLUSTER,
            items_max=_PARTITIONS_MAX,
            example={"partitions": [{"topic": "orders", "partition_id": 0, "broker_ids": [1, 2]}]},
        ),
        Command(
            "brokers register",
            RegisterBroker,
            register_broker,
            rights.BROKER_ACTION,
            example={
                "broker_id": 1,
                "cluster_id": "EpwKlK0lQkSmdhfG2sVDkg",
                "incarnation_id": "AAAAAAAAAAAAAAAAAAAAAQ",
            },
        ),
        Command(
            "brokers fence",
            SetFencing,
            set_fencing,
            rights.ALTER_CLUSTER,
            example={"broker_id": 1, "fenced": True},
        ),
        Command(
            "brokers unregister",
            int,
            unregister_broker,
            rights.ALTER_CLUSTER,
            example={"broker_id": 1},
        ),
        Command(
            "configs alter",
            AlterConfigs,
            alter_configs,
            rights.ALTER_CONFIGS,
            example={"resources": [_RETENTION]},
        ),
        Command(
            "configs replace",
            ReplaceConfigs,
            replace_configs,
            rights.ALTER_CONFIGS,
            example={"resources": [_RETENTION]},
        ),
        Command(
            "acls create", CreateAcls, create_acls, rights.ALTER_CLUSTER, example={"acls": [_ACL]}
        ),
        Command(
            "acls delete",
            DeleteAcls,
            delete_acls,
            rights.ALTER_CLUSTER,
            example={"filters": [{"principal": "User:ann"}]},
        ),
        Command(
            "features update",
            UpdateFeatures,
            update_features,
            rights.ALTER_CLUSTER,
            example={"updates": [{"name": "metadata.version", "level": 25}]},
        ),
        Command(
            "users alter",
            AlterUsers,
            alter_users,
            rights.ALTER_CLUSTER,
            example={"deletions": [{"user": "ann", "mechanism": "SCRAM_SHA_256"}]},
        ),
        Command(
            "tokens create",
            CreateToken,
            create_token,
            rights.CREATE_TOKEN,
            example={"owner": "User:ann"},
        ),
        Command(
            "tokens renew",
            RenewToken,
            renew_token,
            rights.OWN_TOKEN,
            example={"token_id": "dG9rZW4"},
        ),
        Command(
            "tokens expire",
            ExpireToken,
            expire_token,
            rights.OWN_TOKEN,
            example={"token_id": "dG9rZW4"},
        ),
        Command(
            "quotas alter",
            AlterQuotas,
            alter_quotas,
            rights.ALTER_QUOTAS,
            example={
                "entities": [
                    {
                        "entity": [["user", "ann"]],
                        "changes": [{"key": "producer_byte_rate", "value": 1048576.0}],
                    }
                ]
            },
        ),
        Command(
            "namespaces create",
            CreateNamespace,
            create_namespace,
            namespace_rights.CREATE_NAMESPACE,
            example={"name": "shop"},
        ),
        Command(
            "namespaces delete",
            DeleteNamespace,
            delete_namespace,
            namespace_rights.DELETE_NAMESPACE,
            example={"name": "shop"},
        ),
        Command(
            "topics move",
            MoveTopics,
            move_topics,
            namespace_rights.MOVE_TOPICS,
            example={"from_namespace": "", "to_namespace": "shop", "topic": "orders"},
        ),
        Command(
            "subscriptions register",
            RegisterSubscription,
            register_subscription,
            subscription_rights.REGISTER_SUBSCRIPTION,
            example={"group": "billing", "pattern": "orders.*"},
        ),
        Command(
            "subscriptions delete",
            DeleteSubscription,
            delete_subscription,
            subscription_rights.DELETE_SUBSCRIPTION,
            example={"group": "billing"},
        ),
        Command(
            "notes add",
            AddNote,
            add_note,
            rights.ALTER_CLUSTER,
            example={"at_offset": 0, "text": "seen"},
        ),
        Command("records append", AppendRows, append_rows, rights.BROKER_ACTION, items_max=None),
        Command(
            NAME,
            Transact,
            _transact,
            guard(lambda name: find_command(name)),
            items_max=STEPS_MAX,
            count=lambda request: item_count(request, find_command),
            example={"steps": [{"command": "topics create", "request": _ASSIGNED}]},
        ),
    )
}
"""Commands of clients, which change a cluster. For questions see `api.questions`."""

_BARE: dict[type[Request[Any]], str] = {
    CancelDeletePartitions: "partitions cancel-delete",
    DescribeBroker: "brokers describe",
    UnregisterBroker: "brokers unregister",
}
"""Requests with a single field; their command takes the field's value."""

_DESCRIPTIONS = {
    question.name: Command(
        question.name,
        question.request,
        partial(described, question),
        guard_of(question),
        question.response,
        items_max=None,
    )
    for question in map(find_question, STEPS)
}
"""Questions that can also be run as commands: alone, or as a step of a transaction."""

_FOR_CLIENTS = COMMANDS | _DESCRIPTIONS

_BY_REQUEST = {c.request: c.name for c in _FOR_CLIENTS.values() if isinstance(c.request, type)}

ALL_COMMANDS = _FOR_CLIENTS | BROKER_COMMANDS
"""Commands of clients and brokers, and questions that can be a step of a transaction."""


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


def bare_request(name: str) -> Any:
    """Return the struct whose single field a command takes as its request; None for the others."""
    return next((cls for cls, command in _BARE.items() if command == name), None)


def named(request: Request[Any]) -> tuple[str, Any]:
    """Return the name of the command for a request, and the argument that the command takes.

    Raises:
        RequestError: INVALID_REQUEST, it is the request of no command.
    """
    name = _BARE.get(type(request))
    if name is None:
        name = _BY_REQUEST.get(type(request))
        if name is None:
            kind = type(request).__name__
            raise RequestError("INVALID_REQUEST", f"no command has a request of the type {kind}")
        return name, request
    (field,) = request.__struct_fields__
    return name, getattr(request, field)
