"""Repeated log lines of one place in the code are limited, and the omitted ones are counted."""

import io
import logging

import pytest

from api.transport.log_limit import BY_CLIENTS, OF_THE_PROCESS, LineLimit, limited_logger

LINES_MAX = OF_THE_PROCESS.lines_max


class Log:
    """A logger, its clock, and its output."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._stream = io.StringIO()
        handler = logging.StreamHandler(self._stream)
        handler.addFilter(LineLimit(OF_THE_PROCESS, lambda: self.now_s))
        self.logger = logging.Logger("test")
        self.logger.addHandler(handler)

    @property
    def text(self) -> str:
        return self._stream.getvalue()

    def fail(self, number: int) -> None:
        try:
            raise OSError(f"number {number}")
        except OSError:
            self.logger.exception("it failed")


@pytest.fixture
def log() -> Log:
    return Log()


def test_one_place_prints_a_few_lines_in_a_while(log: Log) -> None:
    for number in range(1_000):
        log.logger.warning("number %d", number)
    assert log.text.splitlines() == [f"number {number}" for number in range(LINES_MAX)]


def test_next_line_says_how_many_were_left_out(log: Log) -> None:
    for number in (*range(LINES_MAX + 7), -1):
        if number < 0:
            log.now_s += OF_THE_PROCESS.window_s
        log.logger.warning("number %d", number)
    assert log.text.splitlines()[-1] == "number -1 (7 more lines like this were left out)"


def test_other_places_and_information_are_not_cut(log: Log) -> None:
    for number in range(100):
        log.logger.warning("one")
        log.logger.info("info %d", number)
    log.logger.warning("another")
    assert log.text.count("info") == 100
    assert log.text.endswith("another\n")


def test_only_the_first_repetition_has_its_traceback(log: Log) -> None:
    for number in range(100):
        log.fail(number)
    assert log.text.count("Traceback") == 1
    assert "it failed: OSError: number 5\n" in log.text
    assert log.text.count("it failed") == LINES_MAX


def test_one_line_a_second_from_each_place_with_a_count(caplog: pytest.LogCaptureFixture) -> None:
    now = 100.0
    logger = logging.getLogger("test_log_limit")
    limit = LineLimit(BY_CLIENTS, lambda: now)
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
