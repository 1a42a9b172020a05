"""Encoding of the frames of the socket protocol."""

import contextlib
import struct
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from api.socket.appends import (
    Append,
    Appended,
    correlation_id_of,
    decode_append,
    decode_appended,
    encode_append,
    encode_appended,
)
from api.socket.frames import FrameError, FrameReader, Kind, frame
from api.socket.handshake import (
    Hello,
    Welcome,
    decode_hello,
    decode_welcome,
    encode_hello,
    encode_welcome,
)
from api.socket.limits import FRAME_SIZE_BYTES_MAX
from api.socket.refusals import Refused, decode_refused, encode_refused
from metadata_log.format.batch import AppendResult, NewBatch
from records.base import Record
from records.configs import ConfigRecord
from records.control import NoteRecord
from records.envelope import Origin
from records.errors import (
    CorruptLogError,
    FencedError,
    MetadataLogError,
    Outcome,
    RequestError,
    UnavailableError,
)
from tests.metadata_log.conftest import topics
from tests.records.strategies import ANY_RECORD, parts

_LENGTH_SIZE = 4
_SIZE_MAX = 1_000
_REQUEST = encode_append(Append(correlation_id=7, batch=topics(0, 3), expected_end_offset=None))


@given(
    content=st.lists(ANY_RECORD, min_size=1, max_size=5),
    origin=st.none() | parts("origin", Origin),
    timestamp=st.none() | st.integers(0, 2**62),
    expected=st.none() | st.integers(0, 2**62),
)
def test_any_batch_comes_over_as_it_was(
    content: list[Record], origin: Origin | None, timestamp: int | None, expected: int | None
) -> None:
    batch = NewBatch(
        records=tuple(content),
        origin=origin,
        record_versions=tuple(range(len(content))),
        timestamp=timestamp,
    )
    request = Append(correlation_id=2**64 - 1, batch=batch, expected_end_offset=expected)
    decoded = decode_append(encode_append(request)[_LENGTH_SIZE:])
    assert replace(decoded, batch=replace(decoded.batch, payloads=())) == request
    assert len(decoded.batch.payloads) == len(content)


def test_versions_that_are_left_out_are_the_newest() -> None:
    batch = NewBatch(records=topics(0, 2).records)
    request = Append(correlation_id=1, batch=batch, expected_end_offset=None)
    assert decode_append(encode_append(request)[_LENGTH_SIZE:]).batch.record_versions == (0, 0)


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        (NewBatch(records=(NoteRecord(at_offset=2**64, author="", text=""),)), "INVALID_RECORD"),
        (NewBatch(records=(NoteRecord(at_offset=0, author="", text="\ud800"),)), "INVALID_RECORD"),
        (
            NewBatch(
                records=(
                    ConfigRecord(
                        resource_type=2,
                        resource_name="t",
                        name="n",
                        value="x" * FRAME_SIZE_BYTES_MAX,
                    ),
                )
            ),
            "POLICY_VIOLATION",
        ),
    ],
)
def test_batch_that_the_log_would_refuse_is_refused_before_it_is_sent(
    batch: NewBatch, code: str
) -> None:
    with pytest.raises(RequestError) as refused:
        encode_append(Append(correlation_id=1, batch=batch, expected_end_offset=None))
    assert refused.value.code == code


def test_answers_come_over_as_they_were() -> None:
    result = AppendResult(base_offset=2**40, end_offset=2**40 + 3, leader_epoch=9, timestamp=5)
    answer = Appended(correlation_id=2**63, result=result)
    assert decode_appended(encode_appended(answer)[_LENGTH_SIZE:]) == answer
    hello = Hello(version=3, schema="abc", cluster_id="c")
    assert decode_hello(encode_hello(hello)[_LENGTH_SIZE:]) == hello
    welcome = Welcome(version=2, cluster_id="c")
    assert decode_welcome(encode_welcome(welcome)[_LENGTH_SIZE:]) == welcome


