"""Versions of Kafka by their metadata.version levels.

Source: docs/upgrade of Kafka 4.0 (removed configs, lowest level). Features by release: KIP-853
(kraft.version), KIP-966 (ELR), KIP-932 (share groups), KIP-1071 (streams groups).
"""

import re
from collections.abc import Mapping

import msgspec

from records.errors import RequestError
from records.metadata_versions import LEVEL_NAMES, NEWEST_PRODUCTION_LEVEL

FOUR = (4, 0)
LEAST_LEVEL_OF_FOUR = 7
"""Lowest metadata.version that Kafka 4 supports: 3.3-IV3."""

FEATURE_SINCE: Mapping[str, tuple[int, int]] = {
    "kraft.version": (3, 9),
    "eligible.leader.replicas.version": (4, 0),
    "share.version": (4, 0),
    "streams.version": (4, 1),
}
"""First release that knows a feature, for features that came after metadata.version."""


class Target(msgspec.Struct, frozen=True):
    """The version to upgrade or downgrade to: its release, and the level finalized there."""

    release: tuple[int, int]
    level: int

    @property
    def name(self) -> str:
        """The level's name, such as 4.0-IV3."""
        return LEVEL_NAMES[self.level - 1]


def parse_target(text: str) -> Target:
    """Parse a release such as `4.0` or `3.9.1` (its newest level), or a level such as `4.0-IV1`.

    Raises:
        RequestError: INVALID_REQUEST, there is no such version.
    """
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\.\d+)?(?:-IV\d+)?", text)
    release = f"{match[1]}.{match[2]}" if match else ""
    wanted = text if "-IV" in text else release
    levels = [
        level
        for level, name in enumerate(LEVEL_NAMES[:NEWEST_PRODUCTION_LEVEL], 1)
        if name == wanted or name.partition("-")[0] == wanted
    ]
    if not match or not levels:
        newest = LEVEL_NAMES[NEWEST_PRODUCTION_LEVEL - 1].partition("-")[0]
        raise RequestError(
            "INVALID_REQUEST",
            f"{text!r} is not a version of Kafka from 3.0 to {newest}, such as 4.0",
        )
    return Target((int(match[1]), int(match[2])), levels[-1])
