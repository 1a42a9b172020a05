"""Questions about a log, compared with its replay by the codec in Python.

That codec is the peer, also where the compiled one is installed and answers: the ratio then does
not rise when the replay becomes faster, too.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from api.garbage import collect_seldom
from benchmarks.codecs import each_codec, python_codec
from benchmarks.harness import Result, Timed, cpu_seconds, milliseconds
from metadata_log.reader.log_reader import LogReader
from records.avro import compiled
from replay.loader import load_image

PEER = "replay by the codec in Python"


def replay_seconds(reader: LogReader) -> float:
    """Return the processor time, in seconds, of a full replay by the codec in Python."""
    with python_codec():
        return cpu_seconds(partial(load_image, reader))


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for garbage as seldom as commands do, and not in what exists, during the `with` block.

    Otherwise each question would look through the modules of all benchmarks several times.
    """
    usual = gc.get_threshold()
    collect_seldom()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*usual)


def compared(
    reader: LogReader,
    questions: Mapping[str, Callable[[], object]],
    targets: Mapping[str, float],
    rounds: int,
) -> list[Result]:
    """Measure, in turn, a replay and each question with each codec that is installed.

    Args:
        questions: By name; with the codec in Python they are only shown if there is another.
        targets: By name of a question: the largest share of the replay's time.
    """
    usual, records = compiled.name(), reader.end_offset
    replays: list[float] = []
    answers: dict[tuple[str, str], list[float]] = {}
    with collecting_seldom():
        for _ in range(rounds):
            replays.append(replay_seconds(reader))
            for codec in each_codec():
                for name, ask in questions.items():
                    answers.setdefault((name, codec), []).append(cpu_seconds(ask))
    return [
        _result(
            f"{name} ({codec}) / {PEER} of {records:,}",
            Timed(answers[name, codec], replays),
            targets[name] if codec == usual else None,
        )
        for name in questions
        for codec in sorted({usual, compiled.PYTHON})
    ]


def _result(name: str, timed: Timed, target: float | None) -> Result:
    return Result(
        name=name,
        ours=milliseconds(timed.ours),
        peer=milliseconds(timed.peer),
        ratio=timed.share,
        target=target,
        at_most=True,
    )
