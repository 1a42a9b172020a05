"""Repair after a store has lost acknowledged records: they are put back, or given up.

Records lost in the middle of the shared log are stored again in their place from any folder that
has them, or everything up to them is trimmed; nodes may run. For records lost at the end, all nodes
are stopped.

If nothing was appended since, the records that a folder has beyond the shared log's end are put
back unchanged, behind a claim that fences any node that might be about to append. Otherwise the
folder is backed up, and truncated to the records that the shared log has, too.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from api.nodes.lost_records import set_mark, take_mark_away
from api.nodes.membership import content_of
from api.nodes.options import LostMark
from metadata_log.care.backup import back_up
from metadata_log.care.lost_groups import Gap, groups_in_place, lost_groups
from metadata_log.care.lost_records import Divergence, divergence
from metadata_log.care.shared_upload import groups_of, new_claim
from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.manifest import Kind, read_manifest
from metadata_log.reader.committed import committed_segments
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import Identity, node_of
from metadata_log.shared.shared_log import SharedLog
from metadata_log.stores.store import open_store
from metadata_log.writer.node_cut import cut_node_folder
from metadata_log.writer.owned_log import take_over
from records.errors import CorruptLogError, RequestError


async def examine(log: SharedLog, directory: Path, fs: Fs | None = None) -> Divergence:
    """Return the offset from which a folder and the shared log differ; errors as `divergence`.

    Raises:
        RequestError: the folder does not belong to a node of this shared log.
    """
    fs = fs or OsFs()
    _check_is_of(await log.identity(), directory, fs)
    return await divergence(log, fs, directory)


async def put_back(
    log: SharedLog,
    directory: Path,
    progress: Callable[[int], None] = lambda end_offset: None,
    fs: Fs | None = None,
) -> tuple[Divergence, bool]:
    """Append to the shared log the records that only a folder has, while all nodes are stopped.

    Can be repeated after an error.

    Args:
        progress: Called with the end offset after each appended batch group.

    Returns:
        The records that were put back; and whether the nodes may run again.

    Raises:
        RequestError: INVALID_REQUEST, records were appended since the loss, or another node's
            folder has more of the lost records; or as `examine`.
        CorruptLogError: more than the folder's end is damaged; nothing was removed.
        FencedError: a node appended meanwhile.
        UnavailableError: the store does not answer, or another process has the folder.
    """
    fs = fs or OsFs()
    async with _owned(log, directory, fs) as node_id:
        found = await examine(log, directory, fs)
        if found.lost:
            _check_nothing_appended(found, directory)
            await _check_furthest(log, found, directory)
            await set_mark(log, _mark(node_id, found))
            await _append(log, directory, found, progress, fs)
            for member in await log.members():
                if content_of(member).lost_from == found.from_offset:
                    await log.unregister(member.node_id)
        return found, await take_mark_away(log)


async def give_up(log: SharedLog, directory: Path, copy: str) -> tuple[Divergence, bool]:
    """Back a folder up, then truncate it to the records that the shared log has.

    Can be repeated after an error.

    Args:
        copy: Directory or URL of the backup, as for `metalog backup`.

    Returns:
        The records that were given up; and whether the nodes may run again.

    Raises:
        RequestError: LOG_EXISTS, `copy` holds something else; or as `examine`.
        CorruptLogError: as `put_back`.
        UnavailableError: the store does not answer, or another process has the folder.
    """
    async with _owned(log, directory, OsFs()) as node_id:
        found = await examine(log, directory)
        if found.lost:
            with LogReader.open(directory) as reader:
                await asyncio.to_thread(back_up, OsFs(), reader, open_store(copy))
    if found.lost:
        await asyncio.to_thread(cut_node_folder, OsFs(), directory, found.from_offset)
    if node_id is not None:
        await log.unregister(node_id)
    return found, await take_mark_away(log)


async def missing(log: SharedLog, directory: Path, fs: Fs | None = None) -> list[Gap]:
    """Return the batch groups that are missing from the middle of the shared log.

    Raises:
        RequestError: the folder does not belong to a node of this shared log.
        UnavailableError: the store does not answer.
        CorruptLogError: the folder is damaged.
    """
    fs = fs or OsFs()
    _check_is_of(await log.identity(), directory, fs)
    return await lost_groups(log, fs, directory)


async def fill_gaps(
    log: SharedLog, directory: Path, gaps: Sequence[Gap], fs: Fs | None = None
) -> None:
    """Store a folder's records in place of the shared log's missing batch groups.

    Nodes may run meanwhile. Can be repeated after an error.

    Raises:
        RequestError: INVALID_REQUEST, the folder does not have all of these records.
        FencedError: a group is no longer missing, or was trimmed meanwhile.
        UnavailableError: the store does not answer.
    """
    for gap in gaps:
        if not gap.is_placed:
            raise RequestError(
                "INVALID_REQUEST",
                f"{gap.text} cannot be put back: the shared log begins with them, and the group "
                "before them, which tells where they begin, is gone, too. `--give-up COPY` lets "
                "the shared log begin behind them; nodes that have their records go on",
            )
        if not gap.in_folder:
            raise RequestError(
                "INVALID_REQUEST",
                f"{directory} lacks records of {gap.text}: put them back from the folder of "
                "another node, or, if none has them, `--give-up COPY` lets the shared log begin "
                "behind them",
            )
    for gap in gaps:
        for group in groups_in_place(fs or OsFs(), directory, gap):
            await log.put_back(group)


async def begin_behind(log: SharedLog, directory: Path, gaps: Sequence[Gap], copy: str) -> None:
    """Back a folder up, then trim the shared log up to and including its missing batch groups.

    Nodes that have the records go on; a new node needs a backup of one of them. Nodes may run
    meanwhile. Can be repeated after an error; errors as for `give_up`.
    """
    with LogReader.open(directory) as reader:
        await asyncio.to_thread(back_up, OsFs(), reader, open_store(copy))
    await log.trim(gaps[-1].following.number)


def _check_is_of(identity: Identity, directory: Path, fs: Fs) -> None:
    """Refuse a folder of another cluster or shared log; one without a node id may be a backup."""
    cluster_id = read_manifest(fs, directory).cluster_id
    node = node_of(fs, directory)
    if cluster_id != identity.cluster_id or (node is not None and node.log_id != identity.log_id):
        raise RequestError(
            "INVALID_REQUEST",
            f"{directory} is of cluster {cluster_id}"
            f"{'' if node is None else f', shared log {node.log_id}'}, not of "
            f"{identity.cluster_id}, shared log {identity.log_id}; name another folder",
        )


@contextlib.asynccontextmanager
async def _owned(log: SharedLog, directory: Path, fs: Fs) -> AsyncIterator[int | None]:
    """Recover a folder and hold its lock; yield its node's id, None if it is no node's.

    A torn end is cut off, as a power loss leaves it, but no segment is removed: the folder may have
    the only copy of its records.
    """
    _check_is_of(await log.identity(), directory, fs)
    try:
        owned = await asyncio.to_thread(take_over, fs, directory, Kind.OWN, is_copy=True)
    except CorruptLogError as damage:
        raise CorruptLogError(
            f"{damage}; nothing of the folder was removed: put the file back from a backup, or "
            "repair with the folder of another node"
        ) from damage
    try:
        owned.writer.close()
        node = node_of(fs, directory)
        yield None if node is None else node.node_id
    finally:
        owned.lock.release()


def _mark(node_id: int | None, found: Divergence) -> LostMark:
    return LostMark(node_id=node_id, from_offset=found.from_offset, end_offset=found.folder_end)


def _check_nothing_appended(found: Divergence, directory: Path) -> None:
    if found.appended:
        raise RequestError(
            "INVALID_REQUEST",
            f"the records of {directory} from offset {found.from_offset} on cannot be put back: "
            f"nodes have since appended up to {found.shared_end.end_offset} in their place; "
            "`--give-up COPY` keeps these records in a copy, and truncates the folder",
        )


async def _check_furthest(log: SharedLog, found: Divergence, directory: Path) -> None:
    for member in await log.members():
        content = content_of(member)
        if content.lost_from is not None and content.log_end > found.folder_end:
            raise RequestError(
                "INVALID_REQUEST",
                f"node {member.node_id} has records up to {content.log_end - 1}, {directory} only "
                f"up to {found.folder_end - 1}: put the records back from the folder of node "
                f"{member.node_id}, or, if that folder is lost, first remove the node with "
                f"`metalog nodes remove URL {member.node_id}`",
            )


async def _append(
    log: SharedLog, directory: Path, found: Divergence, progress: Callable[[int], None], fs: Fs
) -> None:
    with LogReader.open(directory, fs=fs) as reader:
        epoch = max(found.shared_end.epoch, reader.mark.leader_epoch) + 1
        claim = new_claim(found.shared_end, epoch)
        await log.append(claim, after=found.shared_end)
        at = claim.end
        segments = committed_segments(fs, reader)
        whole = [each for each in segments if each.base_offset <= found.from_offset]
        for segment in segments[max(len(whole) - 1, 0) :]:
            for made in groups_of(segment, at, found.from_offset):
                await log.append(made, after=at)
                at = made.end
                progress(at.end_offset)
