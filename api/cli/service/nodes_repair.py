"""The work and the output of `nodes repair`."""

from pathlib import Path

from api.cli.terminal import event_loop
from api.cli.terminal.errors import DONE, FOUND
from api.cli.terminal.output import count_text, print_json, print_line, print_table
from api.cli.terminal.progress_bar import progress
from api.documents.nodes import LostBatch, LostGroups, SharedLogRepair
from api.nodes.lost_records import principal_of
from api.nodes.repair import begin_behind, examine, fill_gaps, give_up, missing, put_back
from api.nodes.stores import opened
from metadata_log.care.lost_groups import Gap, batches_of
from metadata_log.care.lost_records import lost_batches
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import Batch
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import SharedLog
from records.text import time_text
from replay.snapshot.database import shown_url

_SHOWN = 20
"""Maximum number of batches in the printed table; the JSON document has all batches."""


def repaired(log: Path, url: str, *, is_put_back: bool, copy: str | None, json: bool) -> int:
    """Examine a folder, repair as requested, print the result; return the exit code."""
    answer = event_loop.run(_repair(log, url, is_put_back=is_put_back, copy=copy))
    if json:
        print_json(answer)
    else:
        _print(answer)
    is_lost = answer.lost or answer.groups
    return FOUND if is_lost and answer.done == "nothing" else DONE


async def _repair(log: Path, url: str, *, is_put_back: bool, copy: str | None) -> SharedLogRepair:
    done, may_run = "nothing", None
    async with opened(url) as shared:
        if gaps := await missing(shared, log):
            return await _repair_middle(shared, log, url, gaps, is_put_back=is_put_back, copy=copy)
        found = await examine(shared, log)
        lost = tuple(_document(batch) for batch in lost_batches(OsFs(), log, found))
        if is_put_back:
            with progress("putting back", found.from_offset, found.folder_end) as advance:
                found, may_run = await put_back(shared, log, advance)
            done = "put back"
        elif copy is not None:
            found, may_run = await give_up(shared, log, copy)
            done = "given up"
    return SharedLogRepair(
        log=str(log),
        shared=shown_url(url),
        from_offset=found.from_offset,
        folder_end=found.folder_end,
        shared_end=found.shared_end.end_offset,
        appended=found.appended,
        lost=lost,
        done=done,
        copy=copy,
        may_run=may_run,
    )


async def _repair_middle(
    shared: SharedLog, log: Path, url: str, gaps: list[Gap], *, is_put_back: bool, copy: str | None
) -> SharedLogRepair:
    """Put the groups back that are lost in the middle, or give them up, as requested."""
    lost = [batch for gap in gaps if gap.in_folder for batch in batches_of(OsFs(), log, gap)]
    end, done = await shared.confirmed_end(), "nothing"
    if is_put_back:
        await fill_gaps(shared, log, gaps)
        done = "put back"
    elif copy is not None:
        await begin_behind(shared, log, gaps, copy)
        done = "given up"
    with LogReader.open(log) as reader:
        folder_end = reader.end_offset
    return SharedLogRepair(
        log=str(log),
        shared=shown_url(url),
        from_offset=gaps[0].from_offset,
        folder_end=folder_end,
        shared_end=end.end_offset,
        appended=0,
        lost=tuple(map(_document, lost)),
        done=done,
        copy=copy,
        may_run=True,
        groups=tuple(map(_group_document, gaps)),
    )


def _group_document(gap: Gap) -> LostGroups:
    return LostGroups(
        first_group=gap.numbers.start,
        last_group=gap.numbers.stop - 1,
        from_offset=gap.from_offset if gap.is_placed else None,
        end_offset=gap.end_offset,
        in_log=gap.in_folder,
    )


def _document(batch: Batch) -> LostBatch:
    origin = batch.rows[0].origin
    return LostBatch(
        base_offset=batch.base_offset,
        end_offset=batch.end_offset,
        leader_epoch=batch.leader_epoch,
        time=time_text(batch.timestamp),
        principal=principal_of(batch),
        command=None if origin is None else origin.command,
        request_id=None if origin is None else origin.request_id,
    )


