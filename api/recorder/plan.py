"""The plan of a recorder: what it would do with its file."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from api.recorder.settings import read_settings
from metadata_log.files.names import MANIFEST
from metadata_log.reader.log_reader import LogReader


class PlannedMirror(msgspec.Struct, frozen=True, kw_only=True):
    """Plan for one mirror of a recorder's file.

    Attributes:
        log: The mirror's folder.
        cluster_id: The cluster's id; None: a broker is asked for it.
        log_end: End of the existing mirror; None: the mirror will be created.
        checks: The number of expectations; None: nothing is checked.
    """

    mirror: str
    log: str
    cluster_id: str | None
    log_end: int | None
    archive: str | None
    retain: str | None
    checks: int | None

    @property
    def text(self) -> str:
        """The plan in words."""
        if self.log_end is None:
            begin = f"a new mirror of cluster {self.cluster_id or 'that a broker names'}"
        else:
            begin = f"goes on at offset {self.log_end} of cluster {self.cluster_id}"
        more = "" if self.archive is None else f"; archived in {self.archive}"
        more += "" if self.retain is None else f", kept for {self.retain}"
        more += "" if self.checks is None else f"; expectations checked: {self.checks}"
        return f"{self.mirror}: {self.log}: {begin}{more}"


def planned(path: Path) -> Iterator[PlannedMirror]:
    """Yield the plan for each mirror of a recorder's file.

    Raises:
        RequestError: as `read_settings`; CorruptLogError: a mirror is damaged.
    """
    for name, each in read_settings(path).mirrors.items():
        cluster_id, log_end = each.cluster_id, None
        if (each.log / MANIFEST).exists():
            with LogReader.open(each.log) as reader:
                cluster_id, log_end = reader.cluster_id, reader.end_offset
        yield PlannedMirror(
            mirror=name,
            log=str(each.log),
            cluster_id=cluster_id,
            log_end=log_end,
            archive=each.archive,
            retain=each.retain,
            checks=None if each.checks is None else len(each.checks.expect),
        )
