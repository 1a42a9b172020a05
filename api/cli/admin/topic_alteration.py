"""The `topics alter` command."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import AdminClient, Item, One
from api.cli.admin.change import changing
from api.cli.admin.options import NamespaceOption, Placement, TopicNames, ValidateOnly
from api.cli.admin.texts import assignments, config_pairs, topic_ref
from api.cli.admin.topics import app
from api.cli.options.parameters import Option, bad_parameter
from api.cli.terminal.output import time_text, value_text

if TYPE_CHECKING:
    from controller.decisions.configs.changes import ConfigChange
    from controller.decisions.lookup import TopicRef
    from controller.decisions.partitions.assignments import Assignment
    from controller.decisions.topics.alterations import AlterationResult
    from controller.decisions.topics.partition_plan import PartitionPlan

_UNSET = -1
# A hundred years: the due time must be printable.
_DELAY_MAX_MS = 100 * 366 * 24 * 3_600_000


@changing(app)
def alter(
    ask: AdminClient,
    topics: TopicNames,
    partitions: Annotated[
        int,
        Option(
            metavar="N",
            help="New number of partitions; a lower one removes the partitions with the "
            "highest ids.",
        ),
    ] = _UNSET,
    replication_factor: Annotated[
        int, Option(metavar="N", help="New number of replicas of each partition.")
    ] = _UNSET,
    assignment: Annotated[
        str | None,
        Option(
            metavar="1:2,2:3",
            help="Brokers of the new partitions; without --partitions, of all partitions.",
        ),
    ] = None,
    config: Annotated[
        list[str] | None,
        Option("--config", metavar="NAME=VALUE", help="A config to set; repeatable."),
    ] = None,
    delete_config: Annotated[
        list[str] | None, Option(metavar="NAME", help="A config to remove; repeatable.")
    ] = None,
    delete_partitions_delay: Annotated[
        int,
        Option(
            metavar="MS",
            max=_DELAY_MAX_MS,
            help="How long removed partitions can still be read.",
        ),
    ] = 0,
    cancel_delete_partitions: Annotated[
        bool,
        Option("--cancel-delete-partitions", help="Cancel the removal of partitions."),
    ] = False,
    placement: Placement = None,
    namespace: NamespaceOption = "",
    validate_only: ValidateOnly = False,
) -> int:
    """Alter topics: partitions, replication factor, assignment, or configs; one kind at a time."""
    from controller.decisions.topics.alterations import AlterTopics, TopicAlteration

    refs = [topic_ref(name, namespace) for name in topics]
    if cancel_delete_partitions:
        if validate_only:
            raise bad_parameter(
                "--cancel-delete-partitions cannot be combined with --validate-only"
            )
        return _cancel(ask, refs)
    plans = _plans(ask, refs, partitions, delete_partitions_delay)
    alterations = [
        TopicAlteration(
            topic=ref,
            partitions=partitions,
            replication_factor=replication_factor,
            assignments=_assignments(assignment, partitions),
            configs=_config_changes(config, delete_config),
        )
        for ref in refs
    ]
    request = AlterTopics(
        topics=tuple(alterations),
        delete_partitions_delay_ms=delete_partitions_delay,
        placement=placement,
        validate_only=validate_only,
    )
    answer = ask.run("topics alter", request)
    items = [
        _item(result, plans.get(ref), validate_only=validate_only)
        for ref, result in zip(refs, answer.response, strict=True)
    ]
    return ask.report(answer, items, validate_only=validate_only)


def _plans(
    ask: AdminClient, refs: "list[TopicRef]", partitions: int, delay_ms: int
) -> "dict[TopicRef, PartitionPlan]":
    """Return the effects of the new partition count on each topic; empty if no count is given."""
    from controller.decisions.topics.partition_plan import PlanPartitions

    if partitions == _UNSET:
        return {}
    question = PlanPartitions(topics=tuple(refs), partitions=partitions, delay_ms=delay_ms)
    return dict(zip(refs, ask.question("partitions plan", question), strict=True))


def _assignments(text: str | None, partitions: int) -> "tuple[Assignment, ...]":
    """Return the assignments, each with the id of its partition.

    If a new partition count is given, the assignments are for the last partitions, else for all
    partitions. The ids depend only on the command's arguments, because the request may be repeated.
    """
    if text is None:
        return ()
    named = assignments(text)
    return named if partitions == _UNSET else assignments(text, partitions - len(named))


def _config_changes(
    set_: list[str] | None, deleted: list[str] | None
) -> "tuple[ConfigChange, ...]":
    from controller.decisions.configs.changes import ConfigChange, Operation

    return (
        *(ConfigChange(name, value) for name, value in config_pairs(set_)),
        *(ConfigChange(name, operation=Operation.DELETE) for name in deleted or []),
    )


def _item(result: "AlterationResult", plan: "PartitionPlan | None", *, validate_only: bool) -> Item:
    from api.documents.changes import TopicAltered

    altered = TopicAltered.of(result, plan)
    verb = "can be altered" if validate_only else "altered"
    heading = f"{verb}: {altered.name}, {altered.instruction}"
    if plan is None or plan.refusal is not None:
        return Item(answer=altered, lines=(heading,), refusal=result.refusal)
    warnings = [f"  WARNING: {warning}" for warning in plan.warnings]
    leaving = [
        f"  partition {partition.partition_id} goes at {time_text(plan.due_ms)}; "
        f"on brokers {value_text(list(partition.replicas))}, led by {partition.leader}"
        for partition in plan.leaving
    ]
    return Item(
        answer=altered,
        lines=(heading, *warnings, *leaving),
        lines_if_refused=(f"not altered: {altered.name}", *warnings),
        refusal=result.refusal,
    )


def _cancel(ask: AdminClient, refs: "list[TopicRef]") -> int:
    """Cancel the removal of partitions, one request per topic."""
    from api.documents.changes import TopicNamed
    from controller.decisions.lookup import ref_text

    wanted = [
        One(
            request=ref,
            answer=TopicNamed(topic=ref_text(ref)),
            what=f"topic {ref_text(ref)}",
            line=lambda result: f"partitions {value_text(list(result.partition_ids))} stay",
        )
        for ref in refs
    ]
    return ask.each("partitions cancel-delete", wanted)
