"""Macros over the elements of a collection: `exists`, `all`, `exists_one`, `filter` and `map`."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from replay.expressions.values import Absent, Env, Evaluate, Token, type_name
from replay.expressions.vocabulary import Objects, PartitionsOf
from replay.image.metadata import MetadataImage

MACROS = frozenset({"all", "exists", "exists_one", "filter", "map"})


class Range(msgspec.Struct, frozen=True):
    """A macro over a collection.

    Attributes:
        slots: Slots of the macro's variables: one slot, for the element; or two, the first for the
            index, key or name, the second for the element.
    """

    macro: str
    of: Evaluate
    slots: tuple[int, ...]
    body: Evaluate

    def __call__(self, env: Env) -> Any:
        """Evaluate the body for each element; return the value of the macro.

        Raises:
            Absent: the body raised Absent for some elements, and no other element decides the
                result.
            TypeError: the value is not a collection, or the body is not a bool.
        """
        outcomes = []
        for name, element in _elements(env, self.of(env), len(self.slots)):
            env.step()
            outcome = outcome_of(self.body_of(env, name, element), self.macro)
            if is_decided(self.macro, outcome):
                return outcome
            outcomes.append((element, outcome))
        return combined(self.macro, outcomes)

    def body_of(self, env: Env, name: Any, element: Any) -> Any:
        """Evaluate the body for one element; return ABSENT if it raises Absent."""
        env.slots[self.slots[-1]] = element
        if len(self.slots) == 2:
            env.slots[self.slots[0]] = name() if callable(name) else name
        try:
            return self.body(env)
        except Absent:
            return ABSENT


ABSENT = object()
"""Outcome of an element for which the macro's body raised Absent."""


def outcome_of(value: Any, macro: str) -> Any:
    """Return the value of a macro's body after checking its type.

    Raises:
        TypeError: the macro requires a bool, and the value is of another type.
    """
    if macro != "map" and value is not ABSENT and not isinstance(value, bool):
        raise TypeError(
            f"{macro}() needs a condition that is true or false, not a {type_name(value)}"
        )
    return value


def is_decided(macro: str, outcome: Any) -> bool:
    """True if this outcome of one element decides the result of the macro."""
    return (macro == "exists" and outcome is True) or (macro == "all" and outcome is False)


def combined(macro: str, outcomes: Iterable[tuple[Any, Any]]) -> Any:
    """Return the value of a macro for which no single element decided the result.

    Raises:
        Absent: the outcome of some element is ABSENT.
    """
    pairs = list(outcomes)
    if any(outcome is ABSENT for _, outcome in pairs):
        raise Absent
    if macro == "exists":
        return False
    if macro == "all":
        return True
    if macro == "exists_one":
        return sum(outcome for _, outcome in pairs) == 1
    if macro == "filter":
        return [element for element, outcome in pairs if outcome]
    return [outcome for _, outcome in pairs]


def _elements(env: Env, value: Any, variable_count: int) -> Iterator[tuple[Any, Any]]:
    """Yield the elements of a value, each with its index, key or name."""
    if isinstance(value, PartitionsOf):
        for each in value.elements(env):
            yield each.key[1], each
    elif isinstance(value, Objects):
        yield from value.elements(env)
    elif isinstance(value, list):
        yield from enumerate(value)
    elif isinstance(value, dict):
        # A single variable of a map is the key, as in CEL.
        yield from ((key, key if variable_count == 1 else value[key]) for key in sorted(value))
    else:
        raise TypeError(f"a {type_name(value)} has no elements")


