"""Creates a log that begins with the feature levels of a release of Kafka."""

import asyncio
import random
from pathlib import Path

from controller.asked.asked import asked_settings
from controller.controller import Controller
from controller.decisions.context.context import Settings
from controller.decisions.levels import METADATA_VERSION
from controller.upgrade.releases import Target, parse_target
from metadata_log.writer.creation import create_log
from metadata_log.writer.log import MetadataLog
from replay.image.metadata import MetadataImage


def create_release_log(directory: Path, cluster_id: str, release_version: str) -> None:
    """Create a log whose metadata.version is that of a release; other features are not enabled.

    Kafka's brokers register only if they know every feature level of the log, so namespaces and
    partition modes stay off.

    Args:
        release_version: A release such as `3.9`, or a level such as `4.0-IV1`.

    Raises:
        RequestError: INVALID_REQUEST, there is no such version; or as for `create_log`.
    """
    target = parse_target(release_version)
    create_log(directory, cluster_id)
    asyncio.run(_write_levels(directory, Settings(cluster_id=cluster_id), target))


async def _write_levels(directory: Path, settings: Settings, target: Target) -> None:
    log = await MetadataLog.open(
        directory, node_id=settings.node_id, asked=asked_settings(settings)
    )
    try:
        controller = Controller(
            log,
            MetadataImage.EMPTY,
            clock=log.clock,
            rng=random.SystemRandom(),
            settings=settings,
        )
        await controller.activate({METADATA_VERSION: target.level})
    finally:
        await log.close()
