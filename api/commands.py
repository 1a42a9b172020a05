"""The decisions that can be asked for by name, in this process or across a connection.

One table serves both: whoever has a service or a client calls `run("topics create", request)` and
gets the decision's own response. Across a connection both travel as `api.packed` bytes.
"""

from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import msgspec

from controller.controller import Decision
from controller.decisions.alter_topics import AlterTopics, alter_topics
from controller.decisions.brokers import RegisterBroker, register_broker, unregister_broker
from controller.decisions.configs import AlterConfigs, alter_configs
from controller.decisions.elections import ElectLeaders, elect_leaders
from controller.decisions.features import UpdateFeatures, update_features
from controller.decisions.fencing import SetFencing, set_fencing
from controller.decisions.growth import CreatePartitions, create_partitions
from controller.decisions.lookup import TopicRef
from controller.decisions.modes import (
    DeletePartitions,
    cancel_delete_partitions,
    delete_partitions,
)
from controller.decisions.namespaces import (
    CreateNamespace,
    DeleteNamespace,
    MoveTopics,
    create_namespace,
    delete_namespace,
    move_topics,
)
from controller.decisions.partition_plan import PlanPartitions, plan_partitions
from controller.decisions.raw_append import AppendRows, append_rows
from controller.decisions.reassignments import AlterReassignments, alter_reassignments
from controller.decisions.topics import CreateTopics, DeleteTopics, create_topics, delete_topics
from controller.descriptions.queries import (
    DescribePartitions,
    DescribeTopics,
    ListBrokers,
    ListReassignments,
    ListRemovals,
    ListTopics,
    broker_described,
    brokers_listed,
    partitions_described,
    reassignments_listed,
    removals_listed,
    topics_described,
    topics_listed,
)
from controller.result import ControllerResult
from records.errors import RequestError


class Command(msgspec.Struct, frozen=True):
    """A decision that can be asked for, and the type of its request."""

    name: str
    request: Any
    decide: Callable[..., ControllerResult[Any]]

    @property
    def response(self) -> Any:
        """The type of the decision's response."""
        (response,) = get_args(get_type_hints(self.decide)["return"])
        return response

    def bound(self, request: Any) -> Decision[Any]:
        """Return the decision on one request."""
        return lambda context: self.decide(context, request)


COMMANDS = {
    command.name: command
    for command in (
        Command("topics create", CreateTopics, create_topics),
        Command("topics alter", AlterTopics, alter_topics),
        Command("topics list", ListTopics, topics_listed),
        Command("topics describe", DescribeTopics, topics_described),
        Command("topics delete", DeleteTopics, delete_topics),
        Command("partitions describe", DescribePartitions, partitions_described),
        Command("partitions removals", ListRemovals, removals_listed),
        Command("partitions create", CreatePartitions, create_partitions),
        Command("partitions plan", PlanPartitions, plan_partitions),
        Command("partitions delete", DeletePartitions, delete_partitions),
        Command("partitions cancel-delete", TopicRef, cancel_delete_partitions),
        Command("leaders elect", ElectLeaders, elect_leaders),
        Command("reassignments alter", AlterReassignments, alter_reassignments),
        Command("reassignments list", ListReassignments, reassignments_listed),
        Command("brokers list", ListBrokers, brokers_listed),
        Command("brokers describe", int, broker_described),
        Command("brokers register", RegisterBroker, register_broker),
        Command("brokers fence", SetFencing, set_fencing),
        Command("brokers unregister", int, unregister_broker),
        Command("configs alter", AlterConfigs, alter_configs),
        Command("features update", UpdateFeatures, update_features),
        Command("namespaces create", CreateNamespace, create_namespace),
        Command("namespaces delete", DeleteNamespace, delete_namespace),
        Command("topics move", MoveTopics, move_topics),
        Command("records append", AppendRows, append_rows),
    )
}


def find_command(name: str) -> Command:
    """Return the command of a name.

    Raises:
        RequestError: INVALID_REQUEST, there is none.
    """
    command = COMMANDS.get(name)
    if command is None:
        raise RequestError("INVALID_REQUEST", f"there is no command {name!r}")
    return command
