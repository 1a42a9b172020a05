"""A node: stands by until it may lead, leads until it may not, and stands by again.

    open the folder -> follow -> take the lease -> catch up, claim, announce -> decide
         ^                                                                       |
         +------------------ fenced, or the lease could not be renewed ----------+

Its listeners are open from the first state on, whether it leads or not. On SIGTERM a leader stops
deciding first and then gives the lease away, so that another node leads at once. Between two nodes
there is no connection: they meet in the store only.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from api.nodes.candidacy import Candidacy
from api.nodes.fitness import Unfit, leader_content, settings_digests, unfit
from api.nodes.lease import HeldLease
from api.nodes.lost_records import ToldToStopError, check_not_stopped, stop_all
from api.nodes.membership import MemberContent, Membership
from api.nodes.node_service import NodeService
from api.nodes.options import NodeOptions, content_of, handing_over, leader_of, taking
from api.nodes.release import Release, this_release
from api.nodes.retries import Retries
from api.nodes.standby import Standby
from api.nodes.state import state_of
from api.nodes.trimming import Trimming
from api.service.followed_log import FollowedLog
from api.transport.shutdown import cancel_all, first_of, unless_set
from controller.asked.asked import asked_settings
from controller.decisions.context.context import Settings
from metadata_log.files.fs import Fs, OsFs
from metadata_log.format.batch import Batch
from metadata_log.format.manifest import read_manifest
from metadata_log.reader.log_reader import LogReader
from metadata_log.shared.shared_log import NONCE_SIZE, Lease, Position, SharedLog, claim_of
from metadata_log.writer.clock import MachineClocks, SystemClocks
from metadata_log.writer.folder_copy import FolderCopy, LostRecordsError
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.node_writer import NodeWriter
from metadata_log.writer.shared_commit import SharedCommit
from records.errors import FencedError, RequestError, UnavailableError
from replay.image.metadata import MetadataImage
from replay.timeline import Timeline

_LOG = logging.getLogger(__name__)

_LOOKS = 8
"""How often a standby reads the lease within the lease's duration."""

_OFTEN_S = 0.02
"""Pause between two reads of a lease whose holder is handing over."""

_SETTLE_FOR_S = 10.0
"""How long to find out if a group was committed; most stores answer again sooner after a fail-over.
The lease has run out by then."""

Serve = Callable[[NodeService], AbstractAsyncContextManager[object]]
"""Runs the listeners of a service."""

