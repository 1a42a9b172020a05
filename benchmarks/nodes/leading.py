"""A bare log that leads a shared log of its own: it commits there, and decides nothing."""

import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from api.nodes.standby import Standby
from api.nodes.stores import create_shared_log, open_store
from metadata_log.format.batch import Batch
from metadata_log.shared.shared_log import NONCE_SIZE, claim_of
from metadata_log.writer.log import MetadataLog
from metadata_log.writer.node_writer import NodeWriter
from metadata_log.writer.shared_commit import SharedCommit

_NODE = 1
_SETTLE_FOR_S = 10.0


@contextlib.asynccontextmanager
async def leading(directory: Path, url: str) -> AsyncIterator[MetadataLog]:
    """Share a log in a new store, and lead it without a lease."""
    await create_shared_log(url, directory)
    store = await open_store(url)
    try:
        standby = await Standby.open(directory, store, _NODE, shared=url)
        await standby.catch_up(_ignore)
        at = standby.copy.position
        epoch = max(at.epoch, standby.copy.tail.leader_epoch) + 1
        claim = claim_of(at, epoch, secrets.token_bytes(NONCE_SIZE))
        await store.append(claim, after=at)
        requests, owned = standby.copy.requests, standby.copy.hand_over()
        assert isinstance(owned.writer, NodeWriter)
        commit = SharedCommit(store, owned.writer, claim.end, settle_for_s=_SETTLE_FOR_S)
        leads = MetadataLog.lead(directory, owned, commit, requests=requests, node_id=_NODE)
        async with await leads as log:
            yield log
    finally:
        await store.close()


async def _ignore(batches: Sequence[Batch]) -> None:
    """Do nothing with batches: a bare log keeps no image."""
