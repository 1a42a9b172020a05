"""Recording a quorum over the network: processor time against its directory, and bytes a record.

The quorum is the tests' stand-in, in this process; the time is that of the importing process.
"""

import itertools
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.generated import generated_kraft
from benchmarks.harness import Result, child_cpu_seconds
from metadata_log.kraft.new_mirror import begin_mirror
from metadata_log.kraft.observed_mirror import ObservedMirror
from metadata_log.kraft_format.names import PARTITION_DIRECTORY

_RECORDS = 50_000
_ROUNDS = 3
_BATCHES_A_SECOND = 10
_MINUTES = 5


def run(scratch: Path) -> list[Result]:
    """Measure an import of 50,000 generated records, and 5 minutes of a quorum in simulated time.

    The minutes have 10 batches a second, each below the high watermark when it is sent.
    """
    source = generated_kraft(scratch, _RECORDS)
    return [_import_time(source, scratch / "mirror"), _bytes_a_record(source, scratch / "observed")]


def _import_time(source: Path, log: Path) -> Result:
    from tests.stand_in_quorum import Quorum

    with Quorum(source / PARTITION_DIRECTORY) as quorum:
        named = ("--cluster-id", quorum.cluster_id)
        network = partial(_import, log, f"kafka://{quorum.bootstrap}", str(log), *named)
        files = partial(_import, log, "kraft", str(source), str(log))
        network()  # compiles the modules
        times = [(child_cpu_seconds(network), child_cpu_seconds(files)) for _ in range(_ROUNDS)]
    ours, peer = zip(*times, strict=True)
    return Result(
        name=f"import of {_RECORDS:,} records over the network / from the directory, CPU",
        ours=f"{statistics.median(ours):.2f} s",
        peer=f"{statistics.median(peer):.2f} s",
        ratio=statistics.median(o / p for o, p in times),
        target=1.5,
        at_most=True,
    )


def _import(log: Path, *words: str) -> None:
    shutil.rmtree(log, ignore_errors=True)
    command: Sequence[str] = (sys.executable, "-m", "api.cli", "import", *words)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _bytes_a_record(source: Path, log: Path) -> Result:
    from tests.stand_in_quorum.log import Log

    batches = Log.of_directory(source / PARTITION_DIRECTORY).batches
    sent = batches[: _MINUTES * 60 * _BATCHES_A_SECOND]
    shutil.rmtree(log, ignore_errors=True)
    begin_mirror(log, "generated")
    ticks = itertools.count()
    now_s = 0.0
    with ObservedMirror(log, clock=lambda: now_s) as mirror:
        for batch in sent:
            now_s = next(ticks) / _BATCHES_A_SECOND
            mirror.take(batch.data, batch.end_offset, "the bench")
            if mirror.is_due:
                mirror.write_due()
    records = sent[-1].end_offset
    stored = sum(path.stat().st_size for path in log.glob("*.avro")) / records
    kafka = sum(len(each.data) for each in sent) / records
    return Result(
        name=f"bytes a record of a mirror at {_BATCHES_A_SECOND} batches a second / in Kafka's log",
        ours=f"{stored:.1f} B",
        peer=f"{kafka:.1f} B",
        ratio=stored,
        target=20.0,
        at_most=True,
    )
