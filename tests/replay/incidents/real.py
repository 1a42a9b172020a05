"""Real logs, imported."""

from pathlib import Path

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from tests.real_logs import DataSet


def imported(data_set: DataSet, tmp_path: Path) -> Path:
    """Import a node's log; return the directory of the mirror."""
    log = tmp_path / "log"
    import_directory(open_directory(data_set.materialise(tmp_path)), log)
    return log
