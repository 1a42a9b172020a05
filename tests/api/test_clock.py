"""Changes of the machine's clock: effects on the service, `serve` and `info`."""

import asyncio
from functools import partial
from pathlib import Path
from random import Random

import pytest

from api.service.service import Service
from controller.authorization.caller import CONTROLLER
from controller.decisions.brokers.heartbeats import Heartbeat, fence_stale_broker
from controller.decisions.brokers.registrations import RegisterBroker, register_broker
from controller.decisions.ids import new_id
from controller.decisions.namespaces.namespaces import CreateNamespace, create_namespace
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.clock import SystemClock
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from records.text import uuid_text
from tests.api.conftest import Metalog
from tests.controller.cluster import FEATURES, directory
from tests.metadata_log.machine import HOUR_MS, MINUTE_MS, START_MS, Machine
from tests.stories.processes import World

_DAY_MS = 24 * HOUR_MS


class _Tomorrow:
    def now_ms(self) -> int:
        return SystemClock().now_ms() + _DAY_MS


@pytest.fixture
def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log", uuid_text(bytes(range(16))))
    return tmp_path / "log"


async def _written_tomorrow(log: Path) -> None:
    await (await MetadataLog.open(log, clock=_Tomorrow())).close()


def _times(log: Path) -> list[int]:
    with LogReader.open(log) as reader:
        return [batch.timestamp for batch in reader.batches()]


async def _create(service: Service, name: str) -> None:
    await service.submit(partial(create_namespace, request=CreateNamespace(name)))


async def test_times_of_a_service_go_on_when_the_clock_is_set_ahead_and_back(
    log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    service = await Service.open(log, machine=machine)
    for n, by_ms in enumerate((365 * _DAY_MS, 0, -365 * _DAY_MS, 0)):
        machine.set_ahead(by_ms)
        machine.wait(MINUTE_MS)
        await _create(service, f"n{n}")
    await service.close()
    assert _times(log)[-4:] == [START_MS + n * MINUTE_MS for n in (1, 2, 3, 4)]
    (record,) = [r for r in caplog.records if r.name == "metadata_log.writer.clock"]
    assert "the machine's clock was set to 2024-11-13T22:14:20.000Z" in record.getMessage()


@pytest.mark.parametrize("by_ms", [HOUR_MS, MINUTE_MS, -MINUTE_MS, -HOUR_MS])
async def test_no_session_ends_because_the_clock_is_set(log: Path, by_ms: int) -> None:
    machine = Machine()
    service = await Service.open(log, machine=machine)
    request = RegisterBroker(
        broker_id=1,
        cluster_id=service.settings.cluster_id,
        incarnation_id=new_id(Random(1)),
        features=FEATURES,
        log_dirs=(directory(1),),
    )
    answer = await service.submit(partial(register_broker, request=request))
    epoch = answer.response.broker_epoch
    beat = Heartbeat(broker_id=1, broker_epoch=epoch, metadata_offset=answer.end_offset)
    await service.heartbeat(beat, caller=CONTROLLER)
    machine.set_ahead(by_ms)
    machine.wait(service.settings.session_timeout_ms * 3 // 4)
    assert (await service.submit(fence_stale_broker)).response is None
    machine.wait(service.settings.session_timeout_ms)
    await service.submit(fence_stale_broker)
    broker = service.image.broker(1)
    assert broker is not None
    assert broker.fenced
    await service.close()


async def test_a_real_service_over_a_log_of_tomorrow_warns_and_times_go_on(
    tmp_path: Path, metalog: Metalog
) -> None:
    world = World(tmp_path)
    await _written_tomorrow(world.log)
    (tomorrow,) = _times(world.log)
    try:
        await world.serve()
        assert world.service is not None
        for name in ("a", "b"):
            await world.ask("namespaces", "create", name)
        info = metalog("info", world.log)
        assert await world.service.stop() == 0
    finally:
        await world.end()
    times = _times(world.log)
    assert times == sorted(times)
    assert tomorrow <= times[0] < times[-2] < times[-1] < tomorrow + HOUR_MS
    assert world.service.errors.count("WARNING") == 1
    assert f"{world.log}: the last record is of" in world.service.errors
    assert "s ahead of this machine's clock" in info.out


async def test_a_change_without_a_service_warns_of_a_log_of_tomorrow(
    log: Path, metalog: Metalog, caplog: pytest.LogCaptureFixture
) -> None:
    await _written_tomorrow(log)
    answer = await asyncio.to_thread(metalog, "namespaces", "create", "a", "--log", log)
    assert answer.code == 0
    assert f"{log}: the last record is of" in caplog.text
    times = _times(log)
    assert times == sorted(times)


async def test_info_shows_the_distance_of_the_latest_record_from_the_clock(
    log: Path, metalog: Metalog
) -> None:
    empty = metalog("info", log, "--json").json
    assert (empty["latest_timestamp"], empty["clock_difference_ms"]) == (None, None)
    assert "latest record   -\n" in metalog("info", log).out
    await (await MetadataLog.open(log, machine=Machine())).close()
    past = metalog("info", log, "--json").json
    assert past["latest_timestamp"] == START_MS
    assert past["clock_difference_ms"] < -_DAY_MS
    assert "latest record   2023-11-14T22:13:20.000Z\n" in metalog("info", log).out
    writer = await MetadataLog.open(log, machine=Machine())
    assert "s behind this machine's clock\n" in metalog("info", log).out
    await writer.close()
    await _written_tomorrow(log)
    ahead = metalog("info", log, "--json").json
    assert 0 < _DAY_MS - ahead["clock_difference_ms"] < HOUR_MS
    assert "s ahead of this machine's clock\n" in metalog("info", log).out
