"""Flaps: a broker, or the leader of a partition, that is repeatedly lost and regained."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from records.envelope import Envelope
from records.text import duration_text
from replay.incidents.event import BROKERS, PARTITIONS, TimelineEvent

ABSENCES_MIN = 3
"""Minimum number of absences that make a flap."""

PERIOD_MS_MAX = 30 * 60_000
"""Maximum duration of an absence, and maximum time between the starts of two absences, in ms."""

_Absence = tuple[Envelope, Envelope]


class Flaps:
    """Collects absences of objects: the record that began each and the record that ended it.

    Attributes:
        count: Number of absences that have ended.
    """

    def __init__(self) -> None:
        self.count = 0
        self._gone: dict[str, Envelope] = {}
        self._absences: dict[str, list[_Absence]] = {}

    def lost(self, name: str, row: Envelope) -> None:
        """Begin an absence: the broker went down, or the partition lost its leader."""
        self._gone[name] = row

    def back(self, name: str, row: Envelope) -> None:
        """End the object's absence, if one has begun."""
        since = self._gone.pop(name, None)
        if since is not None:
            self.count += 1
            self._absences.setdefault(name, []).append((since, row))

    def events(self) -> Iterator[TimelineEvent]:
        """Yield one event per flap.

        Partitions lost and regained by the same batches share one event.
        """
        together: dict[Hashable, list[str]] = defaultdict(list)
        runs: dict[Hashable, Sequence[_Absence]] = {}
        for name, absences in self._absences.items():
            for run in _runs(absences):
                batches = tuple([row.batch_offset for absence in run for row in absence])
                key: Hashable = (name, batches) if _is_broker(name) else batches
                runs[key] = run
                together[key].append(name)
        for key, names in together.items():
            yield _event(runs[key], names)


def _runs(absences: Iterable[_Absence]) -> Iterator[Sequence[_Absence]]:
    """Yield the absences of each flap.

    An absence longer than PERIOD_MS_MAX ends a flap and belongs to none.
    """
    run: list[_Absence] = []
    for absence in absences:
        lost, back = absence
        is_long = back.timestamp - lost.timestamp > PERIOD_MS_MAX
        if run and (is_long or lost.timestamp - run[-1][0].timestamp > PERIOD_MS_MAX):
            if len(run) >= ABSENCES_MIN:
                yield run
            run = []
        if not is_long:
            run.append(absence)
    if len(run) >= ABSENCES_MIN:
        yield run


def _event(run: Sequence[_Absence], names: Sequence[str]) -> TimelineEvent:
    first, last = run[0][0], run[-1][1]
    is_broker = _is_broker(names[0])
    if is_broker:
        what = f"{names[0].replace(':', ' ')} flapped: down and back"
    else:
        count = f"{len(names):,} partition{'' if len(names) == 1 else 's'}"
        what = f"{count} flapped: without a leader and back"
    whole = duration_text(max(0, last.timestamp - first.timestamp))
    gone = sum(max(0, back.timestamp - lost.timestamp) for lost, back in run)
    return TimelineEvent(
        from_offset=first.offset,
        to_offset=last.offset,
        time=first.timestamp,
        kind=BROKERS if is_broker else PARTITIONS,
        text=f"{what} {len(run)} times in {whole}, gone for {duration_text(gone)} in all",
        objects=tuple(names),
        cause=None,
        principal=None,
        is_flap=True,
    )


def _is_broker(name: str) -> bool:
    return name.startswith("broker:")
