"""Chains of causes: for each record of a partition or broker, its effect in words, and its causes.

Effects and causes are the same as in the answers of `why`. The report's page follows them to find
the records that led to a leader or an ISR. A record that begins an outage also has the cause that
`outages` reports.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from metadata_log.format.batch import Batch
from records.control import LeaderChangeMessage
from records.envelope import Envelope, Origin
from replay.image.metadata import MetadataImage
from replay.incidents.causes import BROKER_RECORDS, SHUTDOWN, Cause, broker_of
from replay.incidents.fencing_reasons import FencingReasons
from replay.incidents.health import partition_kinds
from replay.incidents.why import Follower, Link, Step
from replay.report import varints
from replay.report.columns import RowPlace


class ChainsMark(NamedTuple):
    """Position in a growing `Chains`: the numbers of rows, texts and other entries so far."""

    rows: int
    texts: int
    links: int
    causes: int
    brokers: int
    outage_texts: int


class Chains:
    """Follows a range of records and collects the text and causes of each."""

    def __init__(
        self,
        image: MetadataImage,
        origin: Callable[[Origin | None], int],
        reasons: FencingReasons,
    ) -> None:
        self._follower = Follower(image, reasons=reasons)
        self._origin = origin
        self._links: dict[tuple[int, str], int] = {}
        self._link_rows: list[list[Any]] = []
        self._causes: dict[tuple[int, ...], int] = {(): 0}
        self._brokers: list[list[int]] = []
        self._text, self._cause = array("q"), array("q")
        self._texts: dict[str, int] = {"": 0}
        # Of each row that begins an outage: its cause, and how far that is from the row.
        self._outage_text, self._outage_at = array("q"), array("q")
        self._outage_texts: dict[str, int] = {"": 0}
        self._planned: set[int] = set()

    def follow(self, rows: Sequence[Envelope]) -> None:
        """Follow rows that take effect together, so that `add` can look up their causes."""
        self._follower.steps.clear()  # those added last are enough
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
        outage = self._outage_cause(row, step)
        text = "" if outage is None else outage.text
        self._outage_text.append(self._outage_texts.setdefault(text, len(self._outage_texts)))
        if text.endswith(SHUTDOWN):
            self._planned.add(self._outage_text[-1])
        self._outage_at.append(0 if outage is None else outage.offset - row.offset)

    @property
    def is_planned(self) -> bool:
        """True if a controlled shutdown caused the outages that the row last added began."""
        return self._outage_text[-1] in self._planned

    def cross(
        self,
        image: MetadataImage,
        place: RowPlace,
        text: str,
        brokers: Iterable[int],
        reasons: FencingReasons,
    ) -> None:
        """Continue after a gap, and add a row with a text and without causes for it.

        Args:
            image: The state after the gap.
            place: Offset, time and type of the gap's row.
            text: Description of the changes found after the gap.
            brokers: Ids of the brokers that were found changed; their chains begin anew.
            reasons: As for `Causes`, after the gap.
        """
        self._follower = Follower(image, reasons=reasons)
        link = len(self._link_rows)
        self._link_rows.append([place.offset, place.time, place.type, text, self._origin(None)])
        self._brokers += [[place.offset, broker_id, link, 1] for broker_id in brokers]
        self._text.append(self._texts.setdefault(text, len(self._texts)))
        for column in (self._cause, self._outage_text, self._outage_at):
            column.append(0)

    def _outage_cause(self, row: Envelope, step: Step | None) -> Cause | None:
        if step is not None:
            kinds = partition_kinds(step.after, 0)
            before = () if step.before is None else partition_kinds(step.before, 0)
            return step.loss if set(kinds) - set(before) else None
        if type(row.payload) not in BROKER_RECORDS:
            return None
        return self._follower.cause_of_broker(broker_of(row.payload))

    @property
    def mark(self) -> ChainsMark:
        """Position after the rows collected so far, for a later call of `encoded`."""
        return ChainsMark(
            len(self._text),
            len(self._texts),
            len(self._link_rows),
            len(self._causes),
            len(self._brokers),
            len(self._outage_texts),
        )

    def encoded(self, since: ChainsMark) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return the fields and columns that were added after a position.

        Returns:
            Fields of the report's header, and columns with one entry per row. The report's first
            row, which has no cause, has no entry.
        """
        header = {
            "texts": list(islice(self._texts, since.texts, None)),
            "links": self._link_rows[since.links :],
            "causes": list(islice(self._causes, since.causes, None)),
            "broker_links": self._brokers[since.brokers :],
            "outage_texts": list(islice(self._outage_texts, since.outage_texts, None)),
        }
        return header, {
            "text": varints.unsigned(self._text[since.rows :]),
            "cause": varints.unsigned(self._cause[since.rows :]),
            "outage_text": varints.unsigned(self._outage_text[since.rows :]),
            "outage_at": varints.signed(self._outage_at[since.rows :]),
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
    """Collects the terms of the active controllers.

    Attributes:
        found: One list per leader epoch: offset and time of its first record, the epoch, the
            leader's node (None if unknown), the time of its last record, and the longest time
            between two of its records in ms.
    """

    def __init__(self) -> None:
        self.found: list[list[Any]] = []
        self._is_after_gap = False

    def cross(self) -> None:
        """Begin a new entry with the next batch, which follows a gap."""
        self._is_after_gap = True

    def add(self, batch: Batch) -> None:
        """Add the next batch of the log."""
        time, (_, last) = batch.timestamp, batch.times_at(batch.end_offset - 1)
        epoch = batch.leader_epoch
        if not self.found or self.found[-1][2] != epoch or self._is_after_gap:
            node = self.found[-1][3] if self.found and self.found[-1][2] == epoch else None
            self.found.append([batch.base_offset, time, epoch, node, time, 0])
            self._is_after_gap = False
        term = self.found[-1]
        term[5] = max(term[5], time - term[4])
        term[4] = max(term[4], last)
        for row in batch.rows:
            if isinstance(row.payload, LeaderChangeMessage):
                term[3] = row.payload.leader_id
                break