Shown = Callable[[NodeService], None]
"""Called when a node's role changes."""


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
        stands_by: Shown = lambda service: None,
        leads: Shown = lambda service: None,
        clocks: MachineClocks | None = None,
        fs: Fs | None = None,
        trimming: Trimming | None = None,
        release: Release | None = None,
    ) -> None:
        """Prepare a node; `run` starts it.

        Args:
            serve: Runs the listeners of this node's service as long as the node runs.
            stands_by: Called whenever this node begins to stand by.
            leads: Called whenever this node begins to lead.
            trimming: Trims the shared log while this node leads; None: nothing is trimmed.
            release: The release of the program; None: the one that runs.
        """
        self._fs = fs or OsFs()
        self._directory = directory
        self._log = log
        self._options = options
        self._settings = msgspec.structs.replace(settings, node_id=options.node_id)
        self._serve = serve
        self._stands_by = stands_by
        self._leads = leads
        self._trimming = trimming
        self._release = release or this_release()
        self._clocks = clocks or SystemClocks()
        self._process = secrets.token_bytes(NONCE_SIZE)
        self._candidacy = Candidacy(options, self._process, self._clocks)
        self._service: NodeService | None = None
        self._leader_content = partial(
            leader_content,
            release=self._release,
            settings=settings_digests(settings),
            addresses=options.addresses,
        )
        self._unfit = Unfit()
        self._copy: FolderCopy | None = None
        self._retries = Retries()
        self._was_shown_standing_by = False
        self._membership = Membership(log, options.node_id, self._clocks, self._content)

    async def run(self, stop: asyncio.Event) -> None:
        """Stand by and lead in turns, until `stop` is set.

        Once the listeners are open, the node retries when the store does not answer or the disk
        fails.

        Raises:
            UnavailableError, OSError: before the listeners are open; or an address is in use.
            RequestError, LostRecordsError, CorruptLogError: as `Standby.open`, or another process
                has this node's number: an operator has to look first.
        """
        try:
            await self._run(stop)
        except LostRecordsError as error:
            await self._stop_all(error)
            raise
        if self._service is not None:
            await self._membership.stopped()

    async def _run(self, stop: asyncio.Event) -> None:
        async with contextlib.AsyncExitStack() as listening:
            while not stop.is_set():
                try:
                    await self._live(stop, listening)
                except (UnavailableError, FencedError) as error:
                    if self._service is None:
                        raise
                    await self._retries.pause(stop, f"{error}; this node stands by")
                except OSError as error:
                    if self._service is None:
                        raise
                    await self._retries.pause(stop, f"{self._directory}: {error}; opened again")
                except RequestError as error:
                    if self._service is not None and error.code == "NOT_CONTROLLER":
                        # Another node took over before this one had begun to lead.
                        await self._retries.pause(stop, f"{error}; this node stands by")
                        continue
                    if self._service is None or error.code != "UNSUPPORTED_VERSION":
                        raise
                    self._judge(Unfit(not_understood=(str(error),)))
                    await unless_set(stop, self._outdated(self._service))

    async def _stop_all(self, error: LostRecordsError) -> None:
        """Tell the other nodes that the store has lost records, unless one of them has said so."""
        try:
            if isinstance(error, ToldToStopError):
                if self._service is not None:
                    await self._membership.stopped()
            else:
                await stop_all(self._log, self._options.node_id, error)
        except UnavailableError as unavailable:
            _LOG.error("the other nodes were not told that records are lost: %s", unavailable)

    async def _live(self, stop: asyncio.Event, listening: contextlib.AsyncExitStack) -> None:
        """Stand by until elected, then lead once."""
        async with self._standby() as standby:
            service = await unless_set(stop, self._following(standby, listening, stop))
            if service is None:
                return
            if not self._was_shown_standing_by:
                self._was_shown_standing_by = True
                self._stands_by(service)
            self._membership.changed()
            held = await unless_set(stop, self._elected(standby, service))
            if held is None:
                return
            keeping = asyncio.create_task(held.keep(lambda: standby.copy.position), name="lease")
            try:
                next_leader = await self._lead(standby, service, held, keeping, stop)
                if not keeping.done() and service.is_active:
                    held.tell(handing_over(held.lease, next_leader))
                    # Until the standbys look often, so that one leads as soon as this one stops.
                    await asyncio.sleep(self._look_s)
            finally:
                await cancel_all(keeping)
                await service.stand_by(held.release)

    @contextlib.asynccontextmanager
    async def _standby(self) -> AsyncIterator[Standby]:
        standby = await Standby.open(
            self._directory,
            self._log,
            self._options.node_id,
            self._fs,
            shared=self._options.shared,
            before=self._copy,
        )
        self._copy = standby.copy
        try:
            yield standby
        except (OSError, UnavailableError):
            # What reached the disk is not known; opening the folder again finds out.
            standby.copy.abandon()
            raise
        except BaseException:
            with contextlib.suppress(OSError, UnavailableError):
                standby.copy.close()
            raise
        standby.copy.close()

    async def _following(
        self, standby: Standby, listening: contextlib.AsyncExitStack, stop: asyncio.Event
    ) -> NodeService:
        """Return the service, caught up with the folder; the first call opens the listeners."""
        if self._service is not None:
            await self._service.follow_folder()
            return self._service
        await standby.catch_up(_not_followed)
        image = await asyncio.to_thread(self._image)
        cluster_id = read_manifest(self._fs, self._directory).cluster_id
        settings = msgspec.structs.replace(self._settings, cluster_id=cluster_id)
        followed = FollowedLog(self._directory, self._fs)
        nodes = partial(state_of, self._log)
        service = NodeService(
            followed, image, settings, self._log.confirmed_end, nodes, standby.known_s
        )
        await service.follow_folder()  # an open transaction, which the image is without
        await listening.enter_async_context(self._serve(service))
        self._service = service
        # Before others hand over to this node: a leader's first decision would wait for it.
        await service.make_index()
        await listening.enter_async_context(self._membership.kept(stop))
        return service

    def _image(self) -> MetadataImage:
        with LogReader.open(self._directory, fs=self._fs) as reader:
            return Timeline.of(reader).image()

    async def _elected(self, standby: Standby, service: NodeService) -> HeldLease:
        """Follow the shared log until this node has taken the lease."""
        time = asyncio.get_running_loop().time
        look_s, looked_s = self._look_s, time()
        while True:
            await standby.follow(max(looked_s + look_s - time(), 0), service.follow)
            service.caught_up(standby.known_s)
            if service.leader is not None and time() < looked_s + look_s:
                continue
            looked_s = time()
            found = await self._log.lease()
            await standby.check_not_stopped(found)
            service.leader = leader_of(found)
            look_s = _OFTEN_S if self._candidacy.is_next(found) else self._look_s
            is_free = self._candidacy.is_free(found, is_patient=self._membership.clock_is_off)
            if not self._may_lead(standby, service, found) or not is_free:
                continue
            content = self._leader_content(service.image, requests_from=standby.requests_from)
            wanted = Lease(
                node_id=self._options.node_id,
                process=self._process,
                nonce=secrets.token_bytes(NONCE_SIZE),
                duration_ms=self._options.lease_ms,
                proven=standby.copy.position,
                content=taking(found, content),
            )
            held = await HeldLease.take(self._log, wanted, found, self._clocks)
            if held is not None:
                return held

    def _may_lead(self, standby: Standby, service: NodeService, before: Lease | None) -> bool:
        """Return whether this node is fit to lead after the holder of a lease."""
        content = self._leader_content(service.image, requests_from=standby.requests_from)
        self._judge(unfit(content, None if before is None else content_of(before)))
        return self._unfit.may_lead(is_told=self._candidacy.is_told(before))

    def _judge(self, found: Unfit) -> None:
        """Record why this node would not lead; log a warning when that changes."""
        if found != self._unfit:
            self._unfit = found
            self._membership.changed()
            if found.text:
                _LOG.warning("node %d %s", self._options.node_id, found.text)

    async def _outdated(self, service: NodeService) -> None:
        """Only keep `service.leader` up to date, without end: this release cannot read the log."""
        while True:
            with contextlib.suppress(UnavailableError):
                found = await self._log.lease()
                check_not_stopped(found)
                service.leader = leader_of(found)
            await asyncio.sleep(self._look_s)

    @property
    def _look_s(self) -> float:
        """Seconds between two reads of the lease."""
        return self._options.lease_ms / 1_000 / _LOOKS

    def _content(self, clock_off_ms: int) -> MemberContent:
        assert self._service is not None
        return MemberContent(
            role="leader" if self._service.is_active else "standby",
            version=self._release.version,
            log_end=self._service.image.provenance.next_offset,
            clock_off_ms=clock_off_ms,
            durable_end=0 if self._copy is None else self._copy.durable_end,
            addresses=self._options.addresses,
            unfit=self._unfit,
            archived_end=None if self._trimming is None else self._trimming.archived_end(),
        )

    async def _lead(
        self,
        standby: Standby,
        service: NodeService,
        held: HeldLease,
        keeping: "asyncio.Task[None]",
        stop: asyncio.Event,
    ) -> int | None:
        """Lead until this node is to stop, is fenced, has lost the lease, or another should lead.

        Returns:
            The node that should lead next; None if any may.
        """
        await standby.catch_up(service.follow)
        if held.left_s() <= 0:
            return None  # what has come may be another's claim: that one leads, and answers by it
        if not self._may_lead(standby, service, held.before):
            return None  # something has come since it took the lease
        content = self._leader_content(service.image, requests_from=standby.requests_from)
        # The first segment of the epoch waits for a sync of the one before: begin with it now.
        syncing = asyncio.create_task(standby.sync(), name="sync")
        try:
            claim = await self._claim(standby.copy.position, standby.copy.tail.leader_epoch)
        finally:
            await asyncio.wait([syncing])
        syncing.result()
        log = await self._writer(standby, claim)
        try:
            await service.follow_folder()  # the announcement of the epoch
        except BaseException:
            await log.close()
            raise
        await service.lead(log, held.left_s)
        self._was_shown_standing_by = False
        self._leads(service)
        held.tell(msgspec.msgpack.encode(content))
        self._membership.changed()
        outranked = asyncio.create_task(self._membership.outranked(), name="outranked")
        trimming = None if self._trimming is None else asyncio.create_task(self._trimming.run())
        try:
            await first_of(stop.wait(), service.lost(), _ended(keeping), _ended(outranked))
            next_leader = outranked.result() if outranked.done() else None
        finally:
            outranked.cancel()
            if trimming is not None:
                trimming.cancel()
        if not stop.is_set():
            if next_leader is not None:
                why = f"its clock is off, and node {next_leader} can lead"
            elif keeping.done() and (wished := content_of(held.lease).next_leader) is not None:
                why = f"an operator lets node {wished} lead"
            elif keeping.done():
                why = "the lease was not renewed in time"
            else:
                why = "it was fenced"
            _LOG.warning("node %d no longer leads: %s", self._options.node_id, why)
        return next_leader

    async def _claim(self, at: Position, known_epoch: int) -> Position:
        epoch = max(at.epoch, known_epoch) + 1
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
            requests=standby.copy.requests,
            node_id=self._options.node_id,
            asked=asked_settings(self._settings),
            machine=self._clocks,
            fs=self._fs,
        )


async def _not_followed(batches: Sequence[Batch]) -> None:
    """Ignore batches: there is no image yet, it is loaded from the folder afterwards."""


async def _ended(task: "asyncio.Task[Any]") -> None:
    await asyncio.wait([task])
