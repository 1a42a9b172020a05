"""JSON form of timelines, of the lives of topic names, and of event counts."""

from collections.abc import Iterable
from typing import Self

import msgspec
from msgspec import UNSET, UnsetType

from api.documents.document import Document
from api.questions.lives import Life
from api.questions.parts import GapFound
from replay.incidents.event import KINDS, TimelineEvent


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The events of a range; `gaps` is set only if it has any."""

    events: tuple[TimelineEvent, ...]
    gaps: tuple[GapFound, ...] | UnsetType = UNSET

    @classmethod
    def of(cls, items: Iterable[TimelineEvent | GapFound]) -> Self:
        """Return the document of an answer's items."""
        items = tuple(items)
        gaps = tuple([each for each in items if isinstance(each, GapFound)])
        return cls(
            events=tuple([each for each in items if isinstance(each, TimelineEvent)]),
            gaps=gaps or UNSET,
        )


TIMELINE = Document(
    type=Timeline, of=lambda _, items: Timeline.of(items), list_field="events", is_list=True
)


class Lives(msgspec.Struct, frozen=True, kw_only=True):
    """The topics that have had a given name, one after the other."""

    lives: tuple[Life, ...]


class OfKind(msgspec.Struct, frozen=True, kw_only=True):
    """The number of events of a kind, and the number of objects that they affected."""

    events: int
    objects: int


class ActiveController(msgspec.Struct, frozen=True, kw_only=True):
    """A node's number of terms as the active controller in a range, and their total time.

    `active_ms` and `active_ms_max` are sums of those of the terms' events.
    """

    node: int
    terms: int
    active_ms: int
    active_ms_max: int | UnsetType = UNSET


def active_controllers(events: Iterable[TimelineEvent]) -> tuple[ActiveController, ...]:
    """Return the number and total time of each controller's terms, ordered by node."""
    terms: dict[int, list[tuple[int, int]]] = {}
    for event in events:
        if event.active_ms is not UNSET:
            node = int(event.objects[0].partition(":")[2])
            longest_ms = event.active_ms if event.active_ms_max is UNSET else event.active_ms_max
            terms.setdefault(node, []).append((event.active_ms, longest_ms))
    return tuple([_active(node, of) for node, of in sorted(terms.items())])


def _active(node: int, terms: list[tuple[int, int]]) -> ActiveController:
    least_ms, most_ms = (sum(each) for each in zip(*terms, strict=True))
    return ActiveController(
        node=node,
        terms=len(terms),
        active_ms=least_ms,
        active_ms_max=UNSET if most_ms == least_ms else most_ms,
    )


class Stat(msgspec.Struct, frozen=True, kw_only=True):
    """The number of events of each kind, and the terms of the active controllers."""

    stat: dict[str, OfKind]
    active_controllers: tuple[ActiveController, ...]

    @classmethod
    def of(cls, events: Iterable[TimelineEvent]) -> Self:
        """Count the given events; return the counts in their JSON form."""
        events = tuple(events)
        found = {kind: [each for each in events if each.kind == kind] for kind in KINDS}
        return cls(
            stat={
                kind: OfKind(
                    events=len(of), objects=len({name for each in of for name in each.objects})
                )
                for kind, of in found.items()
                if of
            },
            active_controllers=active_controllers(events),
        )
