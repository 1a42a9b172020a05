"""Names that an object given by id (`partition:@ID/0`) had over time, one after the other."""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from replay.image.metadata import MetadataImage
from replay.time_travel.labels import escaped
from replay.time_travel.object_events import Event
from replay.time_travel.objects import ObjectName, in_topic, is_label, label_in, parse_object


class NameSpan(msgspec.Struct, frozen=True):
    """A name or pattern, and the first and last offset (inclusive) at which it meant the object."""

    text: str
    first: int
    last: int


def names_over_time(
    name: ObjectName,
    image: MetadataImage,
    last: int,
    history: Callable[[ObjectName], Iterable[Event]],
) -> Iterator[NameSpan]:
    """Yield the names that an object had up to an offset, oldest first, as records wrote them.

    Args:
        image: The image at the offset `last`.
        history: Returns the events of an object up to the offset.

    Raises:
        RequestError: there never was a topic of this id; INVALID_REQUEST if it is not a valid id.
    """
    text, of = label_in(name.object, image), in_topic(name.object)
    first = 0
    if of is not None and not is_label(name.object):
        field = "topic_id" if of.is_labelled_by_id else "name"
        for event in history(parse_object(f"{of.kind}:{of.ref}")):
            for change in event.changes:
                if change.field != field:
                    continue
                if change.before is not None:
                    ref = f"@{change.before}" if of.is_labelled_by_id else escaped(change.before)
                    yield NameSpan(of.named(ref), first, event.row.offset)
                first = event.row.offset
    if text is not None:
        yield NameSpan(text, first, last)
