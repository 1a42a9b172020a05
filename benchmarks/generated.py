"""The logs that the benchmarks run on; the same seed gives the same bytes."""

from pathlib import Path

from benchmarks.generate_kraft import generate
from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory

RECORDS = 200_000
_SEED = 20_261_121


def generated_kraft(scratch: Path, records: int = RECORDS) -> Path:
    """Generate a Kafka metadata log directory, unless it exists; return its path."""
    directory = scratch / f"kraft-{records}"
    if not directory.exists():
        generate(directory, records=records, seed=_SEED)
    return directory


def generated_mirror(scratch: Path, records: int = RECORDS) -> Path:
    """Import the generated Kafka log into a mirror, unless it exists; return the mirror's path.

    NoOps are not collapsed.
    """
    log = scratch / f"mirror-{records}"
    if not log.exists():
        source = open_directory(generated_kraft(scratch, records))
        import_directory(source, log, collapse_noops=False)
    return log
