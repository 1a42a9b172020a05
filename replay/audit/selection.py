"""Selection of the changes, and of their columns, that a query needs."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from replay.audit.fold.needed import Where


@dataclass(frozen=True)
class Selection:
    """The part of the changes or states that a query needs; the rest is not computed.

    Attributes:
        kinds: Kinds of objects; empty for all.
        fields: Fields of partitions; empty for all.
        words: Names, among them those of all columns that are needed; None for all.
        where: A condition of the needed rows; None for all.
    """

    kinds: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    words: frozenset[str] | None = None
    where: Where | None = None

    @classmethod
    def of_sql(
        cls,
        text: str,
        kinds: tuple[str, ...],
        fields: tuple[str, ...],
        where: Where | None = None,
    ) -> Self:
        """Return the selection of a query: the columns that its text names, and maybe more."""
        return cls(kinds, fields, frozenset(re.findall(r"\w+", text)), where)

    def has(self, kind: str) -> bool:
        """True if objects of a kind are needed."""
        return not self.kinds or kind in self.kinds

    @property
    def is_of_partitions_only(self) -> bool:
        """True if no other objects than partitions are needed."""
        return self.kinds == ("partitions",)

    def among(self, names: Iterable[str]) -> list[str]:
        """Return the columns, among some, that are needed."""
        return [name for name in names if self.words is None or name in self.words]


EVERYTHING = Selection()
