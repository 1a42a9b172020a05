"""Garbage collections of a service, in a process of their own: they are for a whole process."""

import subprocess
import sys
from pathlib import Path

from metadata_log.writer.creation import create_log

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


_SERVED = """
import asyncio, gc, os, signal, sys
from api.security.listeners import LOCAL
from api.server import ServeOptions, serve_until_stopped
from controller.decisions.context.cluster_index import ClusterIndex
from msgspec.structs import replace

made, in_turns = [], ClusterIndex.in_turns

def held(image):
    while not made:
        yield
    return (yield from in_turns(image))

def is_visited():
    return any(each is made[0] for each in gc.get_objects())

async def index():
    made.append([[]])  # stands for the index
    print(is_visited())
    for _ in range(500):
        if not is_visited():
            break
        await asyncio.sleep(0.01)
    print(is_visited())
    os.kill(os.getpid(), signal.SIGTERM)

ClusterIndex.in_turns = staticmethod(held)
tasks = []
ready = lambda _: tasks.append(asyncio.get_running_loop().create_task(index()))
options = ServeOptions(log=sys.argv[1], kafka=(replace(LOCAL, port=0),))
asyncio.run(serve_until_stopped(options, ready))
"""


def test_an_index_made_behind_open_listeners_is_left_out(tmp_path: Path) -> None:
    create_log(tmp_path / "log", "test")
    command = [sys.executable, "-c", _SERVED, str(tmp_path / "log")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.stdout.split() == ["True", "False"], ran.stderr
