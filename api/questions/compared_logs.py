"""Comparison of the logs of several nodes: Kafka directories, mirrors, or logs of this service."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from api.questions.compared_nodes import ComparedNode, Divergence, NodesCompared, NotOnAll
from metadata_log.files.names import MANIFEST
from metadata_log.kraft.batch_index import BatchIndex, index_directory, index_log
from metadata_log.kraft.comparison import Comparison
from metadata_log.kraft.importer import UNKNOWN_CLUSTER_ID
from metadata_log.kraft.meta_properties import MetaProperties
from metadata_log.kraft.node_directory import read_node_directory
from metadata_log.reader.log_reader import LogReader
from records.errors import ContradictionError, CorruptLogError, RequestError
from replay.about import About
from replay.incidents.directory_events import DirectoryLog
from replay.incidents.event import TimelineEvent
from replay.incidents.events import timeline_events
from replay.loader import BatchSource, load_image
from replay.not_understood import count_not_understood

Key = TypeVar("Key", bound=Hashable)


class ComparedLog(msgspec.Struct, frozen=True):
    """A log, its given name, and its node's identity; `source` is None if the node has no log yet.

    Two names of the same log have the same `place`.
    """

    name: str
    place: str
    meta: MetaProperties
    index: BatchIndex
    source: BatchSource | None


class Differences(msgspec.Struct):
    """Changes that only some logs have, and the logs whose changes could not be read."""

    differences: list[NotOnAll] = []
    untold: list[str] = []
    remarks: list[str] = []


def compare_logs(places: Sequence[str]) -> tuple[NodesCompared, About]:
    """Compare the logs at some places; each log is read completely.

    Returns:
        The answer, and the position of the log that is ahead.

    Raises:
        RequestError: there is no log at a place.
        CorruptLogError: a small file of a node is unreadable.
        UnavailableError: a log changed while it was read.
    """
    with ExitStack() as opened:
        logs = [_open(place, opened) for place in places]
        clusters = sorted(_names_by(logs, [log.meta.cluster_id for log in logs]))
        is_one_cluster = len(clusters) <= 1
        found = Comparison([log.index for log in logs])
        ahead = logs[found.ahead]
        result = _differences(logs, found) if is_one_cluster else Differences()
        answer = NodesCompared(
            clusters=clusters,
            nodes=[_node(log) for log in logs],
            ahead=ahead.name if is_one_cluster else None,
            common_end=found.common_end if is_one_cluster else None,
            divergence=_divergence(logs, found.parting) if is_one_cluster else None,
            behind=_behind(logs, found) if is_one_cluster else {},
            differences=result.differences,
            untold=result.untold,
            remarks=[
                *_identity_remarks(logs),
                *(_commit_remarks(logs) if is_one_cluster else ()),
                *result.remarks,
            ],
        )
        return answer, _about(ahead)


def _open(place: str, opened: ExitStack) -> ComparedLog:
    if "://" in place or (Path(place) / MANIFEST).exists():
        reader = opened.enter_context(LogReader.open(place))
        is_known = reader.cluster_id != UNKNOWN_CLUSTER_ID
        meta = MetaProperties(cluster_id=reader.cluster_id if is_known else None)
        where = place if "://" in place else str(Path(place).resolve())
        return ComparedLog(place, where, meta, index_log(reader), reader)
    node = read_node_directory(Path(place))
    where = str(node.partition.resolve())
    if node.log is None:
        return ComparedLog(place, where, node.meta, BatchIndex(0), None)
    index = index_directory(node.log)
    return ComparedLog(place, where, node.meta, index, DirectoryLog(node.log, index.end_offset))


def _node(log: ComparedLog) -> ComparedNode:
    index = log.index
    return ComparedNode(
        name=log.name,
        cluster_id=log.meta.cluster_id,
        node_id=log.meta.node_id,
        directory_id=log.meta.directory_id,
        start=index.start_offset,
        end=index.end_offset,
        last_epoch=None if index.last_epoch < 0 else index.last_epoch,
        committed_end=index.committed_end,
        trailing_bytes=index.trailing_bytes,
        damage=index.damage,
    )


def _divergence(logs: Sequence[ComparedLog], offset: int | None) -> Divergence | None:
    if offset is None:
        return None
    return Divergence(offset=offset, epochs={log.name: log.index.epoch_at(offset) for log in logs})


def _behind(logs: Sequence[ComparedLog], found: Comparison) -> dict[str, int]:
    counts = {log.name: found.behind(i) for i, log in enumerate(logs)}
    return {name: count for name, count in counts.items() if count}


def _differences(logs: Sequence[ComparedLog], found: Comparison) -> Differences:
    result = Differences()
    for branch in found.branches:
        log = logs[branch.head]
        try:
            events = _events(log, branch.start_offset)
        except (ContradictionError, CorruptLogError, RequestError) as error:
            result.untold.append(log.name)
            result.remarks.append(f"what {log.name} holds cannot be read: {error}")
            continue
        for event in events:
            on = [logs[i].name for i in found.holders(branch.head, event.to_offset)]
            result.differences.append(
                NotOnAll(
                    from_offset=event.from_offset, to_offset=event.to_offset, text=event.text, on=on
                )
            )
    return result


def _events(log: ComparedLog, from_offset: int) -> list[TimelineEvent]:
    end = log.index.end_offset
    if log.source is None or from_offset >= end:
        return []
    return timeline_events(log.source, from_offset, end, partial(load_image, log.source))


def _identity_remarks(logs: Sequence[ComparedLog]) -> Iterator[str]:
    of_cluster = _names_by(logs, [log.meta.cluster_id for log in logs])
    if len(of_cluster) > 1:
        named = "; ".join(f"{cluster}: {', '.join(names)}" for cluster, names in of_cluster.items())
        yield f"these are logs of several clusters, which do not belong together: {named}"
    for names in _names_by(logs, [log.place for log in logs]).values():
        if len(names) > 1:
            named = " and ".join(dict.fromkeys(names))
            yield f"{named}: one log, named twice; name those of several nodes"
    # A log that is named twice is no copy.
    logs = list({log.place: log for log in logs}.values())
    for log in logs:
        if log.meta.cluster_id is None:
            yield f"{log.name} does not say which cluster it is of"
        if log.source is None or not log.index.end_offset:
            yield f"{log.name} holds no record: it was formatted, or emptied"
        if log.index.trailing_bytes:
            yield (
                f"{log.name} ends in {log.index.trailing_bytes} bytes of an incomplete batch: the "
                "node was writing, or stopped while it did"
            )
    for (_, node_id), names in _names_by(logs, [_node_of(log.meta) for log in logs]).items():
        if len(names) > 1:
            yield f"node id {node_id} is that of {', '.join(names)}: copies, or disks of one node"
    for directory_id, names in _names_by(logs, [log.meta.directory_id for log in logs]).items():
        if len(names) > 1:
            yield f"directory id {directory_id} is that of {', '.join(names)}: one disk was copied"


def _node_of(meta: MetaProperties) -> tuple[str | None, int] | None:
    return None if meta.node_id is None else (meta.cluster_id, meta.node_id)


def _names_by(logs: Sequence[ComparedLog], keys: Sequence[Key | None]) -> dict[Key, list[str]]:
    names: defaultdict[Key, list[str]] = defaultdict(list)
    for log, key in zip(logs, keys, strict=True):
        if key is not None:
            names[key].append(log.name)
    return names


def _commit_remarks(logs: Sequence[ComparedLog]) -> Iterator[str]:
    best = max(logs, key=lambda log: log.index.committed_end)
    committed_end = best.index.committed_end
    for log in logs:
        if log.index.end_offset < committed_end:
            yield (
                f"{log.name} ends at offset {log.index.end_offset} and lacks committed records: "
                f"{best.name} proves that all below {committed_end} is committed"
            )


def _about(log: ComparedLog) -> About:
    source, end = log.source, log.index.end_offset
    if source is None:
        return About(as_of=-1, history_start=0, log_end=0)
    return About(
        as_of=end - 1,
        history_start=source.history_start,
        log_end=end,
        not_understood=count_not_understood(source, end - 1),
    )
