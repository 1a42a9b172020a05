"""The end of a mirror that Kafka may still replace: marked in the tables, and taken back."""

import random
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from sqlalchemy import select

from metadata_log.format.batch import Batch
from records.errors import RequestError
from replay.image.digest import image_digest
from replay.snapshot.database import writing
from replay.sql_history.store import HistoryStore
from replay.sql_history.tables import VERSION_TABLES, change, position
from replay.sql_sync import Synced, check_same_log, sync
from replay.timeline import Timeline
from tests.histories import random_history
from tests.replay.builders import FakeLog
from tests.replay.sql_history.conftest import ON_BOTH

pytestmark = ON_BOTH


@dataclass(frozen=True)
class Mirror(FakeLog):
    """A log whose end is not confirmed."""

    confirmed: int = 0

    @property
    def confirmed_end(self) -> int:
        return self.confirmed


def synced(log: FakeLog, store: HistoryStore, *, include_unconfirmed: bool = True) -> Synced:
    return sync(Timeline(log), log, store, include_unconfirmed=include_unconfirmed)


def contents(store: HistoryStore) -> dict[str, Any]:
    """Return all rows of all tables."""
    tables = [position, change, *(each.table for each in VERSION_TABLES.values())]
    with store.engine.connect() as connection:
        return {each.name: sorted(map(repr, connection.execute(select(each)))) for each in tables}


def later(history: list[Batch], by_ms: int) -> list[Batch]:
    """Return batches as another leader wrote them: at other times."""
    return [
        msgspec.structs.replace(
            each,
            rows=[msgspec.structs.replace(r, timestamp=r.timestamp + by_ms) for r in each.rows],
        )
        for each in history
    ]


@pytest.mark.parametrize("seed", range(4))
def test_replaced_records_leave_nothing_in_the_tables(seed: int, store: HistoryStore) -> None:
    rng = random.Random(seed)
    history = list(random_history(rng, 30))
    cut = rng.randint(0, len(history) - 2)
    more = rng.randint(cut, len(history) - 1)
    before = Mirror(history[:-1], confirmed=history[cut].base_offset)
    after = Mirror([*history[:cut], *later(history[cut:], 7)], confirmed=history[more].base_offset)
    found = synced(before, store)
    end = found.unconfirmed_to
    assert end is not None
    assert found.to_offset <= before.confirmed < end <= before.end_offset
    for at in rng.sample(range(end), 5):
        assert store.digest(at) == image_digest(Timeline(before).image(at))
    # What the log replaced is no reason to refuse the tables, unless they are to be read.
    with pytest.raises(RequestError, match="the log has another history"):
        check_same_log(after, store)

    found = synced(after, store)
    expected = contents(store)
    for at in rng.sample(range(found.unconfirmed_to or found.to_offset), 5):
        assert store.digest(at) == image_digest(Timeline(after).image(at))
    synced(after, store)
    assert contents(store) == expected

    _empty(store)
    synced(after, store)
    assert contents(store) == expected


@pytest.mark.parametrize("seed", range(4))
def test_a_sync_of_confirmed_records_takes_the_others_back(seed: int, store: HistoryStore) -> None:
    rng = random.Random(seed)
    history = list(random_history(rng, 30))
    log = Mirror(history, confirmed=history[rng.randint(1, len(history) - 1)].base_offset)
    synced(log, store, include_unconfirmed=False)
    expected = contents(store)
    assert "False" not in "".join(row[-6:] for row in expected["change"])
    synced(log, store)
    assert contents(store) != expected
    synced(log, store, include_unconfirmed=False)
    assert contents(store) == expected


def test_rows_are_marked_whose_start_or_end_is_not_confirmed(store: HistoryStore) -> None:
    history = list(random_history(random.Random(1), 30))
    log = Mirror(history, confirmed=history[15].base_offset)
    found = synced(log, store)
    end = found.to_offset
    with store.engine.connect() as connection:
        marked = connection.execute(select(change.c.offset, change.c.confirmed)).all()
        assert all(confirmed == (offset < end) for offset, confirmed in marked)
        assert {confirmed for _, confirmed in marked} == {True, False}
        marks = set()
        for each in VERSION_TABLES.values():
            columns = each.table.c
            for begin, to, confirmed in connection.execute(
                select(columns.record_offset, columns.valid_to_offset, columns.confirmed)
            ):
                assert confirmed == (begin < end and (to is None or to < end))
                marks.add((begin < end, confirmed))
    assert marks == {(True, True), (True, False), (False, False)}


def _empty(store: HistoryStore) -> None:
    with writing(store.engine) as connection:
        for each in (position, change, *(each.table for each in VERSION_TABLES.values())):
            connection.execute(each.delete())
