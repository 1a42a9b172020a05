"""Runs commands in this process, as the only writer of a log directory.

Each request is first decided on the log's current state, read without a lock (the rehearsal). If
the request is refused, is only validated, or changes nothing, nothing is written to the log, not
even a new epoch. Otherwise the log is locked, the batches written since the rehearsal are read, and
the request is decided again.
"""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from api.admin.rehearsal import RehearsalLog
from api.requests.commands import find_command
from api.security.callers import process_caller
from controller.asked.asked import asked_settings
from controller.asked.repeated_requests import earlier_hash, first_answer, identified
from controller.controller import Controller
from controller.decider import Decision
from controller.decisions.context.context import Settings
from controller.results.answer import Answer
from controller.wire import to_wire
from metadata_log.files.fs import OsFs
from metadata_log.format.manifest import Kind
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.identity import check_not_shared
from metadata_log.writer.cut_off_log import settle
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.request_batches import first_batch
from metadata_log.writer.request_window import EarlierHash, RequestWindow
from records.envelope import Origin
from records.errors import RequestError
from replay.image.metadata import MetadataImage
from replay.image.provenance import NotUnderstood
from replay.not_understood import count_not_understood
from replay.timeline import Timeline


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    """The state and position of a log, read without a lock."""

    image: MetadataImage
    end_offset: int
    leader_epoch: int
    cluster_id: str


class LocalAdmin:
    """Runs commands directly on a log directory that no other process writes.

    Attributes:
        history_start: Offset at which the log's history starts; set once a command was run.
        not_understood: Records of the log that this release does not know; set once a command was
            run.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        principal: str,
        settings: Settings | None = None,
        load: Callable[[LogReader], MetadataImage] | None = None,
    ) -> None:
        """Store the arguments; the log is opened by `run`.

        Args:
            load: Returns the image at a log's end, for example with a progress bar; None means
                `Timeline.image`.
        """
        self._directory = Path(directory)
        self._caller = process_caller(principal)
        self._settings = settings or Settings()
        self._load = load or (lambda reader: Timeline.of(reader).image())
        self._known: MetadataImage | None = None
        self.history_start = 0
        self.not_understood: NotUnderstood | None = None

    async def run(
        self,
        command: str,
        request: Any,
        *,
        reason: str | None = None,
        request_id: str | None = None,
        trace_parent: str | None = None,
    ) -> Answer[Any]:
        """Run a command, and answer once it is committed; see `Admin`.

        Raises:
            RequestError: there is no log, it is a mirror or a node's folder, or the whole request
                is refused; nothing was written.
            UnavailableError: another process writes the log.
            CorruptLogError: the log is damaged.
        """
        found = find_command(command)
        # What is decided on a copy may be outdated, also a refusal.
        check_not_shared(OsFs(), self._directory)
        decide = found.bound(request, self._caller)
        origin = self._caller.origin(found.name, reason=reason, trace_parent=trace_parent)
        await settle(self._directory, asked=asked_settings(self._settings))
        if request_id is not None:
            origin = identified(origin, request_id, found.name, to_wire(request))
            earlier = partial(earlier_hash, found.name, request)
            first = self._first_answer(origin, decide, earlier)
            if first is not None:
                return first
        read = self._read()
        rehearsal = RehearsalLog(leader_epoch=read.leader_epoch + 1, end_offset=read.end_offset)
        answer, wrote = await self._decided(rehearsal, read.image, read, decide, origin)
        if not wrote:
            return Answer(answer.response, read.end_offset, wrote=False)
        log = await MetadataLog.open(self._directory, asked=asked_settings(self._settings))
        try:
            answer, _ = await self._decided(log, self._current(read), read, decide, origin)
        finally:
            await log.close()
        return answer

    def _first_answer(
        self, origin: Origin, decide: Decision[Any], earlier: EarlierHash
    ) -> Answer[Any] | None:
        """Return the first answer to a repeated request, None for a new request."""
        with LogReader.open(self._directory) as reader:
            committed = RequestWindow.of_tail(reader).find(origin, earlier)
            if committed is None:
                return None
            self.history_start = reader.history_start
            self.not_understood = count_not_understood(reader, reader.end_offset - 1)
            read = partial(first_batch, reader.fs, reader.directory)
            return first_answer(read, committed, decide, self._settings)

    def _read(self) -> _Read:
        with LogReader.open(self._directory) as reader:
            if reader.kind is Kind.MIRROR:
                raise RequestError(
                    "NOT_CONTROLLER",
                    f"{self._directory} mirrors a Kafka cluster and takes no changes; `metalog "
                    f"fork {self._directory} LOG --at end` makes a writable log from it",
                )
            self.history_start = reader.history_start
            image = (
                self._load(reader) if self._known is None else self._caught_up(reader, self._known)
            )
            self._known = image
            self.not_understood = image.provenance.not_understood
            return _Read(
                image=image,
                end_offset=reader.end_offset,
                leader_epoch=reader.mark.leader_epoch,
                cluster_id=reader.cluster_id,
            )

    def _current(self, read: _Read) -> MetadataImage:
        """Return the state at the log's end, including batches written before we got the lock."""
        with LogReader.open(self._directory) as reader:
            return self._caught_up(reader, read.image)

    def _caught_up(self, reader: LogReader, image: MetadataImage) -> MetadataImage:
        """Return the state at the log's end, by replay from an earlier image if possible."""
        # Inside a transaction the image is the one before it, and cannot be continued.
        settled = image.provenance.pending_transaction is None
        return Timeline.of(reader).image(start=image if settled else None)

    async def _decided(
        self,
        log: MetadataLog | RehearsalLog,
        image: MetadataImage,
        read: _Read,
        decide: Decision[Any],
        origin: Origin,
    ) -> tuple[Answer[Any], bool]:
        """Make a decision; return its answer, and True if anything was written."""
        controller = Controller(
            log,
            image,
            clock=log.clock,
            rng=random.SystemRandom(),
            settings=replace(self._settings, cluster_id=read.cluster_id),
        )
        await controller.activate(makes_index=False)
        before = log.end_offset
        answer = await controller.submit(decide, origin=origin)
        await controller.drained()
        return answer, log.end_offset > before
