"""The objects of a cluster at one point, from a log directory or from a service."""

from collections.abc import Iterable
from typing import Any, Protocol

from api.cli.options.snapshot_database import named_timeline
from api.cli.source.opened_log import absolute_in
from api.cli.source.source import Source
from api.cli.terminal.progress_bar import progress
from api.questions.objects import IMAGE, PARTS, ShowImage, joined, named_objects, object_json
from api.questions.past import Past
from metadata_log.reader.log_reader import LogReader
from replay.about import About
from replay.image.metadata import MetadataImage

# Replaying so many records is quicker than finding and loading a snapshot.
_CONTINUED_MAX = 50_000

Object = dict[str, Any]


class Cluster(Protocol):
    """The objects of a cluster as of one point; `move` changes the point."""

    @property
    def about(self) -> About:
        """The current point, and the position of the log."""

    def move(self, point: str) -> None:
        """Move to a point.

        Raises:
            RequestError: the point is malformed, or not in the log.
            UnavailableError: no service answers.
            CorruptLogError: the log is damaged.
        """

    def labels(self, part: str) -> list[str]:
        """Return the names of all objects of a part, sorted."""

    def find(self, part: str, label: str) -> Object | None:
        """Return an object with its fields, None if there is no object of that name."""

    def objects(self, part: str) -> Iterable[Object]:
        """Return all objects of a part with their fields, ordered by name."""


def cluster_of(source: Source, *, show_secrets: bool) -> Cluster:
    """Return the cluster at the end of a log, read from its directory or through a service."""
    made: Cluster
    made = _OfLog(source, show_secrets) if source.server is None else _Served(source, show_secrets)
    made.move("end")
    return made


class _OfLog:
    """A cluster read from a log.

    Keeps the image, so that a move to a slightly later point replays only the records in between.
    """

    about: About

    def __init__(self, source: Source, show_secrets: bool) -> None:
        assert source.log is not None, "a log is read"
        self._log, self._show_secrets = source.log, show_secrets
        self._image = MetadataImage.EMPTY
        self._labels: dict[str, dict[str, Any]] = {}

    def move(self, point: str) -> None:
        with LogReader.open(self._log) as reader:
            timeline = named_timeline(reader)
            past = Past(reader, absolute=absolute_in, progress=progress, timeline=timeline)
            at = past.offset(point)
            before = self._image.provenance.offset
            is_near = before is not None and 0 <= at - before <= _CONTINUED_MAX
            start = self._image if is_near else None
            with past.progress("replaying", at + 1) as advance:
                self._image = past.timeline.image(at, start=start, progress=advance)
            self.about = past.about_image(self._image, at)
        self._labels = {}

    def labels(self, part: str) -> list[str]:
        if part not in self._labels:
            named = named_objects(self._image, PARTS[part], show_secrets=self._show_secrets)
            self._labels[part] = dict(named)
        return list(self._labels[part])

    def find(self, part: str, label: str) -> Object | None:
        kind = PARTS[part]
        try:
            key = kind.find(self._image, label)
        except ValueError:
            return None
        if key is None:
            return None
        return object_json(self._image, kind, key, label, show_secrets=self._show_secrets)

    def objects(self, part: str) -> Iterable[Object]:
        kind = PARTS[part]
        for label, key in named_objects(self._image, kind, show_secrets=self._show_secrets):
            yield object_json(self._image, kind, key, label, show_secrets=self._show_secrets)


class _Served:
    """A cluster read from a service; caches the parts of the image already fetched."""

    about: About

    def __init__(self, source: Source, show_secrets: bool) -> None:
        self._source, self._show_secrets = source, show_secrets
        self._parts: dict[str, dict[str, Object]] = {}

    def move(self, point: str) -> None:
        # A small part, so that the service says where the point is.
        self._ask("features", point)

    def labels(self, part: str) -> list[str]:
        return list(self._part(part))

    def find(self, part: str, label: str) -> Object | None:
        return self._part(part).get(label)

    def objects(self, part: str) -> Iterable[Object]:
        return self._part(part).values()

    def _part(self, part: str) -> dict[str, Object]:
        if part not in self._parts:
            self._ask(part, str(self.about.as_of) if self.about.as_of >= 0 else "start")
        return self._parts[part]

    def _ask(self, part: str, point: str) -> None:
        request = ShowImage(parts=(part,), show_secrets=self._show_secrets)
        result = self._source.ask(IMAGE, request, at=point)
        objects = joined(result.items).get(part, [])
        about = result.about()
        if part not in self._parts or about.as_of != self.about.as_of:
            self._parts = {}
        self._parts[part] = {each["object"].partition(":")[2]: each for each in objects}
        self.about = about
