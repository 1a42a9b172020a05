"""Records as JSON lines are read like `from_json` reads them, with the same errors."""

import io

import msgspec
import pytest
from hypothesis import assume, given

from api.requests.record_lines import line_batches
from records.avro.plain_rows import encode_records
from records.base import Record
from records.errors import RequestError
from records.json import from_json, to_json
from tests.records.strategies import ANY_RECORD
from tests.samples import drawn


def _read(line: object) -> Record:
    (batch,) = line_batches(io.BytesIO(msgspec.json.encode(line)), size=None)
    (record,) = batch.records
    # What the service stores as it is must be what it would write itself.
    assert encode_records([record], [0], payloads=batch.payloads) == encode_records([record], [0])
    return record


@given(ANY_RECORD)
@drawn(2_000, 200)
def test_line_is_read_as_its_record_or_refused(record: Record) -> None:
    try:
        found = _read({"type": type(record).__name__, "data": to_json(record)})
    except RequestError as error:
        # Those that only a log or a service writes.
        assume("written by a log" not in str(error) and "written by the service" not in str(error))
        raise
    assert found == record == from_json(type(record).__name__, to_json(record))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"broker_id": 1}, "Missing required argument 'broker_epoch'"),
        ({"broker_id": 1, "broker_epoch": "2"}, "UnregisterBrokerRecord.broker_epoch: Expected"),
        ({"broker_id": True, "broker_epoch": 2}, "UnregisterBrokerRecord.broker_id: Expected"),
        ({"broker_id": 1, "broker_epoch": 2, "rack": "a"}, "has no field 'rack'"),
        ({"broker_id": 1 << 40, "broker_epoch": 2}, "broker_id"),
    ],
    ids=["missing", "text", "true", "unknown", "too large"],
)
def test_error_names_line_and_field(data: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match="line 1: ") as refused:
        _read({"type": "UnregisterBrokerRecord", "data": data})
    assert message in str(refused.value)


@pytest.mark.parametrize("depth", [400, 5_000])
def test_a_line_nested_too_deeply_is_refused(depth: int) -> None:
    data = b'{"a":' * depth + b"1" + b"}" * depth
    line = b'{"type":"NoteRecord","data":%b}' % data
    with pytest.raises(RequestError, match="line 1: ") as refused:
        list(line_batches(io.BytesIO(line), size=None))
    assert refused.value.code == "INVALID_RECORD"
