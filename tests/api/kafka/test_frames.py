"""Frames round-trip, and malformed ones are refused."""

import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kafka import apis, frames
from api.kafka.apis import Api
from api.kafka.fields import Message, Response
from api.kafka.frames import MalformedFrameError, UnsupportedVersionError
from api.kafka.layouts import message_layout
from api.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from api.kafka.messages.metadata import (
    MetadataPartition,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataTopic,
)
from records.base import Uuid
from records.errors import RequestError
from records.kafka import compiled_decoder, compiled_encoder, reference
from records.kafka.layout import Layout
from tests.records.kafka.strategies import records
from tests.samples import drawn

_BY_KEY = apis.by_key(apis.ALL)
_decoder = functools.cache(compiled_decoder.decoder)
_encoder = functools.cache(compiled_encoder.encoder)
_VERSIONS = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in apis.ALL
    for version in range(api.min_version, api.max_version + 1)
]


def _layout(cls: type[Message], api: Api, version: int) -> Layout:
    return message_layout(cls, version, flexible=api.is_flexible(version))


def _messages(cls: type[Message], api: Api, version: int) -> st.SearchStrategy[Any]:
    return records(_layout(cls, api, version))


@pytest.mark.parametrize(("api", "version"), _VERSIONS)
@drawn(5, 3)
@given(data=st.data())
def test_requests_and_responses_are_read_back_by_frames_codec_and_reference(
    api: Api, version: int, data: st.DataObject
) -> None:
    # Drawing takes longer than all that is checked.
    request = data.draw(_messages(api.request, api, version))
    assert_frame_of_request_is_read_back(api, version, request)
    assert_codec_and_reference_agree(_layout(api.request, api, version), request)
    response = data.draw(_messages(api.response, api, version))
    assert_frame_of_response_is_read_back(api, version, response)
    assert_codec_and_reference_agree(_layout(api.response, api, version), response)


def assert_frame_of_request_is_read_back(api: Api, version: int, request: Any) -> None:
    raw = frames.encode_request(api, version, 7, request, "a client")
    read = frames.decode_request(raw[4:], _BY_KEY)
    assert (read.api, read.version, read.correlation_id) == (api, version, 7)
    assert (read.client_id, read.body, read.unknown_tags) == ("a client", request, ())


def assert_frame_of_response_is_read_back(api: Api, version: int, response: Any) -> None:
    raw = frames.encode_response(api, version, 9, response)
    assert frames.correlation_id_of(raw[4:]) == 9
    assert frames.decode_response(raw[4:], api, version) == response


def assert_codec_and_reference_agree(of: Layout, message: Any) -> None:
    """Compare the compiled codec with the reference."""
    raw = reference.encode(of, message)
    assert _encoder(of)(message) == raw
    assert reference.decode(of, raw, 0) == (message, ())
    try:
        assert _decoder(of)(raw, 0) == message
    except compiled_decoder.NOT_PLAIN:
        assert of.flexible, "only tagged fields may be left to the reference"


@drawn(200, 60)
@given(data=st.data())
def test_damaged_requests_are_refused_or_read_but_never_crash(data: st.DataObject) -> None:
    api = data.draw(st.sampled_from(apis.ALL))
    request = data.draw(_messages(api.request, api, api.max_version))
    raw = bytearray(frames.encode_request(api, api.max_version, 7, request)[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(raw)))
    try:
        read = frames.decode_request(bytes(raw[:cut]), _BY_KEY)
    except (MalformedFrameError, UnsupportedVersionError):
        return
    assert isinstance(read.body, read.api.request)


def test_count_beyond_the_bytes_is_refused_before_anything_is_made() -> None:
    frame = frames.encode_request(apis.METADATA, 4, 1, MetadataRequest(topics=()))[4:]
    at = len(frame) - 5
    with pytest.raises(MalformedFrameError, match="2147483647 items wanted"):
        frames.decode_request(frame[:at] + b"\x7f\xff\xff\xff" + frame[at + 4 :], _BY_KEY)


def test_answer_to_api_versions_has_the_oldest_header() -> None:
    raw = frames.encode_response(apis.API_VERSIONS, 4, 258, ApiVersionsResponse())
    assert raw.hex() == "0000000c" + "00000102" + "0000" + "01" + "00000000" + "00"


def test_unsupported_version_is_reported_with_its_number() -> None:
    raw = bytearray(frames.encode_request(apis.API_VERSIONS, 4, 77, ApiVersionsRequest())[4:])
    raw[3] = 99
    with pytest.raises(UnsupportedVersionError) as caught:
        frames.decode_request(bytes(raw), _BY_KEY)
    assert (caught.value.api, caught.value.correlation_id) == (apis.API_VERSIONS, 77)


def test_unknown_tags_of_a_request_are_kept() -> None:
    raw = frames.encode_request(apis.METADATA, 9, 1, MetadataRequest(topics=()))[4:]
    assert raw.endswith(b"\0")
    read = frames.decode_request(raw[:-1] + b"\x01\x09\x02hi", _BY_KEY)
    (tag,) = read.unknown_tags
    assert (tag.tag, tag.value) == (9, b"hi")


def test_bytes_behind_a_request_are_passed_over_as_kafka_does() -> None:
    # What librdkafka 2.16 sends to ask for all topics.
    read = frames.decode_request(
        bytes.fromhex("0003000d00000003000772646b61666b610000000000010000"), _BY_KEY
    )
    assert (read.version, read.client_id) == (13, "rdkafka")
    assert read.body == MetadataRequest(allow_auto_topic_creation=False)


def test_request_is_refused_in_a_version_that_cannot_say_it() -> None:
    request = MetadataRequest(
        topics=(MetadataRequestTopic(topic_id=Uuid(bytes(range(16))), name="a"),)
    )
    with pytest.raises(RequestError, match="has no topic_id"):
        frames.encode_request(apis.METADATA, 9, 1, request)


def _mode_bytes(mode: int) -> bytes:
    partition = MetadataPartition(partition_index=0, leader_id=1, mode=mode)
    topic = MetadataTopic(name="a", partitions=(partition,))
    response: Response = MetadataResponse(topics=(topic,))
    return frames.encode_response(apis.METADATA, 9, 1, response)


def test_mode_is_left_out_for_read_write() -> None:
    read_only = b"\x65\x01\x01"
    assert read_only in _mode_bytes(1)
    assert len(_mode_bytes(1)) == len(_mode_bytes(0)) + len(read_only)
