"""`metalog` with an index that is made in turns until a file exists, however long that takes.

python -m tests.api.held_index FILE serve LOG ...
"""

import sys
import time
from pathlib import Path

from api.cli.entry import main
from controller.decisions.context.cluster_index import ClusterIndex
from controller.results.turns import Turns
from replay.image.metadata import MetadataImage

_TURN_S = 0.002
"""As long as most turns take."""

_in_turns = ClusterIndex.in_turns


def _held(image: MetadataImage) -> Turns[ClusterIndex]:
    while not _file.exists():
        time.sleep(_TURN_S)
        yield
    return (yield from _in_turns(image))


if __name__ == "__main__":
    _file = Path(sys.argv.pop(1))
    ClusterIndex.in_turns = staticmethod(_held)  # type: ignore[method-assign]
    main()
