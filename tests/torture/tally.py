"""The progress of each campaign, kept in a file so that a run can be interrupted and resumed."""

import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.torture.campaign import Campaign, Failure, Outcome
from tests.torture.shrinking import some_of_each_kind

_ROOT = Path(__file__).parents[2]


class Tally(msgspec.Struct, kw_only=True):
    """The results of the pieces run so far.

    `source` is the digest of the code that they tested: results of other code do not count.
    `failure_count` counts all failures, `failures` has the first of each kind.
    """

    source: str
    seeds: set[int] = msgspec.field(default_factory=set)
    done: int = 0
    distinct: int = 0
    failure_count: int = 0
    failures: list[Failure] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)
    times_s: dict[str, list[float]] = msgspec.field(default_factory=dict)
    seconds: float = 0.0

    def add(self, seed: int, outcome: Outcome, seconds: float) -> None:
        """Count a piece."""
        self.seeds.add(seed)
        self.done += outcome.done
        self.distinct += outcome.distinct
        self.failure_count += len(outcome.failures)
        self.failures = list(some_of_each_kind([*self.failures, *outcome.failures]))
        self.notes += outcome.notes
        for name, found in outcome.times_s.items():
            self.times_s.setdefault(name, []).extend(found)
        self.seconds += seconds

    def is_complete(self, campaign: Campaign) -> bool:
        """Return whether the campaign's target is met, counting distinct cases."""
        is_enough = self.done >= campaign.TARGET and self.distinct >= campaign.TARGET
        return is_enough and len(self.seeds) >= campaign.SEEDS_MIN

    def seeds_left(self, campaign: Campaign) -> Iterator[int]:
        """Yield the pieces not yet run; endless if the campaign has no limit."""
        seed = 0
        while campaign.SEEDS_MAX is None or seed < campaign.SEEDS_MAX:
            if seed not in self.seeds:
                yield seed
            seed += 1


def load(directory: Path, campaign: Campaign) -> Tally:
    """Return the stored progress of a campaign; empty if the code has changed since."""
    source = source_digest(campaign.SOURCES)
    path = _path(directory, campaign)
    if path.exists():
        tally = msgspec.json.decode(path.read_bytes(), type=Tally)
        if tally.source == source:
            return tally
    return Tally(source=source)


def save(directory: Path, campaign: Campaign, tally: Tally) -> None:
    """Store the progress of a campaign."""
    directory.mkdir(parents=True, exist_ok=True)
    part = _path(directory, campaign).with_suffix(".part")
    part.write_bytes(msgspec.json.encode(tally))
    part.rename(_path(directory, campaign))


@functools.cache
def source_digest(sources: tuple[str, ...]) -> str:
    """Return a digest of the code in some folders."""
    digest = hashlib.sha256()
    for source in sources:
        for path in sorted((_ROOT / source).rglob("*")):
            if path.suffix in (".py", ".avsc"):
                digest.update(f"{path.relative_to(_ROOT)}\n".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _path(directory: Path, campaign: Campaign) -> Path:
    return directory / f"{campaign.NAME}.json"
