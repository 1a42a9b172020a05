"""Garbage collections of a service, in a process of their own: they are for a whole process."""

import subprocess
import sys

_SCRIPT = """
import gc
from api.garbage import collect_beside_image

collect_beside_image()
collect_beside_image()  # as by a node that leads again
first = gc.get_freeze_count()
ended = [[] for _ in range(100)]
for each in ended:
    each.append(each)
gc.collect()
print(gc.get_freeze_count() - first)
each, ended = None, None
print(gc.collect())
kept = [[number] for number in range(500_000)]
print(gc.get_freeze_count() - first > len(kept) // 4)
"""


def test_only_what_a_long_collection_has_visited_is_left_out() -> None:
    ran = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True)
    assert ran.stdout.split() == ["0", "100", "True"], ran.stderr
