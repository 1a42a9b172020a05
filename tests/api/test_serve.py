"""What `serve` and `broker` refuse, and how they exit."""

import asyncio
from pathlib import Path

import pytest

from api.transport.addresses import parse_address, require_loopback
from records.errors import RequestError
from tests.api.conftest import Metalog
from tests.stories.processes import Process, World


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", ("127.0.0.1", 9092)),
        (":0", ("127.0.0.1", 0)),
        ("localhost:1", ("localhost", 1)),
        ("[::1]:7", ("::1", 7)),
    ],
)
def test_loopback_may_be_listened_on(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address
    require_loopback(address[0])


@pytest.mark.parametrize("text", ["0.0.0.0:1", "example.org:1", "[::]:1", "10.0.0.1:0"])
def test_remote_addresses_need_an_option(text: str) -> None:
    with pytest.raises(RequestError, match="there is no authentication"):
        require_loopback(parse_address(text)[0])


@pytest.mark.parametrize("text", ["", "9092", "h:", "h:x", "h:70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is not HOST:PORT"):
        parse_address(text)


def test_config_without_a_value_is_wrong_usage(metalog: Metalog, tmp_path: Path) -> None:
    metalog("init", tmp_path / "log")
    answer = metalog("serve", tmp_path / "log", "--config", "a.b")
    assert (answer.code, answer.out) == (2, "")
    assert "'a.b' is not NAME=VALUE" in answer.err


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("log.retention.msec=1", "did you mean 'log.retention.ms'?"),
        ("retention.ms=1", "here it is 'log.retention.ms'"),
        ("log.retention.ms=soon", "is not a number"),
    ],
)
def test_unknown_or_invalid_configs_are_wrong_usage(
    metalog: Metalog, tmp_path: Path, config: str, said: str
) -> None:
    metalog("init", tmp_path / "log")
    answer = metalog("serve", tmp_path / "log", "--config", config)
    assert (answer.code, answer.out) == (2, "")
    assert said in " ".join(answer.err.split())


def test_log_that_is_not_there_is_one_line(metalog: Metalog, tmp_path: Path) -> None:
    answer = metalog("serve", tmp_path / "nothing")
    assert answer.code in (3, 4, 5)
    assert answer.err.count("\n") == 1
    assert str(tmp_path / "nothing") in answer.err


async def test_second_service_on_a_log_is_refused_and_the_first_shuts_down_cleanly(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    try:
        await world.serve()
        assert world.service is not None
        second = await Process.start(tmp_path / "second.txt", "serve", world.log, "--kafka", ":0")
        assert await second.ended() == 4
        assert '"code": "UNAVAILABLE"' in second.errors
        assert world.service.is_running
        assert await world.service.stop() == 0
        assert world.service.errors == ""
    finally:
        await world.end()


async def test_broker_without_a_controller_waits_until_it_is_stopped(tmp_path: Path) -> None:
    broker = await Process.start(
        tmp_path / "broker.txt",
        *("broker", "--server", "127.0.0.1:1", "--id", 1, "--log-dir", tmp_path / "data"),
    )
    async with asyncio.timeout(60):
        while "does not answer" not in broker.errors:
            await asyncio.sleep(0.05)
    assert await broker.stop() == 0
