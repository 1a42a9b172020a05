"""A node: stands by until it may lead, leads until it may not, and stands by again.

    open the folder -> follow -> take the lease -> catch up, claim, announce -> serve
         ^                                                                       |
         +------------------ fenced, or the lease could not be renewed ----------+

SIGTERM ends a leader's service first and then gives the lease away, so that another node leads at
once. Between two nodes there is no connection: they meet in the store only.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec

from api.nodes.lease import HeldLease, LeaseWatch
from api.nodes.options import LeaderContent, NodeOptions
from api.nodes.standby import Standby
from api.service.service import Service
from api.transport.shutdown import first_of, unless_set
from controller.asked.asked import asked_settings
from controller.decisions.context.context import Settings
from metadata_log.files.fs import Fs, OsFs
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import NONCE_SIZE, Lease, Position, SharedLog, claim_of
from metadata_log.writer.clock import MachineClocks, SystemClocks
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.node_writer import NodeWriter
from metadata_log.writer.shared_commit import SharedCommit
from records.errors import FencedError, UnavailableError

_LOG = logging.getLogger(__name__)

_LOOKS = 8
"""How often a standby looks at the lease while it runs out."""

_RETRY_S = 0.5
"""After the store or the disk has failed."""

_SETTLE_FOR_S = 10.0
"""Longer than most fail-overs take to answer again; the lease has run out by then."""


Serve = Callable[[Service], AbstractAsyncContextManager[object]]
"""Runs the listeners of a service that leads."""


class Node:
    """One node of a shared log."""

    def __init__(
        self,
        directory: Path,
        log: SharedLog,
        options: NodeOptions,
        *,
        settings: Settings,
        serve: Serve,
        stands_by: Callable[[Standby], None] = lambda standby: None,
        clocks: MachineClocks | None = None,
        fs: Fs | None = None,
    ) -> None:
        """Prepare to run.

        Args:
            serve: Runs the listeners of a service while this node leads.
            stands_by: Called whenever this node begins to stand by.
        """
        self._fs = fs or OsFs()
        self._directory = directory
        self._log = log
        self._options = options
        self._settings = msgspec.structs.replace(settings, node_id=options.node_id)
        self._serve = serve
        self._stands_by = stands_by
        self._clocks = clocks or SystemClocks()
        self._process = secrets.token_bytes(NONCE_SIZE)
        self._watch = LeaseWatch(self._clocks)

    async def run(self, stop: asyncio.Event) -> None:
        """Stand by and lead in turns, until `stop` is set.

        Raises:
            RequestError, LostRecordsError, CorruptLogError: as `Standby.open`: an operator has to
                look first.
        """
        while not stop.is_set():
            try:
                await self._live(stop)
            except (UnavailableError, FencedError) as error:
                _LOG.warning("%s; this node stands by", error)
                await unless_set(stop, asyncio.sleep(_RETRY_S))
            except OSError as error:
                _LOG.warning("%s: %s; it is opened again", self._directory, error)
                await unless_set(stop, asyncio.sleep(_RETRY_S))

    async def _live(self, stop: asyncio.Event) -> None:
        """Stand by and, once, lead."""
        async with self._standby() as standby:
            self._stands_by(standby)
            held = await unless_set(stop, self._elected(standby))
            if held is None:
                return
            keeping = asyncio.create_task(held.keep(lambda: standby.copy.position), name="lease")
            try:
                await self._lead(standby, keeping, stop)
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
                await held.release()

    @contextlib.asynccontextmanager
    async def _standby(self) -> AsyncIterator[Standby]:
        standby = await Standby.open(self._directory, self._log, self._options.node_id, fs=self._fs)
        try:
            yield standby
        except (OSError, UnavailableError):
            # What reached the disk is not known; opening the folder again finds out.
            standby.copy.abandon()
            raise
        finally:
            standby.copy.close()

    async def _elected(self, standby: Standby) -> HeldLease:
        """Follow until the lease has run out and this node has got it."""
        while True:
            await standby.follow(self._options.lease_ms / 1_000 / _LOOKS)
            found = await self._log.lease()
            own = found is not None and found.process == self._process
            if not own and not self._watch.has_run_out(found):
                continue
            wanted = Lease(
                node_id=self._options.node_id,
                process=self._process,
                nonce=secrets.token_bytes(NONCE_SIZE),
                duration_ms=self._options.lease_ms,
                proven=standby.copy.position,
                content=msgspec.msgpack.encode(LeaderContent(addresses=self._options.addresses)),
            )
            held = await HeldLease.take(self._log, wanted, found, self._clocks)
            if held is not None:
                return held

    async def _lead(
        self, standby: Standby, keeping: "asyncio.Task[None]", stop: asyncio.Event
    ) -> None:
        """Lead until this node is to stop, is fenced, or has lost the lease."""
        await standby.catch_up()
        claim = await self._claim(standby.copy.position)
        log = await self._writer(standby, claim)
        async with await self._service(standby, log) as service, self._serve(service):
            await first_of(stop.wait(), service.lost(), _ended(keeping))
            if not stop.is_set():
                _LOG.warning(
                    "node %d no longer leads: %s",
                    self._options.node_id,
                    "the lease was not renewed in time" if keeping.done() else "it was fenced",
                )

    async def _claim(self, at: Position) -> Position:
        epoch = max(at.epoch, 0) + 1
        claim = claim_of(at, epoch, secrets.token_bytes(NONCE_SIZE))
        await self._log.append(claim, after=at)
        return claim.end

    async def _writer(self, standby: Standby, claim: Position) -> MetadataLog:
        owned = standby.copy.hand_over()
        assert isinstance(owned.writer, NodeWriter)
        commit = SharedCommit(self._log, owned.writer, claim, settle_for_s=_SETTLE_FOR_S)
        return await MetadataLog.lead(
            self._directory,
            owned,
            commit,
            node_id=self._options.node_id,
            asked=asked_settings(self._settings),
            machine=self._clocks,
            fs=self._fs,
        )

    async def _service(self, standby: Standby, log: MetadataLog) -> Service:
        """Return a service that decides; its image has the announcement of the epoch, too."""
        start = standby.image.provenance.next_offset
        with LogReader.open(self._directory, fs=self._fs) as reader:
            standby.replay(list(reader.batches(start)))
        settings = msgspec.structs.replace(self._settings, cluster_id=log.cluster_id)
        return await Service.of(log, standby.image, settings)


async def _ended(task: "asyncio.Task[None]") -> None:
    await asyncio.wait([task])
