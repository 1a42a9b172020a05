"""Reasons why no directory may be chosen to restart a lost quorum."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from metadata_log.kraft.quorum.divergence import clash
from metadata_log.kraft.quorum.facts import NodeFacts


def of_identity(nodes: Sequence[NodeFacts]) -> list[str]:
    """Return the reasons why the directories cannot be those of different nodes of one cluster."""
    return [*_of_clusters(nodes), *_of_disks(nodes), *_of_use(nodes)]


def _of_clusters(nodes: Sequence[NodeFacts]) -> Iterator[str]:
    unnamed = [node.name for node in nodes if node.cluster_id is None]
    if unnamed:
        yield f"{', '.join(unnamed)}: no cluster.id in meta.properties, so it may be any cluster"
    ids = sorted({node.cluster_id for node in nodes if node.cluster_id is not None})
    if len(ids) > 1:
        of = {each: [node.name for node in nodes if node.cluster_id == each] for each in ids}
        named = "; ".join(f"{', '.join(names)}: {each}" for each, names in of.items())
        yield f"the directories are of different clusters ({named})"


def _of_disks(nodes: Sequence[NodeFacts]) -> Iterator[str]:
    by_disk: dict[str, list[str]] = defaultdict(list)
    by_node: dict[int, list[NodeFacts]] = defaultdict(list)
    for node in nodes:
        if node.directory_id is not None:
            by_disk[node.directory_id].append(node.name)
        if node.node_id is not None:
            by_node[node.node_id].append(node)
    for directory_id, names in by_disk.items():
        if len(names) > 1:
            yield f"{' and '.join(names)} have one directory.id ({directory_id}): a copied disk"
    for node_id, of in by_node.items():
        ids = {node.directory_id for node in of}
        if len(of) > 1 and (len(ids) > 1 or ids == {None}):
            both = " and ".join(node.name for node in of)
            yield f"{both} both say they are node {node_id}: name only the disk it last ran with"


def _of_use(nodes: Sequence[NodeFacts]) -> Iterator[str]:
    for node in nodes:
        if node.is_in_use:
            yield f"{node.name} is in use: stop its node, or copy the directory and name the copy"


def of_histories(nodes: Sequence[NodeFacts]) -> list[str]:
    """Return a message for each pair of logs that cannot belong to one history."""
    found = []
    for one, other in combinations(nodes, 2):
        offset = clash(one.batches, other.batches)
        if offset is not None:
            found.append(
                f"{one.name} and {other.name} have different records of one epoch at offset "
                f"{offset}: two histories, from an earlier forced recovery or two leaders at once"
            )
    return found


def of_best(nodes: Sequence[NodeFacts], best: NodeFacts) -> list[str]:
    """Return a message for each checkpoint that the best log lacks or contradicts."""
    return list(_missing_checkpoints(nodes, best))


def _missing_checkpoints(nodes: Sequence[NodeFacts], best: NodeFacts) -> Iterator[str]:
    assert best.end is not None
    for node in nodes:
        for checkpoint in node.checkpoints:
            end_offset = checkpoint.end_offset
            epoch = _epoch_before(best, end_offset)
            where = (
                f"{node.name} has a checkpoint at {end_offset} of epoch {checkpoint.leader_epoch}"
            )
            if end_offset > best.end.end_offset:
                yield (
                    f"{where}, but the highest log, {best.name}, ends at {best.end.end_offset}: "
                    "it lacks committed records"
                )
            elif epoch is not None and epoch != checkpoint.leader_epoch:
                yield f"{where}, where the highest log, {best.name}, has epoch {epoch}"
            elif epoch is not None and not best.batches.is_boundary(end_offset):
                yield f"{where}, in the middle of a batch of {best.name}"


def _epoch_before(node: NodeFacts, end_offset: int) -> int | None:
    index = node.batches
    at_end = end_offset == index.end_offset and len(index)
    return index.last_epoch if at_end else index.epoch_at(end_offset - 1)


def _better_behind_damage(nodes: Sequence[NodeFacts], best: NodeFacts) -> Iterator[str]:
    for node in nodes:
        behind = node.damage.behind if node.damage and not node.damage.is_covered else None
        if node is not best and node.damage and behind and best.end and behind > best.end:
            yield (
                f"{node.name} is damaged at offset {node.damage.offset} and has batches behind "
                f"that up to {behind}, beyond the highest readable log, {best.name}: {best.end}"
            )


def of_seed(nodes: Sequence[NodeFacts], best: NodeFacts) -> list[str]:
    """Return the reasons why no node may be started from the best log."""
    found = list(_better_behind_damage(nodes, best))
    if best.damage is not None and not best.damage.is_covered:
        found.append(
            f"{best.name} has the highest log, but it is damaged above its newest checkpoint: "
            f"Kafka would cut it at offset {best.damage.offset} and drop what follows, without an "
            f"error ({best.damage.text})"
        )
    if best.inconsistent is not None:
        found.append(f"{best.name} has the highest log, but {best.inconsistent}")
    if best.end is not None and best.end.end_offset == 0:
        found.append("no directory holds more than what format writes")
    return found
