"""What a choice of a seed can lose or confirm, in words."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.quorum.facts import NodeFacts
from metadata_log.kraft.quorum.parting import common_end
from metadata_log.kraft.quorum.rule import SEED, Verdict
from records.errors import ContradictionError, CorruptLogError, UnknownHistoryError
from replay.incidents.directory_events import directory_events
from replay.incidents.event import CONTROLLERS, PARTITIONS


class AtRisk(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is not proven to be committed.

    Attributes:
        offset: Of its first record.
        on: The directories that hold it.
        kept: True if the seed holds it, so that it becomes committed; else it is lost.
    """

    offset: int
    text: str
    on: tuple[str, ...]
    kept: bool


def changes_at_risk(verdict: Verdict, nodes: Sequence[NodeFacts]) -> list[AtRisk]:
    """Return the changes that depend on the choice: first those that are lost.

    Raises:
        UnavailableError: a directory changed meanwhile.
    """
    seed = verdict.seed
    if verdict.verdict != SEED or seed is None:
        return []
    by_name = {node.name: node for node in nodes}
    found: list[AtRisk] = []
    for lost in verdict.lost:
        found += _changes(by_name[lost.name], nodes, lost.from_offset, kept=False)
    start = max(verdict.proven_end, seed.batches.start_offset)
    return [*_merged(found), *_changes(seed, nodes, start, kept=True)]


def _changes(
    node: NodeFacts, nodes: Sequence[NodeFacts], from_offset: int, *, kept: bool
) -> Iterator[AtRisk]:
    end_offset = node.batches.end_offset
    if from_offset >= end_offset:
        return
    try:
        events = directory_events(open_directory(Path(node.name)), from_offset, end_offset)
    except (ContradictionError, CorruptLogError, UnknownHistoryError) as error:
        # Damage, or a record that contradicts: the words need an image, the bytes are still there.
        text = f"records {from_offset} to {end_offset - 1}, which cannot be replayed: {error}"
        yield AtRisk(offset=from_offset, text=text, on=(node.name,), kept=kept)
        return
    ends = {each.name: common_end(node.batches, each.batches) for each in nodes}
    ends[node.name] = end_offset
    for event in events:
        if event.kind != CONTROLLERS:
            on = tuple(name for name, end in ends.items() if end > event.to_offset)
            is_one = event.kind == PARTITIONS and len(event.objects) == 1
            text = f"{event.objects[0]}: {event.text}" if is_one else event.text
            yield AtRisk(offset=event.from_offset, text=text, on=on, kept=kept)


def _merged(changes: Sequence[AtRisk]) -> list[AtRisk]:
    """Drop what was found in several directories more than once."""
    return list({(each.offset, each.text, frozenset(each.on)): each for each in changes}.values())
