"""Gaps of a recording in the tables of both databases."""

import datetime
from typing import Any

import pytest
from sqlalchemy import func, select, text

from metadata_log.format.parts import Gap
from records.errors import RequestError, UnknownHistoryError
from replay.snapshot.database import writing
from replay.sql_history.gaps import FoundAfterGap, write_gap
from replay.sql_history.store import HistoryStore
from replay.sql_history.tables import VERSION_TABLES
from replay.sql_sync import cross_gap, sync
from replay.timeline import Timeline
from tests.replay.builders import FakeLog, batches, topic
from tests.replay.sql_history.conftest import ON_BOTH

LOG = FakeLog(batches([topic("orders")], [topic("prices")]))
FOUND = FoundAfterGap("topic:prices", "config", "changed", 1, 2)


def _gap(from_offset: int, from_time: int, to_offset: int, to_time: int) -> Gap:
    return Gap(
        from_offset=from_offset,
        from_epoch=1,
        from_time=from_time,
        to_offset=to_offset,
        to_epoch=2,
        to_time=to_time,
        found_time=to_time,
        source="c1:9093",
        log_start_offset=to_offset,
        leader_epoch=2,
    )


def _asked(store: HistoryStore, query: Any) -> list[Any]:
    with store.engine.connect() as connection:
        return list(connection.execute(query))


@ON_BOTH
def test_states_end_at_a_gap(store: HistoryStore) -> None:
    end = sync(Timeline(LOG), LOG, store).to_offset
    with writing(store.engine) as connection:
        write_gap(connection, _gap(end, 5_000, 90, 9_000), [FOUND])
    topics = VERSION_TABLES["topics"].table
    columns = topics.c.valid_to_offset, topics.c.valid_to_time
    assert _asked(store, select(*columns)) == [(end, 5_001)] * 2
    found = _asked(store, text("SELECT object, field, fate, before, after FROM found_after_gap"))
    assert found == [("topic:prices", "config", "changed", "1", "2")]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_time_in_a_gap_has_no_offset(store: HistoryStore) -> None:
    end = sync(Timeline(LOG), LOG, store).to_offset
    ((last,),) = _asked(store, text("SELECT max(time) FROM change"))
    with writing(store.engine) as connection:
        write_gap(connection, _gap(end, last, 90, last + 4_000), [])

    def offset_at(time_ms: int) -> Any:
        at = datetime.datetime.fromtimestamp(time_ms / 1_000, datetime.UTC)
        ((offset,),) = _asked(store, select(func.offset_at(at)))
        return offset

    times = (last, last + 1, last + 3_999, last + 4_000, last + 4_001)
    assert [offset_at(each) for each in times] == [end - 1, None, None, 89, 89]


def test_gap_elsewhere_than_at_the_end_is_refused(store: HistoryStore) -> None:
    end = sync(Timeline(LOG), LOG, store).to_offset
    with pytest.raises(RequestError, match=f"the tables end at {end}, and offsets from 1 on"):
        cross_gap(Timeline(LOG), LOG, store, _gap(1, 1_000, 90, 9_000), [])
    assert _asked(store, text("SELECT * FROM gap")) == []


def test_digest_in_a_gap_is_refused(store: HistoryStore) -> None:
    sync(Timeline(LOG), LOG, store)
    with writing(store.engine) as connection:
        write_gap(connection, _gap(0, 1_000, 2, 2_000), [])
    with pytest.raises(UnknownHistoryError, match="in the gap from offset 0 to 1"):
        store.digest(0)
    assert store.digest(1)
