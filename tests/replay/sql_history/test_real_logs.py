"""The state of real logs at any offset, computed in SQL, equals that of replay."""

import random
from pathlib import Path

import pytest

from replay.image.digest import image_digest
from replay.loader import Replayer
from replay.sql_history.store import HistoryStore
from replay.sql_sync import sync
from replay.timeline import Timeline
from tests.replay.builders import FakeLog
from tests.replay.oracles import REAL_LOGS, batches, decoded_logs, final_images, needs_real_logs
from tests.replay.sql_history.by_replay import outages_by_replay, outages_of_view

pytestmark = needs_real_logs

_POINTS = 5


@pytest.mark.parametrize(
    "final_image", final_images(), ids=lambda path: str(path.relative_to(REAL_LOGS))
)
def test_state_by_sql_is_that_of_replay(final_image: Path, store: HistoryStore) -> None:
    log = FakeLog(list(batches(decoded_logs(final_image.parent / "__cluster_metadata-0"))))
    end_offset = sync(Timeline(log), log, store).to_offset
    assert end_offset == log.end_offset
    replayer = Replayer()
    for at in sorted(random.Random(end_offset).sample(range(end_offset), _POINTS)):
        for batch in log.batches(replayer.next_offset, at + 1):
            replayer.replay(batch, up_to=at)
        assert store.digest(at) == image_digest(replayer.image()), at
    assert outages_of_view(store) == outages_by_replay(store, log, end_offset)
