"""A part of the campaign of mutated frames, and tests that wrong answers are noticed."""

import asyncio
import struct
from pathlib import Path

from api.kafka import apis, frames
from api.kafka.connection import Connection
from api.kafka.frames import LENGTH
from api.kafka.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse
from tests.torture.campaigns import frames as campaign
from tests.torture.campaigns.frames import Tally
from tests.torture.frame_targets import targets_in


def test_mutated_requests_are_answered_or_refused() -> None:
    outcome = campaign.run(0, count=900)
    assert outcome.failures == ()
    assert outcome.distinct > 500


async def test_every_key_that_a_listener_advertises_takes_part(tmp_path: Path) -> None:
    async with targets_in(tmp_path, []) as targets:
        for target in targets:
            connection = await Connection.open("127.0.0.1", target.port)
            versions = await connection.request(ApiVersionsRequest(), ApiVersionsResponse)
            await connection.close()
            # As in Kafka Produce is advertised from a version on that is refused.
            known = [apis.by_key(apis.ALL)[each.api_key] for each in versions.api_keys]
            advertised = {
                (api.key, version)
                for api in known
                for version in range(api.min_version, api.max_version + 1)
            }
            sent = {key_and_version(sample) for sample in target.samples}
            assert advertised - sent == set(), target.name


def key_and_version(sample: bytes) -> tuple[int, int]:
    return struct.unpack_from(">hh", sample, LENGTH.size)


async def test_whole_requests_are_answered(tmp_path: Path) -> None:
    broken: list[str] = []
    tallies: dict[str, Tally] = {}
    async with targets_in(tmp_path, broken) as targets:
        for target in targets:
            tally = tallies[target.name] = Tally()
            for sample in dict.fromkeys(target.samples):
                streams = await asyncio.open_connection("127.0.0.1", target.port)
                problem = await campaign.exchange(*streams, sample, tally, is_framed=True)
                assert not problem, f"{target.name}: {problem}"
                await campaign.hang_up(streams[1])
    assert broken == []
    # Only before a login are there requests that end a connection.
    assert {name for name, tally in tallies.items() if tally.closed} == {"login"}
    assert not any(tally.waiting for tally in tallies.values())


def test_wrong_answers_are_noticed() -> None:
    request = frames.encode_request(apis.METADATA, 9, 7, MetadataRequest(topics=None))
    whole = frames.encode_response(apis.METADATA, 9, 7, MetadataResponse(brokers=(), topics=()))
    answer = whole[LENGTH.size :]
    asked = request[LENGTH.size :]
    assert campaign.wrong_in(asked, answer) == ""
    assert "another request" in campaign.wrong_in(asked, b"\0\0\0\x08" + answer[4:])
    assert "cannot be read" in campaign.wrong_in(asked, answer[:-3])
    unknown_key = b"\x7f\xff" + asked[2:]
    assert "nobody knows" in campaign.wrong_in(unknown_key, answer)
