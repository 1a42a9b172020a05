"""The verbs of the shell: those that show objects, and those that move in the tree or in time."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from api.cli.past.changes import print_event
from api.cli.shell.cluster import Cluster, Object, cluster_of
from api.cli.shell.paths import ROOT, Place, place_at, steps_below
from api.cli.source.gaps import gap_text
from api.cli.source.image_view import position_text, print_remark
from api.cli.source.opened_log import place_of
from api.cli.source.source import Source
from api.cli.terminal.output import print_json, print_line, value_text
from api.documents.shell import FieldValue, Listing, Objects, Where
from api.questions.history import HISTORY, ObjectEvent, ShowHistory, Step
from api.questions.objects import PARTS
from api.questions.parts import GapFound
from records.errors import RequestError
from replay.name_patterns import name_matcher

_LINES_MAX = 1_000
"""Maximum number of lines that `tree` prints."""

# Not fields of the object itself.
_BESIDE = frozenset({"object", "version"})


class Shell:
    """The shell: a cluster with a current point and folder, and the verbs as methods.

    Attributes:
        folder: Path of the current folder.
    """

    def __init__(
        self, source: Source, *, as_json: bool = False, show_secrets: bool = False
    ) -> None:
        self.source, self.as_json, self.show_secrets = source, as_json, show_secrets
        self.cluster: Cluster = cluster_of(source, show_secrets=show_secrets)
        self.folder = ROOT

    @property
    def point(self) -> str:
        """The current point as text, in the form that commands accept."""
        about = self.cluster.about
        return str(about.as_of) if about.as_of >= about.history_start else "start"

    def place(self, words: Sequence[str]) -> Place:
        """Return the place of the one path in `words`; without one, the current folder."""
        _at_most(words, 1)
        return place_at(self.folder, words[0] if words else ".")

    def steps(self, place: Place) -> list[str]:
        """Return the names in a folder; empty for an object."""
        if place.part is None:
            return [f"{part}/" for part in PARTS]
        return steps_below(self.cluster.labels(place.part), place.label)

    # What there is

    def ls(self, words: Sequence[str]) -> None:
        """Print the content of a folder; for an object, its fields."""
        place = self.place(words)
        if steps := self.steps(place):
            self._print_steps(place, steps)
        elif place.object is None:
            self._print_steps(place, [])
        else:
            self.cat(words)

    def cat(self, words: Sequence[str]) -> None:
        """Print the fields of an object; with #FIELD, only that value."""
        place = self.place(words)
        found = self._object(place)
        if place.field is not None:
            self._print_field(found, place.field)
        elif self.as_json:
            print_json(place_of(self.cluster.about), Objects(objects=(found,)))
        else:
            print_line(found["object"])
            for name, value in found.items():
                if name not in _BESIDE:
                    print_line(f"  {name} = {value_text(value)}")

    def tree(self, words: Sequence[str]) -> None:
        """Print everything below a folder."""
        place = self.place(words)
        lines = list(self._tree(place, ""))
        if self.as_json:
            names = tuple(line.strip() for line in lines)
            print_json(place_of(self.cluster.about), Listing(path=place.path, names=names))
            return
        for line in lines[:_LINES_MAX]:
            print_line(line)
        if len(lines) > _LINES_MAX:
            print_line(f"and {len(lines) - _LINES_MAX:,} more; name a folder below {place.path}")

    def find(self, words: Sequence[str]) -> None:
        """Print objects selected by name or by fields: `find 'orders*'`, `find /partitions
        leader=-1`.
        """
        conditions = [_condition(word) for word in words if "=" in word]
        others = [word for word in words if "=" not in word]
        place, pattern = self._folder_and_pattern(others)
        matches = name_matcher(pattern, ())
        found = tuple(
            each
            for each in self._objects(place)
            if matches(_name(each)) and all(holds(each) for holds in conditions)
        )
        if self.as_json:
            print_json(place_of(self.cluster.about), Objects(objects=found))
            return
        for each in found:
            print_line(place_at(ROOT, each["object"]).path)

    def pwd(self, words: Sequence[str]) -> None:
        """Print the folder and the point."""
        _at_most(words, 0)
        self._print_position()

    # Moves

    def cd(self, words: Sequence[str]) -> None:
        """Change the folder to a folder or an object; without a path, to the root."""
        place = self.place(words or [ROOT])
        if place.part is not None and place.label and not self.steps(place):
            self._object(place)
        self.folder = place.path

    def at(self, words: Sequence[str]) -> None:
        """Move to a point; without one, print the folder and the point."""
        _at_most(words, 1)
        if words:
            self.cluster.move(words[0])
        self._print_position()

    def next(self, words: Sequence[str]) -> None:
        """Move to the next change of an object or its #FIELD; at the root, to the next record."""
        place = self.place(words)
        about = self.cluster.about
        if place.object is None:
            self._step(place, about.as_of + 1)
            return
        self._go_to(self._change(place.object, Step.NEXT), place, "after")

    def prev(self, words: Sequence[str]) -> None:
        """Move to the previous change of an object or its #FIELD; at the root, one record back."""
        place = self.place(words)
        about = self.cluster.about
        if place.object is None:
            self._step(place, about.as_of - 1)
            return
        self._go_to(self._change(place.object, Step.PREV), place, "before")

    def _change(self, name: str, step: Step) -> ObjectEvent | None:
        request = ShowHistory(object=name, step=step, fates=True, show_secrets=self.show_secrets)
        found = next(iter(self.source.ask(HISTORY, request, at=self.point).items), None)
        if isinstance(found, GapFound):
            raise RequestError(
                "OFFSET_OUT_OF_RANGE",
                f"{gap_text(found.gap)}; `metalog history` shows what of {name} differs after "
                "this gap",
            )
        return found

    def _go_to(self, event: ObjectEvent | None, place: Place, side: str) -> None:
        if event is None:
            raise RequestError(
                "RESOURCE_NOT_FOUND",
                f"{place.object} does not change {side} offset {self.cluster.about.as_of}",
            )

        self.cluster.move(str(event.offset))
        if self.as_json:
            print_json(place_of(self.cluster.about), event)
        else:
            print_event(event)

    def _step(self, place: Place, to: int) -> None:
        about = self.cluster.about
        if place.part is not None:
            raise RequestError(
                "INVALID_REQUEST", f"{place.path} is no object; name one, or / for all records"
            )
        if not about.history_start - 1 <= to < about.log_end:
            raise RequestError("OFFSET_OUT_OF_RANGE", f"there is no record at offset {to}")
        self.cluster.move(str(to) if to >= about.history_start else "start")
        self._print_position()

    # Printing

    def _print_steps(self, place: Place, steps: list[str]) -> None:
        if self.as_json:
            listing = Listing(path=place.path, names=tuple(steps))
            print_json(place_of(self.cluster.about), listing)
            return
        for step in steps:
            print_line(step)

    def _print_field(self, found: Object, field: str) -> None:
        if field not in found or field in _BESIDE:
            names = ", ".join(name for name in found if name not in _BESIDE)
            raise RequestError(
                "RESOURCE_NOT_FOUND",
                f"{found['object']} has no field {field}; its fields are {names}",
            )
        if self.as_json:
            shown = FieldValue(object=found["object"], field=field, value=found[field])
            print_json(place_of(self.cluster.about), shown)
        else:
            print_line(value_text(found[field]))

    def _print_position(self) -> None:
        if self.as_json:
            print_json(place_of(self.cluster.about), Where(path=self.folder))
        else:
            print_line(f"{self.folder}  {position_text(self.cluster.about)}")
            print_remark(self.cluster.about)

    def _tree(self, place: Place, indent: str) -> Iterator[str]:
        for step in self.steps(place):
            yield f"{indent}{step}"
            if step.endswith("/"):
                yield from self._tree(place_at(place.path, step), f"{indent}  ")

    # Objects

    def _object(self, place: Place) -> Object:
        found = self.cluster.find(place.part, place.label) if place.part else None
        if found is None:
            raise RequestError(
                "RESOURCE_NOT_FOUND",
                f"there is no {place.object or place.path} at offset {self.cluster.about.as_of}; "
                f"`ls {place.path.rpartition('/')[0] or ROOT}` shows what is there",
            )
        return found

    def _objects(self, place: Place) -> Iterator[Object]:
        for part in PARTS if place.part is None else (place.part,):
            for each in self.cluster.objects(part):
                name = _name(each)
                if not place.label or name == place.label or name.startswith(f"{place.label}/"):
                    yield each

    def _folder_and_pattern(self, words: Sequence[str]) -> tuple[Place, str]:
        """Return the folder to search and the name pattern, which may be given in either order."""
        _at_most(words, 2)
        folders = [word for word in words if "*" not in word and "?" not in word]
        patterns = [word for word in words if word not in folders]
        _at_most(folders, 1)
        _at_most(patterns, 1)
        return self.place(folders), patterns[0] if patterns else "*"


def _name(found: Object) -> str:
    name: str = found["object"].partition(":")[2]
    return name


def _condition(word: str) -> Callable[[Object], bool]:
    """Return a check of an object's fields, parsed from FIELD=VALUE or FIELD!=VALUE."""
    field, _, value = word.partition("=")
    if field.endswith("!"):
        name = field.removesuffix("!")
        return lambda found: name in found and value_text(found[name]) != value
    return lambda found: field in found and value_text(found[field]) == value


def _at_most(words: Sequence[Any], count: int) -> None:
    if len(words) > count:
        raise RequestError("INVALID_REQUEST", f"too many words: {' '.join(map(str, words))}")
