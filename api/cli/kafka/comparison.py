"""The `compare` command: compares the logs of several nodes."""

import itertools
from typing import TYPE_CHECKING, Annotated

from api.cli.options.parameters import Argument, bad_parameter
from api.cli.parser.quick import command
from api.cli.source.arguments import Json
from api.cli.terminal.errors import FOUND
from api.cli.terminal.output import count_text, print_json, print_line, print_table

if TYPE_CHECKING:
    from api.questions.compared_nodes import NodesCompared


@command()
def compare(
    logs: Annotated[
        list[str],
        Argument(
            metavar="LOG...",
            help="Kafka directories (log.dirs, or __cluster_metadata-0 in it) or logs.",
            show_default=False,
        ),
    ],
    json: Json = False,
) -> int:
    """Compare the logs of several nodes: which nodes are behind, and where the logs diverge.

    Exits with 1 if the logs diverge or belong to different clusters, or if one is damaged.
    """
    from api.questions.compared_logs import compare_logs

    if len(logs) < 2:
        raise bad_parameter("name two logs or more", param_hint="LOG...")
    found, about = compare_logs(logs)
    if json:
        print_json(found, about)
    else:
        _print(found)
    return 0 if found.is_sound else FOUND


def _print(found: "NodesCompared") -> None:
    if len(found.clusters) == 1:
        print_line(f"cluster {found.clusters[0]}")
    rows = [
        (node.name, node.node_id, node.start, node.end, node.last_epoch, node.committed_end)
        for node in found.nodes
    ]
    print_table(("log", "node", "start", "end", "epoch", "committed below"), rows)
    for node in found.nodes:
        if node.damage is not None:
            print_line(f"damaged: {node.damage}")
    for remark in found.remarks:
        print_line(f"note: {remark}")
    if found.ahead is not None:
        _print_relation(found)


def _print_relation(found: "NodesCompared") -> None:
    if found.divergence is not None:
        epochs = (
            f"{name} ends before it" if epoch is None else f"epoch {epoch} in {name}"
            for name, epoch in found.divergence.epochs.items()
        )
        print_line(f"they part at offset {found.divergence.offset}: {', '.join(epochs)}")
    elif found.common_end is None:
        print_line("some have no offset in common, so they cannot be compared")
    else:
        print_line(f"equal below offset {found.common_end}")
    if found.behind:
        print_line(f"ahead: {found.ahead}")
    else:
        print_line("none is ahead of another")
    for name, count in found.behind.items():
        print_line(f"{name} lacks {count_text(count, 'record')} of it")
    if found.behind and not found.differences and not found.untold:
        print_line("what is missing changes nothing")
    for on, group in itertools.groupby(found.differences, key=lambda each: each.on):
        print_line(f"only {', '.join(on)}:")
        for each in group:
            is_one = each.from_offset == each.to_offset
            at = f"{each.from_offset}" if is_one else f"{each.from_offset} to {each.to_offset}"
            print_line(f"  {at}: {each.text}")
