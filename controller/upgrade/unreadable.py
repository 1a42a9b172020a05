"""Records of a log that a lower metadata.version cannot read, for a downgrade."""

from collections.abc import Iterable, Iterator

from controller.decisions.levels import METADATA_VERSION, needed_level, record_version
from controller.upgrade.findings import Finding
from controller.upgrade.releases import Target
from records.brokers import BrokerRegistrationChangeRecord
from records.control import UnknownRecord
from records.envelope import Envelope
from records.metadata_versions import level_name


def unreadable_records(rows: Iterable[Envelope], target: Target) -> Iterator[Finding]:
    """Yield one finding for each record type that the target's level cannot read.

    The finding has the offset of the first such record of the type, and the number of such records.
    """
    first: dict[str, tuple[int, str]] = {}
    counts: dict[str, int] = {}
    for row in rows:
        why = _why(row, target)
        if why is not None:
            name = type(row.payload).__name__
            first.setdefault(name, (row.offset, why))
            counts[name] = counts.get(name, 0) + 1
    for name, (offset, why) in first.items():
        yield Finding(
            offset=offset,
            object=name,
            text=f"{counts[name]} {name}, the first at offset {offset}: {why}",
            remedy=f"{target.name} cannot read it: stay above that level",
        )


def _why(row: Envelope, target: Target) -> str | None:
    record = row.payload
    if isinstance(record, UnknownRecord):
        return f"type {record.api_key} version {record.record_version} is not known here"
    needed = needed_level(record)
    if needed is not None and needed[0] == METADATA_VERSION and needed[1] > target.level:
        return f"it needs metadata.version {level_name(needed[1])}"
    if isinstance(record, BrokerRegistrationChangeRecord):
        return None
    version = record_version(record, target.level)
    if row.record_version > version:
        return f"it has layout version {row.record_version}, {target.name} has {version}"
    return None
