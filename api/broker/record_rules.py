"""A topic's configs that apply to the records of a Produce request.

A batch's header gives its greatest time; the records are read only where the header does not
suffice: in a compacted topic, with a lower bound for times, or if that time is above the bound.

Source: LogValidator and UnifiedLog of Kafka 4.1; KIP-32 and KIP-937 (times), KIP-467 (errors of
single records).
"""

from collections.abc import Iterable

import msgspec

from api.broker.batch_times import batch_records
from api.broker.batches import RawBatch
from api.kafka.messages.records_io import BatchError
from api.kafka.messages.replicas import BrokerConfig
from controller.decisions.config_definitions.definition import whole_number
from controller.decisions.config_definitions.topics import CLEANUP_POLICY, TOPIC_CONFIGS
from records.errors import CorruptLogError, RequestError

_SIZE = "max.message.bytes"
_TYPE = "message.timestamp.type"
_BEFORE = "message.timestamp.before.max.ms"
_AFTER = "message.timestamp.after.max.ms"

RECORD_CONFIGS = (CLEANUP_POLICY, _SIZE, _AFTER, _BEFORE, _TYPE)
"""Names of the configs of topics that brokers apply."""

_NO_TIMESTAMP = -1
_UNLIMITED = 2**63 - 1


class RecordsRefusedError(RequestError):
    """A batch was refused because of some of its records.

    Attributes:
        record_errors: The records, by their index in the batch, each with its reason.
    """

    def __init__(self, code: str, message: str, record_errors: tuple[BatchError, ...]) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors


class RecordRules(msgspec.Struct, frozen=True):
    """A topic's rules for new batches. Sizes are in bytes, times in ms."""

    size_bytes_max: int
    before_ms_max: int
    after_ms_max: int
    is_log_append_time: bool
    is_compacted: bool

    @classmethod
    def of(cls, configs: Iterable[BrokerConfig]) -> "RecordRules":
        """Return the rules of a topic with these configs; absent configs have their default.

        A value that is no number, as a log made by other software may hold, counts as not set.
        """
        values = {config.name: config.value for config in configs}
        return cls(
            size_bytes_max=_number(values, _SIZE),
            before_ms_max=_number(values, _BEFORE),
            after_ms_max=_number(values, _AFTER),
            is_log_append_time=values.get(_TYPE) == "LogAppendTime",
            is_compacted="compact" in values.get(CLEANUP_POLICY, "").replace(" ", "").split(","),
        )

    def applied(self, batch: RawBatch, now_ms: int) -> RawBatch:
        """Return the batch to write: with the time `now_ms` if the topic has append times.

        Raises:
            RequestError: MESSAGE_TOO_LARGE; or CORRUPT_MESSAGE, the records cannot be read.
            RecordsRefusedError: INVALID_RECORD, a record of a compacted topic has no key;
                INVALID_TIMESTAMP, a record's time is too far from `now_ms`.
        """
        size = len(batch.data)
        if size > self.size_bytes_max:
            raise RequestError(
                "MESSAGE_TOO_LARGE",
                f"the batch has {size} bytes; {_SIZE} allows at most {self.size_bytes_max}",
            )
        if self._reads_records(batch, now_ms):
            self._check_records(batch, now_ms)
        return batch.of_append_time(now_ms) if self.is_log_append_time else batch

    def _reads_records(self, batch: RawBatch, now_ms: int) -> bool:
        if self.is_compacted:
            return True
        is_late = batch.header.max_timestamp - now_ms > self.after_ms_max
        return not self.is_log_append_time and (is_late or self.before_ms_max < _UNLIMITED)

    def _check_records(self, batch: RawBatch, now_ms: int) -> None:
        keyless, untimely = [], []
        try:
            for index, record in enumerate(batch_records(batch.data)):
                if self.is_compacted and not record.has_key:
                    keyless.append(_error(index, "a compacted topic takes no record without a key"))
                elif not self._is_timely(record.timestamp, now_ms):
                    untimely.append(_error(index, self._untimely(record.timestamp, now_ms)))
        except CorruptLogError as error:
            raise RequestError("CORRUPT_MESSAGE", str(error)) from error
        errors = tuple(sorted(keyless + untimely, key=lambda e: e.batch_index))
        if errors:
            code = "INVALID_TIMESTAMP" if untimely else "INVALID_RECORD"
            first = errors[0].batch_index_error_message
            raise RecordsRefusedError(
                code, f"{len(errors)} records refused; first: {first}", errors
            )

    def _is_timely(self, timestamp: int, now_ms: int) -> bool:
        if self.is_log_append_time or timestamp == _NO_TIMESTAMP:
            return True
        return -self.after_ms_max <= now_ms - timestamp <= self.before_ms_max

    def _untimely(self, timestamp: int, now_ms: int) -> str:
        return (
            f"timestamp {timestamp} is not within {now_ms - self.before_ms_max} and "
            f"{now_ms + self.after_ms_max}"
        )


def _number(values: dict[str, str], name: str) -> int:
    number = whole_number(values.get(name, ""))
    return int(TOPIC_CONFIGS[name].default) if number is None else number


def _error(index: int, message: str) -> BatchError:
    return BatchError(batch_index=index, batch_index_error_message=message)


DEFAULT_RULES = RecordRules.of(())
"""The rules of a topic without configs."""
