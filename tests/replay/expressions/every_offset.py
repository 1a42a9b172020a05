"""Compares bisects with evaluations at every offset, on random histories and all real logs.

python -m tests.replay.expressions.every_offset [EXPRESSIONS] [SEED]
"""

import random
import sys
import tempfile
from pathlib import Path

from metadata_log.reader.log_reader import LogReader
from replay.loader import BatchSource, images, load_image
from tests.histories import random_history
from tests.real_logs import data_sets
from tests.replay.builders import FakeLog
from tests.replay.expressions.generated import Expressions
from tests.replay.expressions.test_bisect import at_every_offset, by_bisect
from tests.replay.incidents.real import imported

_HISTORY_SHARE = 10


def _compare(log: BatchSource, expressions: Expressions, count: int) -> None:
    texts = [expressions.some() for _ in range(count)]
    start = load_image(log, log.history_start - 1)
    for text, expected in zip(texts, at_every_offset(log, texts, start), strict=True):
        found = by_bisect(log, text, start)
        assert found == expected, f"{text}: bisect {found}, every offset {expected}"


def main(count: int, seed: int) -> None:
    """Compare `count` expressions on histories, and as many on each real log of a node."""
    for number in range(count // _HISTORY_SHARE):
        rng = random.Random(f"{seed} {number}")
        log = FakeLog(random_history(rng, 80))
        all_images = [image for _, image in images(log, 0, log.end_offset)]
        _compare(log, Expressions(rng, all_images), _HISTORY_SHARE)
    print(f"{count} expressions on random histories", flush=True)
    for data_set in data_sets():
        with (
            tempfile.TemporaryDirectory() as directory,
            LogReader.open(imported(data_set, Path(directory))) as reader,
        ):
            ends = [load_image(reader, reader.history_start - 1), load_image(reader)]
            rng = random.Random(f"{seed} {data_set}")
            _compare(reader, Expressions(rng, ends), count)
        print(f"{count} expressions on {data_set}", flush=True)


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), *(500, 1)[len(sys.argv) - 1 :]]
    main(given[0], given[1])