@pytest.mark.parametrize(
    "error",
    [
        RequestError("INVALID_UPDATE_VERSION", "the log ends at 4, expected 3"),
        FencedError("epoch 7 was claimed"),
        UnavailableError("the disk is full"),
        CorruptLogError("00000000000000000000.avro byte 7"),
        FencedError("epoch 7 was claimed", outcome=Outcome.NOTHING),
        UnavailableError("no room for the rest", outcome=Outcome.PARTIAL, done_to=2**40),
        RequestError("NOT_CONTROLLER", "a batch before this failed", outcome=Outcome.UNKNOWN),
    ],
)
def test_error_is_raised_at_the_client_as_it_was_at_the_log(error: MetadataLogError) -> None:
    refused = decode_refused(encode_refused(Refused(correlation_id=3, error=error))[_LENGTH_SIZE:])
    assert refused.correlation_id == 3
    assert type(refused.error) is type(error)
    assert str(refused.error) == str(error)
    assert getattr(refused.error, "code", None) == getattr(error, "code", None)
    assert (refused.error.outcome, refused.error.done_to) == (error.outcome, error.done_to)


def _refused(**body: str | None) -> MetadataLogError:
    content = frame(struct.pack(">BQ", Kind.REFUSED, 3), body)[_LENGTH_SIZE:]
    return decode_refused(content).error


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"family": "request", "code": "INVALID_RECORD"}, Outcome.NOTHING),
        ({"family": "request", "code": "NOT_CONTROLLER"}, Outcome.UNKNOWN),
        ({"family": "unavailable"}, Outcome.UNKNOWN),
        ({"family": "fenced"}, Outcome.UNKNOWN),
        ({"family": "fenced", "outcome": "nothing"}, Outcome.NOTHING),
        ({"family": "unavailable", "outcome": "undone"}, Outcome.UNKNOWN),
        ({"family": "unavailable", "outcome": "partial"}, Outcome.UNKNOWN),
    ],
)
def test_what_a_server_does_not_tell_for_certain_is_unknown(
    body: dict[str, str | None], outcome: Outcome
) -> None:
    assert _refused(**body).outcome is outcome


def test_a_refusal_holds_only_texts_which_is_all_that_older_clients_read() -> None:
    error = UnavailableError("no room", outcome=Outcome.PARTIAL, done_to=7)
    content = encode_refused(Refused(correlation_id=3, error=error))
    body = msgspec.msgpack.decode(content[_LENGTH_SIZE + 9 :], type=dict[str, str])
    assert (body["outcome"], body["done_to"]) == ("partial", "7")


@given(
    frames=st.lists(st.binary(min_size=1, max_size=50), max_size=20),
    cuts=st.lists(st.integers(1, 30), min_size=1),
)
def test_stream_is_cut_into_the_same_frames_however_it_comes(
    frames: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    reader, found, number = FrameReader(_SIZE_MAX), [], 0
    while stream:
        size = cuts[number % len(cuts)]
        reader.feed(stream[:size])
        stream, number = stream[size:], number + 1
        while (frame := reader.next_frame()) is not None:
            found.append(frame)
    assert found == frames


@pytest.mark.parametrize("size", [0, _SIZE_MAX + 1, 2**32 - 1])
def test_impossible_length_is_refused_before_anything_is_kept_for_it(size: int) -> None:
    reader = FrameReader(_SIZE_MAX)
    reader.feed(size.to_bytes(4, "big"))
    with pytest.raises(FrameError, match=str(size)):
        reader.next_frame()


_DECODERS: list[Callable[[bytes], object]] = [
    decode_hello,
    decode_welcome,
    decode_appended,
    decode_refused,
    correlation_id_of,
]


@pytest.mark.parametrize("decode", _DECODERS)
@given(content=st.binary(min_size=1, max_size=60))
def test_any_bytes_are_refused_as_a_frame_or_read(
    decode: Callable[[bytes], object], content: bytes
) -> None:
    # Nothing but FrameError comes out; now and then the bytes happen to be a frame.
    with contextlib.suppress(FrameError):
        decode(content)


def _refusal(content: bytes) -> str | None:
    try:
        decode_append(content)
    except RequestError as error:
        return error.code
    return None


@given(data=st.data())
def test_damaged_request_keeps_its_correlation_id_and_is_refused_or_read(
    data: st.DataObject,
) -> None:
    content = bytearray(_REQUEST[_LENGTH_SIZE:])
    position = data.draw(st.integers(10, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    assert correlation_id_of(bytes(content)) == 7
    assert _refusal(bytes(content)) in (None, "INVALID_REQUEST")


@pytest.mark.parametrize("kept", range(30, len(_REQUEST) - _LENGTH_SIZE))
def test_request_that_ends_early_is_refused(kept: int) -> None:
    with pytest.raises(RequestError, match="request 7"):
        decode_append(_REQUEST[_LENGTH_SIZE:][:kept])
