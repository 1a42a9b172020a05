"""Chains of causes: for each record of a partition or broker, its text and its causes.

The texts and causes are those of `why`. The report's page assembles a chain from these entries, as
`Follower.chain_of_partition` does.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from records.envelope import Envelope, Origin
from replay.image.metadata import MetadataImage
from replay.incidents.why import Follower, Link
from replay.report import varints


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

    def encoded(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the fields for the report's header, and the columns.

        The columns have one entry for each row after the first row.
        """
        header = {
            "texts": list(self._texts),
            "links": self._link_rows,
            "causes": list(self._causes),
            "broker_links": self._brokers,
        }
        return header, {
            "text": varints.unsigned(self._text),
            "cause": varints.unsigned(self._cause),
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


def terms_of(rows: Iterable[tuple[int, int, int, int | None]]) -> list[list[Any]]:
    """Return each leader epoch's start: offset, time, epoch, and the leader's node if known.

    Args:
        rows: For each batch its offset, time and epoch, and the leader's node if the batch
            announces the leader.
    """
    terms: list[list[Any]] = []
    for offset, time, epoch, node in rows:
        if not terms or terms[-1][2] != epoch:
            terms.append([offset, time, epoch, None])
        if node is not None:
            terms[-1][3] = node
    return terms
