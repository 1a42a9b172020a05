"""Broker sessions, which are not stored in the log."""

from controller.decisions.context.sessions import Sessions
from tests.controller.cluster import START_MS, Cluster


def test_a_new_controller_gives_every_broker_a_whole_session_timeout() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    cluster.now_ms += 1_000_000
    sessions = Sessions.of(cluster.image, timeout_ms=9_000, now_ms=cluster.now_ms)
    assert sessions.stale_broker(cluster.image, cluster.now_ms + 9_000) is None
    assert sessions.stale_broker(cluster.image, cluster.now_ms + 9_001) == 1


def test_a_new_controller_waits_for_the_offsets_of_all_brokers() -> None:
    cluster = Cluster()
    cluster.add_brokers(1, 2)
    sessions = Sessions.of(cluster.image, timeout_ms=9_000, now_ms=START_MS)
    assert sessions.lowest_active_offset(cluster.image) == -1
    for broker_id in (1, 2):
        sessions = sessions.heard_of(broker_id, metadata_offset=5 + broker_id, now_ms=START_MS)
    assert sessions.lowest_active_offset(cluster.image) == 6


def test_with_nobody_active_there_is_nobody_to_wait_for() -> None:
    cluster = Cluster()
    cluster.register(1)
    assert cluster.sessions.lowest_active_offset(cluster.image) is None


def test_only_the_first_shutdown_offset_counts_until_the_broker_is_fenced() -> None:
    cluster = Cluster()
    cluster.add_brokers(1)
    sessions = cluster.sessions.shutting_down(1, 10).shutting_down(1, 20)
    session = sessions.get(1)
    assert session is not None and session.shutdown_offset == 10


def test_a_broker_without_a_session_changes_nothing() -> None:
    sessions = Sessions(timeout_ms=9_000)
    assert sessions.heard_of(1, metadata_offset=0, now_ms=START_MS) == sessions
    assert sessions.shutting_down(1, 0) == sessions
