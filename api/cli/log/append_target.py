"""Destinations of `metalog append`: the interface of `local_append` and `remote_append`."""

from typing import Protocol

from controller.decisions.versions import ExpectedVersion
from metadata_log.format.batch import AppendResult, NewBatch


class AppendTarget(Protocol):
    """A log to which batches are appended; `append` has the semantics of `Appends.append`."""

    async def append(
        self,
        batch: NewBatch,
        *,
        expected_end_offset: int | None = None,
        expected_versions: tuple[ExpectedVersion, ...] = (),
    ) -> AppendResult: ...
