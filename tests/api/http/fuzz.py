"""Random requests made from the OpenAPI document: none causes a server error or an undeclared
response.

python -m tests.api.http.fuzz --cases 5000
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.cli.main import run
from api.http.paging import MIN_OFFSET
from tests.api.services import serving

LEFT_OUT = ("/v1/events", "/v1/report/growth", "/v1/tail", "/v1/records/append")
"""Paths whose answers wait for what is to come, and the one that takes JSON lines."""

_KEPT_OFFSET = 100
"""Offset that the demo's log has."""

CHECKS: list[Callable[..., Any]] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def fuzz(url: str, cases: int) -> int:
    """Send `cases` requests to each operation; return the total number of requests.

    Raises:
        BaseExceptionGroup, FailureGroup: a response is a server error, or not declared.
    """
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    sent = 0
    for result in schema.get_all_operations():
        assert isinstance(result, Ok), result
        operation = result.ok()
        if operation.path in LEFT_OUT:
            continue

        @settings(
            max_examples=cases,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def send(case: Any) -> None:
            nonlocal sent
            sent += 1
            _ask_for_kept_offset(case)
            case.call_and_validate(checks=CHECKS, timeout=60)

        send()
    return sent


def _ask_for_kept_offset(case: Any) -> None:
    """Replace a `min_offset` beyond the log's end: the service would wait 10 s, and answer 503."""
    wanted = (case.query or {}).get(MIN_OFFSET)
    if isinstance(wanted, int) and wanted > _KEPT_OFFSET:
        case.query[MIN_OFFSET] = _KEPT_OFFSET


def main() -> None:
    """Fuzz a service of a demo's log."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=5_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        assert run(["demo", str(log), "--topics", "3", "--brokers", "3", "--changes", "50"]) == 0
        with serving(log, "--session-timeout-ms", 600_000, "--http", "127.0.0.1:0") as service:
            print(fuzz(service.http, arguments.cases // 60), "requests")


if __name__ == "__main__":
    main()
