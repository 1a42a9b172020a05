"""Repeats the decisions about all requests of some logs, and compares the records:
`make redecide`.

Without arguments the logs are generated: those of a demo, of the scenario files, of some random
fault schedules, and of a service with real clients and brokers.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from api.cli.log.demo_run import write_demo
from api.requests.commands import RECORDED
from controller.demo.options import DemoOptions
from controller.forks.redecisions import redecide
from metadata_log.reader.log_reader import LogReader
from tests.redecide.report import Report
from tests.redecide.scenario_logs import SCENARIOS, write_scenario, write_schedule
from tests.redecide.service_log import write_service_log

_OPERATIONS = 200


def main() -> int:
    """Print a table for each kind of log; return 1 if any decision differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.redecide", description=__doc__)
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOG", help="logs that are there")
    parser.add_argument("--changes", type=int, default=2_000, help="of the demo")
    parser.add_argument("--schedules", type=int, default=10, help="how many fault schedules")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="metalog-redecide-") as directory:
        kinds = _given(options.logs) if options.logs else _made(Path(directory), options)
        reports = [_report(title, logs) for title, logs in kinds]
    return 0 if all(report.is_perfect for report in reports) else 1


def _given(logs: list[Path]) -> Iterator[tuple[str, list[Path]]]:
    for log in logs:
        yield str(log), [log]


def _made(directory: Path, options: argparse.Namespace) -> Iterator[tuple[str, list[Path]]]:
    demo = directory / "demo"
    asyncio.run(write_demo(demo, DemoOptions(changes=options.changes)))
    yield "demo", [demo]
    scenarios = sorted(SCENARIOS.glob("*.txt"))
    for path in scenarios:
        write_scenario(path, directory / path.stem)
    yield "scenarios", [directory / path.stem for path in scenarios]
    schedules = [directory / f"schedule-{seed}" for seed in range(options.schedules)]
    for seed, path in enumerate(schedules):
        write_schedule(seed, _OPERATIONS, path)
    yield "fault schedules", schedules
    service = directory / "service"
    service.mkdir()
    yield "service", [asyncio.run(write_service_log(service))]


def _report(title: str, logs: list[Path]) -> Report:
    report = Report()
    for log in logs:
        with LogReader.open(log) as reader:
            report.add(log.name, redecide(reader, RECORDED))
    print(f"\n{title}", *report.lines(), sep="\n", flush=True)
    return report


if __name__ == "__main__":
    sys.exit(main())
