"""Log directories of brokers: reserved ids, and the directory of a new replica.

Source: KIP-858 (meaning of the reserved ids); docs/kafka_rules.md, section 4.
"""

from records.base import ZERO_UUID, Uuid
from replay.image.cluster import Broker

MIGRATING = ZERO_UUID
"""Directory id recorded while the broker does not report its directories yet."""

UNASSIGNED = Uuid((1).to_bytes(16))
"""Directory id recorded until the broker has chosen a directory."""

LOST = Uuid((2).to_bytes(16))
"""Directory id recorded for a failed directory whose own id is no longer known."""


def default_directory(broker: Broker) -> Uuid:
    """Return the directory to record for a new replica on a broker."""
    if not broker.log_dirs:
        return MIGRATING
    return broker.log_dirs[0] if len(broker.log_dirs) == 1 else UNASSIGNED


def is_online(broker: Broker, directory: Uuid) -> bool:
    """True if the directory is online, so that its replicas can be served."""
    if directory == LOST:
        return False
    reserved = directory in (MIGRATING, UNASSIGNED)
    return reserved or not broker.log_dirs or directory in broker.log_dirs


def is_reserved(directory: Uuid) -> bool:
    """True if an id is one of the first 100, which no real directory may have."""
    return int.from_bytes(directory) < _RESERVED_COUNT


_RESERVED_COUNT = 100
