"""Lines that clients cause are bounded, and those left out are counted."""

import logging

import pytest

from api.log_limit import OneLineASecond, limited_logger


def test_one_line_a_second_from_each_place_with_a_count(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    logger = logging.getLogger("test_log_limit")
    limit = OneLineASecond(lambda: now)
    logger.addFilter(limit)
    try:
        for number in range(5):
            now += 0.4
            logger.warning("bad frame %d of %s", number, "100%")
        logger.warning("something else")
    finally:
        logger.removeFilter(limit)
    assert [record.getMessage() for record in caplog.records] == [
        "bad frame 0 of 100%",
        "bad frame 3 of 100% (2 more lines like this were left out)",
        "something else",
    ]


def test_logger_is_limited_once() -> None:
    assert limited_logger("test_log_limit.twice") is limited_logger("test_log_limit.twice")
    assert len(limited_logger("test_log_limit.twice").filters) == 1
