"""A crash at any point leaves all earlier snapshots intact, and no partial new one."""

import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import URL, Engine, event

from replay.snapshot import layers
from replay.snapshot.revision import LAYERED_FORMAT
from replay.snapshot.store import SnapshotStore
from tests.postgres import text_of
from tests.replay.snapshot.conftest import CLUSTER, ON_BOTH
from tests.replay.snapshot.images import cluster_of
from tests.replay.snapshot.killed_writer import TOPICS_AFTER, TOPICS_BEFORE

pytestmark = [
    ON_BOTH,
    # A process that ends leaves its server-side cursors to the server.
    pytest.mark.filterwarnings("ignore:.*ServerCursor:pytest.PytestUnraisableExceptionWarning"),
]

ONE, TWO, THREE = (cluster_of(range(count)) for count in (1, 2, 3))


class Crash(BaseException):
    """The process crashes here."""


def _crash_at_each_statement(engine: Engine, act: Callable[[], object]) -> int:
    """Run `act` with a crash at its first SQL statement, then at its second, until it succeeds.

    Returns:
        The number of crashes.
    """
    crashes = 0
    while True:
        left = crashes

        def count(*_: Any) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Crash

        for point in ("before_cursor_execute", "commit"):
            event.listen(engine, point, count)
        try:
            act()
            return crashes
        except Crash:
            crashes += 1
        finally:
            for point in ("before_cursor_execute", "commit"):
                event.remove(engine, point, count)
        # A process that ends leaves no cursor. Here the exception keeps it until it is collected,
        # which must not be in another test; while the exception is handled it cannot be.
        gc.collect()


def test_crash_while_storing_leaves_the_previous_snapshot(
    store: SnapshotStore, engine: Engine
) -> None:
    store.create(ONE)

    def create() -> None:
        assert store.load_newest() == ONE
        store.create(TWO)

    assert _crash_at_each_statement(engine, create) > 10
    assert store.load_newest() == TWO


def test_crash_while_storing_a_layer_leaves_the_previous_snapshot(
    store: SnapshotStore, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "LAYERED_SIZE_MIN_BYTES", 0)
    monkeypatch.setattr(layers, "OVERLAY_SHARE_MAX", 10)
    store.create(ONE)

    def create() -> None:
        assert store.load_newest() == ONE
        assert store.create(TWO).format == LAYERED_FORMAT

    assert _crash_at_each_statement(engine, create) > 10
    assert store.load_newest() == TWO


def test_crash_while_replacing_leaves_the_one_that_was_there(
    store: SnapshotStore, engine: Engine
) -> None:
    other = cluster_of([0, 7])
    store.create(other)

    def replace() -> None:
        assert store.load(8) == other
        store.create(TWO)

    assert _crash_at_each_statement(engine, replace) > 10
    assert store.load(8) == TWO


def test_crash_while_pruning_prunes_nothing(store: SnapshotStore, engine: Engine) -> None:
    images = (ONE, TWO, THREE)
    for image in images:
        store.create(image)

    def prune() -> None:
        assert tuple(store.load(info.end_offset) for info in store.list()) == images
        store.prune(1)

    assert _crash_at_each_statement(engine, prune) > 10
    assert [info.end_offset for info in store.list()] == [12]


def test_killed_writer_leaves_the_previous_snapshot(url: URL) -> None:
    before, after = cluster_of(range(TOPICS_BEFORE)), cluster_of(range(TOPICS_AFTER))
    with SnapshotStore.open(url, CLUSTER, upgrade=True) as store:
        store.create(before)
    writer = subprocess.run(
        [sys.executable, "-m", f"{__package__}.killed_writer", text_of(url)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(writer.stdout) > 5
    with SnapshotStore.open(url, CLUSTER) as store:
        assert [store.load(info.end_offset) for info in store.list()] == [before, after]