class ObjectsRange:
    """A macro over a collection of the image that caches the outcome of each object.

    After a change, the body is evaluated again only for objects that were touched, and for objects
    whose evaluation read something else that was touched.
    """

    def __init__(
        self,
        range_: Range,
        objects: Objects,
        failure: Callable[[TypeError], Exception],
        fields: Sequence[str] = (),
    ) -> None:
        """Cache the outcomes of the macro `range_` over the collection `objects`.

        Args:
            failure: Returns the error to raise for a type error.
            fields: Of partitions: the fields on which alone an outcome depends; empty if unknown.
        """
        self.macro = range_.macro
        self._range, self._objects, self._failure = range_, objects, failure
        self._fields = fields
        # The outcome that counts for nothing, and is not kept.
        self._usual = _USUAL.get(range_.macro)
        self._outcomes: dict[Any, Any] = {}
        self._counts = {True: 0, False: 0, ABSENT: 0}
        # What bodies read besides their object: by object, and by what was read.
        self._reads: dict[Any, set[Token]] = {}
        self._readers: dict[Token, set[Any]] = {}
        self._stale: set[Any] | None = None
        """Objects to evaluate again; None: all."""

    def touch(self, tokens: set[Token]) -> bool:
        """Process the tokens of a change; True if the outcome of any object may have changed."""
        stale = self._stale
        if stale is None:
            return True
        if self._readers:
            for token in tokens:
                stale.update(self._readers.get(token, ()))
        kind = self._objects.kind.name
        stale.update([token[1] for token in tokens if token[0] == kind and len(token) == 2])
        return bool(stale)

    def reads(self, token: Token) -> bool:
        """True if a change of `token` may change the outcome of an object, and so the result."""
        return self._stale is None or token in self._readers or self._objects.touches(token)

    def __call__(self, env: Env) -> Any:
        """Return the value of the macro; evaluates the body only for objects that changed."""
        self._refresh(env)
        return self._value(env.image)

    def found(self, image: MetadataImage, count_max: int) -> tuple[list[str], int]:
        """Return the objects that decided the last value, and how many there are.

        For `all`, these are the objects that do not meet the condition, else those that do.

        Args:
            count_max: Maximum number of names; the returned number counts all objects.
        """
        wanted = self.macro != "all"
        keys = [key for key, outcome in self._outcomes.items() if outcome is wanted]
        kind, label = self._objects.kind.name, self._objects.label
        named = heapq.nsmallest(count_max, keys)
        return [f"{kind}:{label(image, key)}" for key in named], len(keys)

    def matching(self, env: Env) -> int:
        """Return the number of objects that `filter` selects.

        Raises:
            Absent: the outcome of some object is absent.
        """
        self._refresh(env)
        if self._counts[ABSENT]:
            raise Absent
        return self._counts[True]

    def _refresh(self, env: Env) -> None:
        stale, self._stale = self._stale, set()
        at, image = self._objects.at, env.image
        things: Iterable[tuple[Any, Any]]
        if stale is None and self._fields and self._usual is not None:
            things = self._objects.things_unlike(image, self._fields, partial(self._is_usual, env))
        elif stale is None:
            things = self._objects.things(image)
        else:
            things = ((key, at(image, key)) for key in stale)
        outer, env.reads = env.reads, set()
        outcomes = self._outcomes
        try:
            for key, element in things:
                outcome = _NONE if element is None else self._outcome(env, key, element)
                if outcome is self._usual:
                    outcome = _NONE
                if outcome is not outcomes.get(key, _NONE):
                    self._note(key, outcome)
                if env.reads or key in self._reads:
                    self._note_reads(key, env.reads)
                    env.reads = set()
        except TypeError as error:
            raise self._failure(error) from None
        finally:
            env.reads = outer

    def _is_usual(self, env: Env, element: Any) -> bool:
        return self._outcome(env, element.key, element) is self._usual

    def _outcome(self, env: Env, key: Any, element: Any) -> Any:
        env.step()
        range_, slots = self._range, self._range.slots
        env.slots[slots[-1]] = element
        if len(slots) == 2:
            env.slots[slots[0]] = self._objects.label(env.image, key)
        try:
            value = range_.body(env)
        except Absent:
            return ABSENT
        return value if value is True or value is False else outcome_of(value, self.macro)

    def _note(self, key: Any, outcome: Any) -> None:
        """Set the outcome of an object; _NONE stands for the usual one, or for no object."""
        old = self._outcomes.get(key, _NONE)
        if outcome is _NONE:
            del self._outcomes[key]
        else:
            self._outcomes[key] = outcome
        if old is not _NONE and self._is_counted(old):
            self._counts[old] -= 1
        if outcome is not _NONE and self._is_counted(outcome):
            self._counts[outcome] += 1

    def _is_counted(self, outcome: Any) -> bool:
        return self.macro != "map" or outcome is ABSENT

    def _note_reads(self, key: Any, reads: set[Token]) -> None:
        old = self._reads.pop(key, _NOTHING)
        for token in old - reads:
            readers = self._readers[token]
            readers.discard(key)
            if not readers:
                del self._readers[token]
        for token in reads - old:
            self._readers.setdefault(token, set()).add(key)
        if reads:
            self._reads[key] = reads

    def _value(self, image: MetadataImage) -> Any:
        macro, counts = self.macro, self._counts
        if macro == "exists" and counts[True]:
            return True
        if macro == "all" and counts[False]:
            return False
        if counts[ABSENT]:
            raise Absent
        if macro in ("exists", "all"):
            return macro == "all"
        if macro == "exists_one":
            return counts[True] == 1
        keys = sorted(self._outcomes, key=repr)
        if macro == "filter":
            return [self._objects.at(image, key) for key in keys if self._outcomes[key]]
        return [self._outcomes[key] for key in keys]


_USUAL = {"exists": False, "exists_one": False, "filter": False, "all": True}
_NONE = object()
_NOTHING: frozenset[Token] = frozenset()
