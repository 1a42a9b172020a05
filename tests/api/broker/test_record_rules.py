"""What a topic's configs demand of new batches, and the batch that is written."""

import gzip

import pytest

from api.broker.batch_times import greatest
from api.broker.batches import RawBatch, produced_batches
from api.broker.record_rules import RecordRules, RecordsRefusedError
from api.kafka.messages.replicas import BrokerConfig
from metadata_log.kraft_format.batch import crc_of
from records.errors import RequestError
from tests.api.broker.records import batch, timed_batch

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def rules(**configs: str) -> RecordRules:
    return RecordRules.of(
        [BrokerConfig(name=name.replace("_", "."), value=value) for name, value in configs.items()]
    )


def applied(to: RecordRules, content: bytes) -> RawBatch:
    (raw,) = produced_batches(content)
    return to.applied(raw, NOW_MS)


def refused(by: RecordRules, content: bytes) -> tuple[str, list[int]]:
    with pytest.raises(RecordsRefusedError) as caught:
        applied(by, content)
    return caught.value.code, [error.batch_index for error in caught.value.record_errors]


def test_batch_of_the_greatest_size_is_taken_and_one_byte_more_is_not() -> None:
    content = batch(b"x" * 100)
    size = len(content)
    assert applied(rules(max_message_bytes=str(size)), content).data == content
    with pytest.raises(RequestError) as caught:
        applied(rules(max_message_bytes=str(size - 1)), content)
    assert caught.value.code == "MESSAGE_TOO_LARGE"


@pytest.mark.parametrize("codec", [0, 1])
def test_each_record_outside_the_bounds_is_named(codec: int) -> None:
    pack = gzip.compress if codec else bytes
    bounded = rules(message_timestamp_before_max_ms="10", message_timestamp_after_max_ms="20")
    times = (NOW_MS - 10, NOW_MS - 11, NOW_MS + 20, NOW_MS + 21)
    content = timed_batch(*times, codec=codec, compress=pack)
    assert refused(bounded, content) == ("INVALID_TIMESTAMP", [1, 3])


def test_record_without_a_time_is_within_any_bounds() -> None:
    bounded = rules(message_timestamp_before_max_ms="10")
    assert applied(bounded, timed_batch(-1)).header.max_timestamp == -1


def test_default_takes_what_is_old_and_nothing_over_an_hour_ahead() -> None:
    assert applied(rules(), timed_batch(0, NOW_MS + HOUR_MS)).record_count == 2
    ahead = timed_batch(NOW_MS, NOW_MS + HOUR_MS + 1)
    assert refused(rules(), ahead) == ("INVALID_TIMESTAMP", [1])


@pytest.mark.parametrize("policy", ["compact", "delete,compact", "compact, delete"])
def test_compacted_topic_takes_no_record_without_a_key(policy: str) -> None:
    compacted = rules(cleanup_policy=policy)
    assert refused(compacted, batch(b"a", b"b")) == ("INVALID_RECORD", [0, 1])
    assert applied(rules(cleanup_policy="delete"), batch(b"a")).record_count == 1


def test_append_time_replaces_the_times_of_all_records() -> None:
    stamped = rules(message_timestamp_type="LogAppendTime", message_timestamp_before_max_ms="1")
    written = applied(stamped, timed_batch(5, 7 * NOW_MS))
    assert written.header.max_timestamp == NOW_MS
    assert written.header.crc == crc_of(written.data)
    assert greatest(written.data).timestamp == NOW_MS


def test_records_that_cannot_be_read_are_corrupt() -> None:
    content = timed_batch(5, codec=1, compress=lambda _: b"no gzip")
    with pytest.raises(RequestError) as caught:
        applied(rules(cleanup_policy="compact"), content)
    assert caught.value.code == "CORRUPT_MESSAGE"


def test_value_of_a_log_from_elsewhere_counts_as_not_set() -> None:
    assert rules(max_message_bytes="many") == rules()
