"""The shares of batches that are decided as Kafka did, over real logs."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from metadata_log.reader.log_reader import LogReader
from tests.conformance.batches import Outcome, decided_batches
from tests.real_logs import DataSet, data_sets
from tests.replay.incidents.real import imported

LOOKED_AT = frozenset(
    {
        *("experts-in-team-two-logs", "flink-on-prem-63-topics", "greenhouse-rolled-history"),
        *("kafka-raft-3node-33", "ldi-poc", "middleware-sasl-snapshots", "otus-histories"),
    }
)
"""Data sets whose differences were looked at while decisions were mended; the others only gave the
figure, until theirs were read to explain them."""


class Shares(msgspec.Struct):
    """Number of batches, of those with an inferred trigger, and of those that were decided
    equally.
    """

    batches: int = 0
    inferred: int = 0
    equal: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count a batch."""
        self.batches += 1
        self.inferred += outcome.is_inferred
        self.equal += outcome.is_equal

    @property
    def of_all(self) -> float:
        """Share of all batches that are equal, in percent."""
        return 100 * self.equal / max(self.batches, 1)

    @property
    def of_inferred(self) -> float:
        """Share of the batches with an inferred trigger that are equal, in percent."""
        return 100 * self.equal / max(self.inferred, 1)


def logs() -> Iterator[DataSet]:
    """Yield the longest log of each cluster: the nodes of a cluster hold copies of the same
    decisions.
    """
    longest: dict[tuple[str, str], DataSet] = {}
    for each in data_sets():
        key = each.name, each.cluster_id or each.node
        if key not in longest or _size(each) > _size(longest[key]):
            longest[key] = each
    yield from longest.values()


def _size(data_set: DataSet) -> int:
    return sum(segment.size for segment in data_set.segments)


def outcomes(chosen: Iterable[DataSet]) -> Iterator[tuple[DataSet, Outcome]]:
    """Import logs and decide their batches."""
    for data_set in chosen:
        with (
            tempfile.TemporaryDirectory(prefix="metalog-conformance-") as directory,
            LogReader.open(imported(data_set, Path(directory))) as reader,
        ):
            for outcome in decided_batches(reader):
                yield data_set, outcome


def table(found: Iterable[tuple[DataSet, Outcome]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: by kind of batch, most frequent first, and sums."""
    kinds: dict[str, Shares] = {}
    seen, unseen, whole = Shares(), Shares(), Shares()
    for data_set, outcome in found:
        kind = kinds.setdefault(_short(outcome.kind), Shares())
        part = seen if data_set.name in LOOKED_AT else unseen
        for shares in (kind, part, whole):
            shares.add(outcome)
    yield "| records of a batch | batches | inferred | equal |"
    yield "|---|---|---|---|"
    for kind_name, shares in sorted(kinds.items(), key=_by_frequency):
        yield f"| {kind_name} | {shares.batches} | {shares.inferred} | {shares.equal} |"
    sums = {"logs that were looked at": seen, "other logs": unseen, "all": whole}
    yield from _sums(sums)


def _sums(sums: Mapping[str, Shares]) -> Iterator[str]:
    for name, shares in sums.items():
        equal = (
            f"{shares.equal}: {shares.of_all:.1f} % of all, {shares.of_inferred:.1f} % of inferred"
        )
        yield f"| **{name}** | {shares.batches} | {shares.inferred} | {equal} |"


def _by_frequency(kind: tuple[str, Shares]) -> tuple[int, str]:
    return -kind[1].batches, kind[0]


def _short(kind: str) -> str:
    return kind.replace("Record", "")
