"""A slice of the mutated frames, and proof that wrong answers are noticed."""

import asyncio
from pathlib import Path

from api.kafka import apis, frames
from api.kafka.frames import LENGTH
from api.kafka.messages.metadata import MetadataRequest, MetadataResponse
from tests.torture.campaigns import frames as campaign
from tests.torture.campaigns.frames import Tally


def test_mutated_requests_are_answered_or_refused() -> None:
    outcome = campaign.run(0, count=900)
    assert outcome.failures == ()
    assert outcome.distinct > 500


async def test_whole_requests_are_answered(tmp_path: Path) -> None:
    tally = Tally()
    async with campaign.listeners(tmp_path, tally.broken) as targets:
        for target in targets:
            for sample in target.samples:
                streams = await asyncio.open_connection("127.0.0.1", target.port)
                problem = await campaign.exchange(*streams, sample, tally, is_framed=True)
                assert not problem, f"{target.name}: {problem}"
                await campaign.hang_up(streams[1])
    # The service with SASL closes what comes before a login.
    assert (tally.waiting, tally.broken) == (0, [])
    assert tally.answered > 150 > 20 > tally.closed


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
