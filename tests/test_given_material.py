"""The shared material beside the checkout is present where it is required."""

import os

from tests.real_logs import REAL_LOGS, data_sets


def test_real_logs_are_there_where_they_are_required() -> None:
    if os.environ.get("METALOG_REQUIRE_REAL_LOGS"):
        assert REAL_LOGS.is_dir(), f"METALOG_REQUIRE_REAL_LOGS is set and {REAL_LOGS} is missing"
        assert len({data_set.name for data_set in data_sets()}) == 17