def _print(found: SharedLogRepair) -> None:
    if found.groups:
        _print_middle(found)
        return
    if not found.lost:
        behind = (
            f"; it is behind by {count_text(found.appended, 'record')}" if found.appended else ""
        )
        print_line(f"{found.log} has nothing that the shared log lacks{behind}")
    else:
        _print_lost(found)
    if found.may_run:
        print_line("The nodes may run again.")
    elif found.may_run is False:
        print_line(
            "Another node has lost records, too, see `metalog nodes list`: no node runs yet."
        )


def _print_middle(found: SharedLogRepair) -> None:
    if found.lost:
        _print_batches(found)
    count = count_text(
        sum(each.last_group + 1 - each.first_group for each in found.groups), "group"
    )
    unplaced = [each for each in found.groups if each.from_offset is None]
    lacks = [each for each in found.groups if not each.in_log]
    if found.done == "put back":
        print_line(f"{count} put back from {found.log}: the shared log is whole again.")
    elif found.done == "given up":
        behind = max(each.last_group for each in found.groups) + 1
        print_line(
            f"{count} given up: the shared log begins with group {behind}, {found.copy} is a"
        )
        print_line(f"backup of {found.log}. Fill the folder of a new node from it first.")
    else:
        print_line(
            f"{count} lost in the middle of the shared log, which ends at {found.shared_end}:"
        )
        for each in found.groups:
            print_line(f"{_groups_text(each)}: {'in' if each.in_log else 'not all in'} {found.log}")
        if unplaced:
            print_line("The group before is lost, too, which tells where they begin: no folder can")
            print_line("put them back.")
        elif not lacks:
            print_line("`--put-back` stores the records of LOG in their place, while nodes run.")
        else:
            print_line("Look into the folders of the other nodes: one of them may have all.")
        print_line("`--give-up COPY` backs LOG up, and lets the shared log begin behind them.")


def _groups_text(each: LostGroups) -> str:
    last = each.last_group
    groups = f"group {last}" if last == each.first_group else f"groups {each.first_group} to {last}"
    if each.from_offset == each.end_offset:
        return f"{groups}, no records"
    if each.from_offset is None:
        return f"{groups}, offsets up to {each.end_offset - 1}"
    return f"{groups}, offsets {each.from_offset} to {each.end_offset - 1}"


def _print_batches(found: SharedLogRepair) -> None:
    print_table(
        ("offsets", "epoch", "time", "by", "command", "request"),
        [
            (
                f"{each.base_offset}-{each.end_offset - 1}",
                *(each.leader_epoch, each.time, each.principal, each.command, each.request_id),
            )
            for each in found.lost[:_SHOWN]
        ],
    )
    if len(found.lost) > _SHOWN:
        print_line(f"and {count_text(len(found.lost) - _SHOWN, 'batch')} more")


def _print_lost(found: SharedLogRepair) -> None:
    _print_batches(found)
    count = count_text(len(found.lost), "batch")
    part = f"the shared log ends at offset {found.shared_end}"
    if found.appended:
        part += f", {count_text(found.appended, 'record')} of others in their place"
    if found.done == "put back":
        print_line(f"{count} put back from {found.log}: the shared log ends at {found.folder_end}")
    elif found.done == "given up":
        print_line(
            f"{count} given up: {found.log} ends at {found.from_offset}, {found.copy} has them"
        )
    elif found.appended:
        print_line(f"{count} only in {found.log}; {part}.")
        print_line("They cannot be put back. `--give-up COPY` keeps them in a copy, and goes on.")
    else:
        print_line(f"{count} only in {found.log}; {part}, and nobody has appended since.")
        print_line("`--put-back` appends them unchanged; `--give-up COPY` goes on without them.")
