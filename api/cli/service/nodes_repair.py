"""The work and the output of `nodes repair`."""

from pathlib import Path

from api.cli.terminal import event_loop
from api.cli.terminal.errors import DONE, FOUND
from api.cli.terminal.output import count_text, print_json, print_line, print_table
from api.cli.terminal.progress_bar import progress
from api.documents.nodes import LostBatch, SharedLogRepair
from api.nodes.lost_records import principal_of
from api.nodes.repair import examine, give_up, put_back
from api.nodes.stores import opened
from metadata_log.care.lost_records import lost_batches
from metadata_log.files.fs import OsFs
from metadata_log.format.batch import Batch
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
    return FOUND if answer.lost and answer.done == "nothing" else DONE


async def _repair(log: Path, url: str, *, is_put_back: bool, copy: str | None) -> SharedLogRepair:
    done, may_run = "nothing", None
    async with opened(url) as shared:
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


def _print_lost(found: SharedLogRepair) -> None:
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
