"""Triggers: the requests and timers that made a controller decide, as logged or inferred."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from controller.asked.asked import BoundDecision
from controller.decisions.context.context import Context, Settings
from controller.decisions.outcome import Refusal
from controller.forks.requests import past_context
from controller.pipeline.latest import State
from controller.results.result import ControllerResult
from records.base import Record
from records.envelope import Asked, Envelope
from records.errors import MetadataLogError, RequestError
from replay.image.metadata import MetadataImage

Named = tuple[str, Refusal]


class Trigger(msgspec.Struct, frozen=True):
    """A decision and its request.

    Attributes:
        asked: The decision's logged inputs; None if the request was inferred from the records.
        leaving: A broker that this decision removes from all ISRs, if it writes any records.
    """

    bound: BoundDecision[Any]
    text: str
    asked: Asked | None = None
    leaving: int | None = None

    def decided(self, rows: Sequence[Envelope], state: State, settings: Settings) -> "Decided":
        """Decide on a state, at the offset and time of the rows logged for the decision."""
        context = past_context(rows, state, settings, self.asked)
        try:
            result: ControllerResult[Any] = self.bound(context)
        except RequestError as error:
            return Decided(context=context, refusals=(("", Refusal.of(error)),))
        except MetadataLogError as error:
            return Decided(context=context, failure=f"{type(error).__name__}: {error}")
        response = result.response
        refusals = () if response is None else tuple(_refused(response, state.image))
        return Decided(context=context, records=result.records, refusals=refusals)


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a decision: records, refusals, or a failure.

    `refusals` has each refused item with its name; if the whole request was refused, only that
    refusal, with an empty name.
    """

    context: Context
    records: tuple[Record, ...] = ()
    refusals: tuple[Named, ...] = ()
    failure: str | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one decision, or of several that cannot be separated, and their trigger.

    `problem` is the reason why the trigger is not known. If both `trigger` and `problem` are None,
    the rows are observations, which do not depend on a state.
    """

    rows: tuple[Envelope, ...]
    trigger: Trigger | None = None
    problem: str | None = None

    @property
    def text(self) -> str:
        """A description of the step."""
        if self.trigger is not None:
            return self.trigger.text
        names = dict.fromkeys(type(row.payload).__name__ for row in self.rows)
        return ", ".join(names)


def _refused(response: Any, image: MetadataImage) -> Iterator[Named]:
    """Yield each refusal in a response, with the name of the refused item."""
    if isinstance(response, tuple):
        for item in response:
            yield from _refused(item, image)
    elif isinstance(response, msgspec.Struct):
        refusal = getattr(response, "refusal", None)
        if refusal is not None:
            yield _name(response, image), refusal
        topics = getattr(response, "topics", None)
        if topics is not None:
            yield from _refused(topics, image)


def _name(item: msgspec.Struct, image: MetadataImage) -> str:
    """Return the name of an item: the topic, with its partition, or another object's name."""
    topic_id = getattr(item, "topic_id", None)
    topic = None if topic_id is None else image.topic(topic_id)
    names = (getattr(item, field, None) for field in ("topic", "name", "resource_name"))
    named = next((name for name in names if isinstance(name, str)), "")
    name = named if topic is None else image.full_name(topic)
    partition_id = getattr(item, "partition_id", None)
    return name if partition_id is None else f"{name}/{partition_id}"
