"""Topics: create, list, describe, delete."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import AdminClient, Item
from api.cli.admin.change import changing
from api.cli.admin.look import Look, reading
from api.cli.admin.options import (
    Configs,
    NamespaceOption,
    Placement,
    TopicNames,
    ValidateOnly,
)
from api.cli.admin.subscriptions import warning_lines
from api.cli.admin.texts import (
    assignments,
    config_pairs,
    need_topics,
    new_topic_name,
    topic_ref,
)
from api.cli.options.parameters import Argument, Option
from api.cli.parser.typer_app import App
from api.cli.terminal.errors import REFUSED, print_error
from api.cli.terminal.output import count_text, print_line, print_table, value_text

if TYPE_CHECKING:
    from api.documents.topics import Partition, Topic, TopicList, TopicsDescribed
    from controller.decisions.topics.topics import TopicResult

app = App()


@changing(app)
def create(
    ask: AdminClient,
    names: Annotated[
        list[str], Argument(metavar="TOPIC...", help="Names of the topics.", show_default=False)
    ],
    partitions: Annotated[int, Option(help="Number of partitions; -1: the server's default.")] = -1,
    replication_factor: Annotated[
        int, Option(help="Number of replicas of each partition; -1: the server's default.")
    ] = -1,
    assignment: Annotated[
        str | None,
        Option(metavar="1:2,2:3", help="Brokers of each partition, the leader first."),
    ] = None,
    config: Configs = None,
    placement: Placement = None,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Create topics with the same settings; a refused one does not stop the others."""
    from controller.decisions.topics.topics import CreateTopics, NewTopic

    named = [new_topic_name(text, namespace) for text in names]
    topics = [
        NewTopic(
            name=name,
            namespace=of_namespace,
            partitions=partitions,
            replication_factor=replication_factor,
            assignments=() if assignment is None else assignments(assignment),
            configs=config_pairs(config),
        )
        for of_namespace, name in named
    ]
    request = CreateTopics(topics=tuple(topics), placement=placement, validate_only=validate_only)
    answer = ask.run("topics create", request)
    items = [created_item(result) for result in answer.response]
    return ask.report(answer, items, validate_only=validate_only)


@changing(app)
def delete(
    ask: AdminClient,
    topics: TopicNames,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Delete topics; a name is free again at once."""
    from api.documents.changes import TopicDeleted
    from controller.decisions.topics.topics import DeleteTopics

    refs = tuple([topic_ref(name, namespace) for name in topics])
    answer = ask.run("topics delete", DeleteTopics(topics=refs, validate_only=validate_only))
    verb = "can delete" if validate_only else "deleted"
    items = []
    for result in answer.response:
        deleted = TopicDeleted.of(result)
        line = f"{verb} {deleted.name}, id {deleted.topic_id}"
        items.append(Item(answer=deleted, lines=(line,), refusal=result.refusal))
    return ask.report(answer, items, validate_only=validate_only)


@reading(app, "list")
def list_(
    look: Look,
    pattern: Annotated[
        str | None,
        Option(
            metavar="REGEX", help="Only full names that match this regular expression, such as o.*"
        ),
    ] = None,
    namespace: NamespaceOption = "",
    exclude_internal: Annotated[
        bool, Option("--exclude-internal", help="Leave out Kafka's internal topics.")
    ] = False,
) -> None:
    """List topics, ordered by name."""
    from controller.descriptions.topics import ListTopics

    question = ListTopics(internal=not exclude_internal, pattern=pattern, namespace=namespace)
    look.show("topics list", question, _print_topics)


def _print_topics(found: "TopicList") -> None:
    print_table(
        ("topic", "id", "partitions", "replicas"),
        [(t.name, t.topic_id, t.partitions, t.replication_factor) for t in found.topics],
    )


@reading(app)
def describe(
    look: Look,
    topics: Annotated[
        list[str] | None,
        Argument(
            metavar="[TOPIC...]",
            help="Topics, each by name or @ID; default: all.",
            show_default=False,
        ),
    ] = None,
    topic_id: Annotated[
        list[str] | None, Option("--topic-id", metavar="ID", help="Id of a topic; repeatable.")
    ] = None,
    namespace: NamespaceOption = "",
    all_configs: Annotated[
        bool,
        Option(
            "--all-configs",
            help="Also print configs that are inherited or have their default value.",
        ),
    ] = False,
    show_secrets: Annotated[
        bool, Option("--show-secrets", help="Print secrets instead of (redacted).")
    ] = False,
) -> int:
    """Describe topics: ids, configs, and each partition's mode, leader, replicas and lag."""
    from api.documents.topics import topics_described

    need_topics(namespace, topics)
    refs = [topic_ref(name, namespace) for name in topics or []]
    refs += [topic_ref(f"@{text}") for text in topic_id or []]
    from controller.descriptions.topics import DescribeTopics

    question = DescribeTopics(topics=tuple(refs), show_secrets=show_secrets)
    answer, about = look.answer("topics describe", question)
    shown = topics_described(question, answer, all_configs=all_configs)
    look.print(shown, about, _print_described)
    refused = False
    for ref, asked_for in zip(refs, answer.topics, strict=False):
        if asked_for.refusal is not None:
            from api.questions.named_objects import topic_object

            refused = True
            code, message = asked_for.refusal.code, asked_for.refusal.message
            print_error(code, look.explained(code, message, topic_object(ref)))
    return REFUSED if refused else 0


def _print_described(found: "TopicsDescribed") -> None:
    for topic in found.topics:
        _print_topic(topic)


def created_item(result: "TopicResult") -> Item:
    """Return the result of creating a topic in the form in which it is printed."""
    from api.documents.changes import TopicCreated

    created = TopicCreated.of(result)
    has_id = f", id {created.topic_id}" if created.topic_id else ""
    counts = (
        f"{count_text(result.partitions, 'partition')} of "
        f"{count_text(result.replication_factor, 'replica')}"
    )
    return Item(
        answer=created,
        lines=(
            f"{'created' if result.topic_id else 'can create'} {result.name}: {counts}{has_id}",
            *warning_lines(result.subscriptions, result.name),
        ),
        refusal=result.refusal,
    )


def partition_row(partition: "Partition") -> tuple[object, ...]:
    """Return a partition as table cells, in the order of `PARTITION_COLUMNS`."""
    lists = (partition.replicas, partition.isr, partition.offline_replicas)
    return (
        partition.partition,
        partition.mode,
        "none" if partition.leader < 0 else partition.leader,
        *map(value_text, lists),
        value_text(["?" if lag is None else lag for lag in partition.lags]),
        version_cell(partition.version),
    )


def version_cell(version: int | None) -> object:
    """Return an object's version as a table cell; `-` if it is None."""
    return "-" if version is None else version


PARTITION_COLUMNS = ("partition", "mode", "leader", "replicas", "isr", "offline", "lag", "version")
"""Columns of a table of partitions; a lag of ? means unknown."""


def _print_topic(topic: "Topic") -> None:
    internal = "  internal" * topic.is_internal
    versions = f"version {version_cell(topic.version)}"
    if topic.configs_version is not None:
        versions += f"  configs version {topic.configs_version}"
    print_line(f"{topic.name}{internal}  {versions}  id {topic.topic_id}")
    for config in topic.configs:
        source = "" if config.overridden else f"  ({config.source})"
        print_line(f"  {config.name}={config.value}{source}")
    print_table(PARTITION_COLUMNS, [partition_row(p) for p in topic.partitions])
