"""Levels of metadata.version: their names, and which levels changed the format of metadata.

Source: MetadataVersion of Kafka 4.0; for the levels above 25, MetadataVersion of 2026.
"""

METADATA_VERSION = "metadata.version"

# Number of levels of each release, from level 1 (3.0-IV1) on. Names count from IV0 in a release.
_LEVELS_OF_RELEASES: tuple[tuple[str, int], ...] = (
    *(("3.1", 1), ("3.2", 1), ("3.3", 4), ("3.4", 1), ("3.5", 3), ("3.6", 3), ("3.7", 5)),
    *(("3.8", 1), ("3.9", 1), ("4.0", 4), ("4.1", 2), ("4.2", 2), ("4.3", 1), ("4.4", 3)),
    ("4.5", 1),
)
_OLDEST = "3.0-IV1"


def _names() -> tuple[str, ...]:
    names = [_OLDEST]
    for release, count in _LEVELS_OF_RELEASES:
        names += [f"{release}-IV{number}" for number in range(count)]
    return tuple(names)


LEVEL_NAMES = _names()
"""Names of the levels, from level 1 on."""

NEWEST_PRODUCTION_LEVEL = 33
"""Level 4.4-IV2; the levels above it are for tests of Kafka's next release."""

CHANGED_METADATA = frozenset({1, 3, 5, 6, 7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33})
"""Levels that changed the form of metadata; a downgrade must not cross one."""

CORDONED_LOG_DIRS_LEVEL = 30
"""First level of metadata.version whose records have `cordoned_log_dirs` (KIP-1066)."""

UNREGISTER_CONTROLLER_LEVEL = 33
"""First level of metadata.version that has the UnregisterControllerRecord (KIP-1312)."""


def level_name(level: int) -> str:
    """Return a level's number and its name, such as `20 (3.8-IV0)`, or `unknown`."""
    known = LEVEL_NAMES[level - 1] if 0 < level <= len(LEVEL_NAMES) else "unknown"
    return f"{level} ({known})"


def feature_level_text(feature: str, level: int) -> str:
    """Return a feature's level, with its name if it has one."""
    return level_name(level) if feature == METADATA_VERSION else str(level)
