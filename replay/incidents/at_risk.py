"""Lists the changes that may be uncommitted: those that the chosen seed keeps or loses."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.quorum.divergence import common_end
from metadata_log.kraft.quorum.facts import NodeFacts
from metadata_log.kraft.quorum.rule import SEED, Verdict
from records.errors import ContradictionError, CorruptLogError, UnknownHistoryError
from replay.incidents.directory_events import directory_events
from replay.incidents.event import CONTROLLERS, PARTITIONS, TimelineEvent


class AtRisk(msgspec.Struct, frozen=True, kw_only=True):
    """A change that is not proven to be committed.

    Attributes:
        offset: Offset of the first record of the change.
        on: Names of the directories that contain the change.
        kept: True if the seed contains the change, which makes it committed; False if it is lost.
    """

    offset: int
    text: str
    on: tuple[str, ...]
    kept: bool


def changes_at_risk(verdict: Verdict, nodes: Sequence[NodeFacts]) -> list[AtRisk]:
    """Return the changes that depend on the choice of the seed; lost ones come first.

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
    events, read_to, why = _events(node, from_offset, end_offset)
    ends = {each.name: common_end(node.batches, each.batches) for each in nodes}
    ends[node.name] = end_offset
    for event in events:
        if event.kind != CONTROLLERS:
            on = tuple(name for name, end in ends.items() if end > event.to_offset)
            is_one = event.kind == PARTITIONS and len(event.objects) == 1
            text = f"{event.objects[0]}: {event.text}" if is_one else event.text
            yield AtRisk(offset=event.from_offset, text=text, on=on, kept=kept)
    if read_to < end_offset:
        last = end_offset - 1
        what = f"record {last}" if read_to == last else f"records {read_to} to {last}"
        text = f"{what}, which cannot be replayed: {why}"
        yield AtRisk(offset=read_to, text=text, on=(node.name,), kept=kept)


def _events(
    node: NodeFacts, from_offset: int, end_offset: int
) -> tuple[list[TimelineEvent], int, str]:
    """Return the events of a range, the offset up to which they are complete, and the error there.

    The error is empty if the events are complete. Events need an image, which cannot be built past
    damage or past a record that contradicts the state, although the bytes of later records still
    exist.
    """
    directory = open_directory(Path(node.name))
    try:
        return directory_events(directory, from_offset, end_offset), end_offset, ""
    except ContradictionError as error:
        offset = from_offset if error.record is None else error.record.offset
        if offset <= from_offset:
            return [], from_offset, str(error)
        return directory_events(directory, from_offset, offset), offset, str(error)
    except (CorruptLogError, UnknownHistoryError) as error:
        return [], from_offset, str(error)


def _merged(changes: Sequence[AtRisk]) -> list[AtRisk]:
    """Drop changes that were already found in another directory."""
    return list({(each.offset, each.text, frozenset(each.on)): each for each in changes}.values())
