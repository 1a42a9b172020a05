"""Selection of the changes and the columns that a query needs."""

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
        words: Words that include the names of all needed columns; None if all columns are needed.
        where: A filter that keeps all needed rows; None if all rows are needed.
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
        """Return the selection of a query; it needs all columns whose names are words of `text`."""
        return cls(kinds, fields, frozenset(re.findall(r"\w+", text)), where)

    def has(self, kind: str) -> bool:
        """True if objects of a kind are needed."""
        return not self.kinds or kind in self.kinds

    @property
    def is_of_partitions_only(self) -> bool:
        """True if only partitions are needed."""
        return self.kinds == ("partitions",)

    def among(self, names: Iterable[str]) -> list[str]:
        """Return the names that are needed columns."""
        return [name for name in names if self.words is None or name in self.words]


EVERYTHING = Selection()
