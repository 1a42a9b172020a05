"""Chains of causes: for each record of a partition or broker, its text and its causes.

The texts and causes are those that `why` gives. The report's page assembles a chain from these
entries, as `Follower.chain_of_partition` does.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from records.envelope import Envelope, Origin
from replay.image.metadata import MetadataImage
from replay.incidents.why import Follower, Link
from replay.report import varints


class ChainsMark(NamedTuple):
    """Mark in `Chains`: the numbers of rows, texts, links, cause sets and broker links so far."""

    rows: int
    texts: int
    links: int
    causes: int
    brokers: int


class Chains:
    """Follows a range of records and collects the text and causes of each."""

    def __init__(self, image: MetadataImage, origin: Callable[[Origin | None], int]) -> None:
        self._follower = Follower(image)
        self._origin = origin
        self._links: dict[tuple[int, str], int] = {}
        self._link_rows: list[list[Any]] = []
        self._causes: dict[tuple[int, ...], int] = {(): 0}
        self._brokers: list[list[int]] = []
        self._text, self._cause = array("q"), array("q")
        self._texts: dict[str, int] = {"": 0}

    def follow(self, rows: Sequence[Envelope]) -> None:
        """Follow rows that take effect together, so that `add` can look up their causes."""
        self._follower.follow(rows)
        self._brokers += [
            [link.row.offset, broker_id, self._link(link), int(starts_anew)]
            for broker_id, link, starts_anew in self._follower.added_links
        ]

    def add(self, row: Envelope) -> None:
        """Add the text and causes of one of the rows last passed to `follow`."""
        step = self._follower.added.get(row.offset)
        text, causes = ("", ()) if step is None else (step.link.text, tuple(step.causes))
        self._text.append(self._texts.setdefault(text, len(self._texts)))
        links = tuple([self._link(link) for link in causes])
        self._cause.append(self._causes.setdefault(links, len(self._causes)))

    @property
    def mark(self) -> ChainsMark:
        """Mark at the end of the rows collected so far, for a later call of `encoded`."""
        return ChainsMark(
            len(self._text),
            len(self._texts),
            len(self._link_rows),
            len(self._causes),
            len(self._brokers),
        )

    def encoded(self, since: ChainsMark) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the fields and columns that were added after a mark.

        Returns:
            Fields of the report's header, and columns with one entry per row. The report's first
            row, which has no cause, has no entry.
        """
        header = {
            "texts": list(islice(self._texts, since.texts, None)),
            "links": self._link_rows[since.links :],
            "causes": list(islice(self._causes, since.causes, None)),
            "broker_links": self._brokers[since.brokers :],
        }
        return header, {
            "text": varints.unsigned(self._text[since.rows :]),
            "cause": varints.unsigned(self._cause[since.rows :]),
        }

    def _link(self, link: Link) -> int:
        row = link.row
        key = row.offset, link.text
        if key not in self._links:
            self._links[key] = len(self._link_rows)
            type_ = type(row.payload).__name__
            self._link_rows.append(
                [row.offset, row.timestamp, type_, link.text, self._origin(row.origin)]
            )
        return self._links[key]


class Terms:
    """Collects each leader epoch's start: offset, time, epoch, and the leader's node if known."""

    def __init__(self) -> None:
        self.found: list[list[Any]] = []

    def add(self, offset: int, time: int, epoch: int, node: int | None) -> None:
        """Add a batch; `node` is the leader's id if the batch announces the leader, else None."""
        if not self.found or self.found[-1][2] != epoch:
            self.found.append([offset, time, epoch, None])
        if node is not None:
            self.found[-1][3] = node
