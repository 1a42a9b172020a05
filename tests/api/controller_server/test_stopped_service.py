"""A service that was stopped for longer than a session fences no broker when it goes on."""

import json
import signal
import time
from pathlib import Path
from subprocess import DEVNULL, Popen

from tests.api.conftest import Metalog
from tests.api.services import serving
from tests.forked_commands import METALOG

SESSION_MS = 2_000


def _records(metalog: Metalog, log: Path) -> list[str]:
    """Return the types of the log's records."""
    dump = metalog("dump", log, "--json").out
    return [json.loads(line)["type"] for line in dump.splitlines()]


def _brokers(metalog: Metalog, at: str) -> dict[int, bool]:
    """Return the registered brokers, each with True if it is fenced."""
    told = json.loads(metalog("brokers", "list", "--server", at, "--json").out)
    return {each["broker"]: each["state"] == "fenced" for each in told["brokers"]}


def _wait_for(metalog: Metalog, at: str, wanted: dict[int, bool]) -> None:
    deadline = time.monotonic() + 60
    while (found := _brokers(metalog, at)) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.3)


def test_a_stopped_service_fences_no_broker(metalog: Metalog, tmp_path: Path) -> None:
    log = tmp_path / "log"
    metalog("init", log)
    with serving(log, "--session-timeout-ms", SESSION_MS) as service:
        brokers = [
            Popen(
                [
                    *METALOG,
                    *("broker", "--server", service.kafka, "--id", str(number)),
                    *("--heartbeat-ms", "300"),
                    *("--log-dir", str(tmp_path / f"broker{number}")),
                ],
                stdout=DEVNULL,
                stderr=DEVNULL,
            )
            for number in (1, 2)
        ]
        try:
            _wait_for(metalog, service.kafka, {1: False, 2: False})
            before = _records(metalog, log)
            for _ in range(2):
                service.process.send_signal(signal.SIGSTOP)
                time.sleep(2.5 * SESSION_MS / 1_000)
                service.process.send_signal(signal.SIGCONT)
                time.sleep(SESSION_MS / 1_000)
            # A broker that was fenced and unfenced again would have left records.
            assert _records(metalog, log) == before
            # A broker that is silent while the service runs is fenced as before.
            brokers[0].send_signal(signal.SIGSTOP)
            _wait_for(metalog, service.kafka, {1: True, 2: False})
        finally:
            for broker in brokers:
                broker.send_signal(signal.SIGCONT)
                broker.terminate()
                broker.wait(timeout=60)
