"""History, blame and why of an object, and outages and timeline, compared with a full replay."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.generated_log import generated_log
from benchmarks.harness import Result
from benchmarks.python_replay import compared
from metadata_log.reader.log_reader import LogReader
from replay.image.metadata import MetadataImage
from replay.loader import load_image
from replay.time_travel.objects import parse_object
from replay.time_travel.pattern_history import history_matching
from replay.timeline import Timeline

_TARGETS = {
    "partition": 0.1,
    "pattern": 0.5,
    "broker": 1.1,
    "config": 1.1,
    "leader": 0.08,
    "log": 1.0,
}


def run(scratch: Path) -> list[Result]:
    """Measure on own logs of generated records, in batches of 27."""
    small = _measured(generated_log(scratch, 300_000), tuple(_TARGETS), rounds=3)
    # A replay takes 20 seconds.
    large = _measured(generated_log(scratch, 1_500_000), ("partition",), rounds=1)
    return small + large


def _measured(log: Path, kinds: Sequence[str], rounds: int) -> list[Result]:
    with LogReader.open(log) as reader:
        questions = _questions(Timeline(reader), load_image(reader), reader.end_offset - 1)
        # The kind is a name's last word.
        chosen = {name: ask for name, ask in questions.items() if name.split()[-1] in kinds}
        targets = {name: _TARGETS[name.split()[-1]] for name in chosen}
        return compared(reader, chosen, targets, rounds)


def _questions(
    timeline: Timeline, image: MetadataImage, at: int
) -> dict[str, Callable[[], object]]:
    topic = min(image.topics(), key=lambda each: each.name)
    partition, broker = parse_object(f"partition:{topic.name}/0"), parse_object("broker:1")
    leader = parse_object(f"partition:{topic.name}/0#leader")
    _, configured = min(resource for resource, _ in image.configs())
    config = parse_object(f"config:topic/{configured}")
    return {
        "history of a partition": lambda: list(timeline.history(partition)),
        "history of a pattern": partial(
            _history_matching, timeline, f"topic:{_family(topic.name)}"
        ),
        "blame of a partition": partial(timeline.blame, partition, at),
        "history of a broker": lambda: list(timeline.history(broker)),
        "blame of a broker": partial(timeline.blame, broker, at),
        "history of a config": lambda: list(timeline.history(config)),
        "blame of a config": partial(timeline.blame, config, at),
        "why of a leader": partial(timeline.why, leader, at),
        "outages of a log": partial(timeline.outages, 0, at + 1),
        "timeline of a log": partial(timeline.events, 0, at + 1),
    }


def _family(topic: str) -> str:
    """Return the pattern of the topics that share a topic's name but its number."""
    return f"{topic.rpartition('.')[0]}.*"


def _history_matching(timeline: Timeline, pattern: str) -> None:
    source, name = timeline.source, parse_object(pattern)
    found = history_matching(
        source, name, 0, source.end_offset, timeline.image(-1), shown=lambda kind, label: label
    )
    assert any(found), pattern
    for _ in found:
        pass
