"""Own logs that brokers of Kafka may join, and how such brokers find the service."""

import json
from pathlib import Path

from api.cli.main import run
from tests.api.services import Served
from tests.strict_broker.messages import Address

NODE_ID = 3000
"""The service's id in `controller.quorum.voters`."""


def new_log(directory: Path, release: str = "3.9") -> Path:
    """Make a log for brokers of a release and of later ones."""
    log = directory / "log"
    assert run(["init", str(log), "--release-version", release]) == 0
    return log


def cluster_id_of(log: Path) -> str:
    """Return the cluster id, which brokers have in their meta.properties."""
    found = json.loads((log / "metalog.json").read_text())["cluster_id"]
    assert isinstance(found, str)
    return found


def address_of(service: Served) -> Address:
    """Return where the service takes Kafka's protocol."""
    host, port = service.kafka.partition("://")[2].rsplit(":", 1)
    return host, int(port)
