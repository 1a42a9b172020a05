"""The table of the commands of brokers, each of which is a Kafka request of its own."""

from api.requests.command import ISR_CHANGES_MAX, Command
from controller.decisions.brokers.deletion_reports import ReportDeletions, report_deletions
from controller.decisions.brokers.directory_assignment import AssignReplicas, assign_replicas
from controller.decisions.brokers.heartbeats import Heartbeat, heartbeat
from controller.decisions.brokers.isr_proposals import AlterPartition, alter_partition
from controller.decisions.brokers.producer_ids import AllocateProducerIds, allocate_producer_ids
from controller.decisions.brokers.registrations import RegisterBroker, register_broker
from controller.rights import rights

_DIRECTORIES_MAX = 2_250
"""As many replicas as Kafka's brokers send in one AssignReplicasToDirs request."""

BROKER_COMMANDS = {
    command.name: command
    for command in (
        Command(
            "register", RegisterBroker, register_broker, rights.BROKER_ACTION, tells_versions=False
        ),
        Command("heartbeat", Heartbeat, heartbeat, rights.BROKER_ACTION, tells_versions=False),
        Command(
            "alter partition",
            AlterPartition,
            alter_partition,
            rights.BROKER_ACTION,
            tells_versions=False,
            items_max=ISR_CHANGES_MAX,
        ),
        Command(
            "assign directories",
            AssignReplicas,
            assign_replicas,
            rights.BROKER_ACTION,
            tells_versions=False,
            items_max=_DIRECTORIES_MAX,
        ),
        Command(
            "producer ids allocate",
            AllocateProducerIds,
            allocate_producer_ids,
            rights.BROKER_ACTION,
            tells_versions=False,
        ),
        Command(
            "report deletions",
            ReportDeletions,
            report_deletions,
            rights.BROKER_ACTION,
            tells_versions=False,
        ),
    )
}
"""Commands of brokers by name."""
