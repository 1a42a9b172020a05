"""The table of commands: what `metalog --help` lists, in its order, and where each is declared."""

from typing import NamedTuple


class Noun(NamedTuple):
    """A group of commands, such as `topics`: its summary, and its modules.

    The first module creates the typer app; all of them are imported on first use, because their
    options take several hundred lines.
    """

    help: str
    modules: tuple[str, ...]


def _admin(help_: str, *modules: str) -> Noun:
    return Noun(help_, tuple(f"admin.{module}" for module in modules))


SECTIONS: dict[str, dict[str, str | Noun]] = {
    "Make a log": {
        "init": "log.logs",
        "demo": "log.logs",
        "import": Noun("Import a log that Kafka wrote.", ("log.imports", "log.gap_import")),
        "fork": "log.fork",
    },
    "Look at a log": {
        "info": "log.logs",
        "image": "log.contents",
        "dump": "log.contents",
        "tail": "log.stream",
        "digest": "log.contents",
        "du": "log.usage",
    },
    "Look at the past": {
        "summary": "past.summary",
        "history": "past.changes",
        "blame": "past.changes",
        "diff": "past.changes",
        "timeline": "past.timeline",
        "outages": "past.outages",
        "why": "past.why",
        "report": "past.report",
        "view": "service.view",
        "mcp": "service.mcp",
        "shell": "shell.command",
    },
    "Real clusters": {
        "compare": "kafka.comparison",
        "confirm": "kafka.confirmation",
        "advise": "kafka.advice",
        "upgrade-check": "kafka.upgrade",
        "doctor": "kafka.doctor",
        "record": "service.record",
        "export": Noun(
            "Export a log to Kafka: as segments, a checkpoint, or a script.", ("log.exports",)
        ),
    },
    "Debug a history": {
        "bisect": "past.proofs",
        "check": "past.proofs",
        "shrink": "past.shrink",
        "what-if": "past.what_if",
    },
    "Snapshots, SQL and Spark": {
        "snapshot": Noun("Store images in SQL.", ("database.snapshots",)),
        "sql": Noun("Keep the history in SQL tables.", ("database.sql",)),
        "audit": "audit.audit",
    },
    "Take care of a log": {
        "verify": "log.repair",
        "repair": "log.repair",
        "backup": "log.copies",
        "restore": "log.copies",
        "archive": "log.copies",
        "retain": "log.copies",
    },
    "Change a cluster": {
        "topics": _admin(
            "Create, list, describe, alter, delete and adopt topics.",
            *("topics", "topic_alteration", "topic_adoption", "topic_lives"),
        ),
        "namespaces": _admin("Create, list and delete namespaces; move topics.", "namespaces"),
        "configs": _admin("Change and explain configs of topics, brokers, the cluster.", "configs"),
        "subscriptions": _admin(
            "Register patterns of the topics that groups consume.", "subscriptions"
        ),
        "brokers": _admin("List, describe, register, fence and unregister brokers.", "brokers"),
        "partitions": _admin("List and describe partitions; print their states.", "partitions"),
        "reassignments": _admin("Move partitions to other brokers.", "reassignments"),
        "elect-leaders": "admin.elect_leaders",
        "features": _admin("Describe and change feature levels.", "features"),
        "acls": _admin("Create, list and delete ACLs; explain what they allow.", "acls"),
        "users": _admin("Create, alter, list and delete SCRAM credentials.", "users"),
        "quotas": _admin("Set, delete, describe and explain client quotas.", "quotas"),
        "tokens": _admin("Create, renew, expire and describe delegation tokens.", "tokens"),
        "notes": _admin("Pin notes to offsets, and list them.", "notes"),
        "transaction": "admin.transaction",
        "append": "log.stream",
    },
    "Run it": {
        "serve": "service.serve",
        "broker": "service.broker",
        "nodes": Noun("Share a log between several nodes, of which one leads.", ("service.nodes",)),
    },
}
"""By section title and name: the module in `api.cli` that declares a command, or a noun."""

COMMANDS = {name: row for section in SECTIONS.values() for name, row in section.items()}


def modules_of(command: str) -> tuple[str, ...]:
    """Return the full names of the modules that declare a command, or the verbs of a noun."""
    row = COMMANDS[command]
    modules = row.modules if isinstance(row, Noun) else (row,)
    return tuple(f"api.cli.{module}" for module in modules)
