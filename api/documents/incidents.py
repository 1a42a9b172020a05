"""Documents about incidents."""

from collections.abc import Iterable
from typing import Self

import msgspec

from api.questions.lives import Life
from replay.incidents.event import KINDS, TimelineEvent


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a range."""

    events: tuple[TimelineEvent, ...]


class Lives(msgspec.Struct, frozen=True, kw_only=True):
    """The topics that a name has meant."""

    lives: tuple[Life, ...]


class OfKind(msgspec.Struct, frozen=True, kw_only=True):
    """How many events there were of a kind, and on how many objects."""

    events: int
    objects: int


class Stat(msgspec.Struct, frozen=True, kw_only=True):
    """The kinds of events that there were."""

    stat: dict[str, OfKind]

    @classmethod
    def of(cls, events: Iterable[TimelineEvent]) -> Self:
        """Count events."""
        found = {kind: [each for each in events if each.kind == kind] for kind in KINDS}
        return cls(
            stat={
                kind: OfKind(
                    events=len(of), objects=len({name for each in of for name in each.objects})
                )
                for kind, of in found.items()
                if of
            }
        )
