"""Own logs of a generated history, kept for later runs.

They are kept because writing 1,500,000 records takes long.
"""

import asyncio
import hashlib
import itertools
import shutil
from pathlib import Path

from benchmarks import cluster_history, cluster_state
from benchmarks.cluster_history import history
from benchmarks.own_log import CLUSTER_ID
from benchmarks.unsynced_fs import UnsyncedFs
from metadata_log.format.batch import NewBatch
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.avro.schema import envelope_schema_json

_SEED = 20_261_121
# A log of users' commands holds about so many records a batch.
_BATCH_RECORDS = 27
_APPENDS_AT_ONCE = 256


def generated_log(scratch: Path, records: int) -> Path:
    """Return a log of `records` generated records in batches of 27; callers must not change it.

    The log is kept next to the scratch directory for later runs.
    """
    logs = scratch.parent / "metalog-bench-logs"
    kept = logs / f"{records}-{_fingerprint()}"
    if not kept.exists():
        logs.mkdir(exist_ok=True)
        made = scratch / f"generated-{records}"
        asyncio.run(write_log(made, records))
        for outdated in logs.glob(f"{records}-*"):
            shutil.rmtree(outdated)
        made.rename(kept)
    return kept


def _fingerprint() -> str:
    """Return a hash of what determines the content of a generated log."""
    found = hashlib.sha256(envelope_schema_json().encode())
    for source in (__file__, cluster_history.__file__, cluster_state.__file__):
        found.update(Path(source).read_bytes())
    return found.hexdigest()[:12]


async def write_log(directory: Path, count: int) -> None:
    """Write an own log of `count` generated records, without syncs."""
    create_log(directory, CLUSTER_ID)
    log = await MetadataLog.open(directory, fs=UnsyncedFs())
    records = itertools.chain.from_iterable(batch.records for batch in history(count, _SEED))
    while group := list(itertools.islice(records, _BATCH_RECORDS * _APPENDS_AT_ONCE)):
        parts = [
            tuple(group[start : start + _BATCH_RECORDS])
            for start in range(0, len(group), _BATCH_RECORDS)
        ]
        await asyncio.gather(*(log.append(NewBatch(records=part)) for part in parts))
    await log.close()
