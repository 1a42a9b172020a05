"""Kafka's request to change feature levels."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from api.kafka.errors import name_of
from api.kafka.messages.features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from tests.api.guarded import nothing_written
from tests.api.kafka.servers import Server, server

NAME = "namespace.version"
UPGRADE, SAFE_DOWNGRADE = 1, 2


async def _update(
    at: Server, *updates: FeatureUpdateKey, version: int = 2, validate_only: bool = False
) -> UpdateFeaturesResponse:
    request = UpdateFeaturesRequest(feature_updates=updates, validate_only=validate_only)
    return await at.client.connection.request(request, UpdateFeaturesResponse, version=version)


def _level(level: int, upgrade_type: int = UPGRADE, name: str = NAME) -> FeatureUpdateKey:
    return FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)


async def test_unmodified_client_changes_feature_levels(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await at.register(1, address=("127.0.0.1", at.port))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.api.kafka.kafka_python_features"),
            f"127.0.0.1:{at.port}",
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await process.communicate()
        assert json.loads(printed) == ["OK", "OK", "InvalidUpdateVersionError", "OK"]
        assert not at.service.image.feature(NAME)


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_results_are_told_up_to_version_1(tmp_path: Path, version: int) -> None:
    async with server(tmp_path) as at:
        answer = await _update(at, _level(1), version=version)
        assert answer.error_code == 0
        assert [result.feature for result in answer.results] == [NAME] * (version < 2)
        assert at.service.image.feature(NAME) == 1


async def test_downgrade_of_version_0_is_a_safe_one(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        await _update(at, _level(1))
        down = FeatureUpdateKey(feature=NAME, max_version_level=0, allow_downgrade=True)
        assert (await _update(at, down, version=0)).error_code == 0
        assert not at.service.image.feature(NAME)


async def test_one_refused_feature_refuses_all(tmp_path: Path) -> None:
    async with server(tmp_path) as at:
        with nothing_written(at):
            for wrong, code in (
                (_level(9, name="no.such"), "INVALID_UPDATE_VERSION"),
                (_level(-1, SAFE_DOWNGRADE, "kraft.version"), "INVALID_UPDATE_VERSION"),
                (_level(1, 4, "kraft.version"), "INVALID_REQUEST"),
                (_level(1), "INVALID_REQUEST"),  # twice
            ):
                answer = await _update(at, _level(1), wrong)
                assert name_of(answer.error_code) == code
            assert (await _update(at, _level(1), validate_only=True)).error_code == 0
