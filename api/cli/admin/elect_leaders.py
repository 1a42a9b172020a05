"""The `elect-leaders` command; separate from `partitions`, as in Kafka."""

from typing import TYPE_CHECKING, Annotated

from api.cli.admin.admin_client import Item
from api.cli.admin.change import changing
from api.cli.admin.options import NamespaceOption
from api.cli.admin.texts import need_topics, partition_ref
from api.cli.app import app
from api.cli.options.parameters import Argument, Option
from api.cli.terminal.output import print_line

if TYPE_CHECKING:
    from api.cli.admin.admin_client import AdminClient


@changing(app, "elect-leaders")
def elect_leaders(
    ask: "AdminClient",
    partitions: Annotated[
        list[str] | None,
        Argument(
            metavar="[TOPIC/NUMBER...]",
            help="Partitions to elect leaders for; default: all.",
            show_default=False,
        ),
    ] = None,
    unclean: Annotated[
        bool,
        Option(
            "--unclean",
            help="For partitions without a leader, elect any live replica; may lose records.",
        ),
    ] = False,
    namespace: NamespaceOption = "",
) -> int:
    """Elect preferred replicas; with --unclean, any live replica where there is no leader."""
    from api.documents.changes import PartitionElected
    from controller.decisions.partitions.elections import ElectLeaders

    need_topics(namespace, partitions)
    refs = tuple([partition_ref(text, namespace) for text in partitions or []])
    answer = ask.run("leaders elect", ElectLeaders(partitions=refs, unclean=unclean))
    items = [
        Item(
            answer=PartitionElected(topic=result.topic, partition=result.partition_id),
            lines=(f"elected a leader for {result.topic}/{result.partition_id}",),
            refusal=result.refusal,
        )
        for result in answer.response
    ]
    if not items and not ask.json:
        print_line("no partition needs an election")
    return ask.report(answer, items)
