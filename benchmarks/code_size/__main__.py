"""`python -m benchmarks.code_size`: lines, statements, and the files that one request runs.

Counts what a reader of the code meets: the lines of each room, the imports inside functions of the
command line, and for six paths through it the files of which a function runs (see `run_files`). A
service's requests are counted in the process of the service only, after the same request ran once
before.
"""

import argparse
import ast
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.code_size.run_files import ROOMS, ROOT

_RECORD = {
    "type": "ConfigRecord",
    "data": {"resource_type": 4, "resource_name": "1", "name": "log.retention.ms", "value": "1"},
}
_WAIT_S = 60.0
_SETTLE_S = 1.0
"""After the first of two equal requests: what follows it, such as a broker's report of a new topic,
compiles functions on its first use."""

_Ran = dict[str, list[str]]


def main() -> int:
    """Print one table, or one JSON document."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code_size", description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rooms, delayed = _rooms(), _delayed_imports(ROOT / "api" / "cli")
    with tempfile.TemporaryDirectory() as scratch:
        paths = _paths(Path(scratch))
    if arguments.json:
        print(json.dumps({"rooms": rooms, "delayed_imports": delayed, "paths": paths}, indent=2))
    else:
        _print_rooms(rooms)
        print(f"\nimports inside functions of api/cli: {delayed}")
        _print_paths(paths)
    return 0


def _rooms() -> dict[str, dict[str, int]]:
    """Return files, lines (as wc counts) and statements of each room, docstrings left out."""
    rooms = {}
    for room in ROOMS:
        sources = [file.read_text() for file in sorted((ROOT / room).rglob("*.py"))]
        rooms[room] = {
            "files": len(sources),
            "lines": sum(source.count("\n") for source in sources),
            "statements": sum(map(_statements, sources)),
        }
    return rooms


def _statements(source: str) -> int:
    return sum(
        isinstance(node, ast.stmt) and not _is_docstring(node)
        for node in ast.walk(ast.parse(source))
    )


def _delayed_imports(folder: Path) -> int:
    """Return how many import statements are inside functions."""
    return len(
        {
            (file, node.lineno)
            for file in folder.rglob("*.py")
            for function in ast.walk(ast.parse(file.read_text()))
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
    )


def _is_docstring(node: ast.stmt) -> bool:
    constant = node.value if isinstance(node, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def _paths(scratch: Path) -> dict[str, _Ran]:
    log = scratch / "log"
    _command(scratch, "demo", str(log), "--seed", "1")
    leaderless = "partition:__consumer_offsets/0#leader"
    paths = {
        "image --at": _command(scratch, "image", str(log), "--at", "500"),
        "why": _command(scratch, "why", str(log), leaderless, "--at", "500"),
    }
    with _served(scratch) as (service, paths["serve until ready"]):
        append = service.http("/v1/records/append", json.dumps(_RECORD), "application/x-ndjson")
        paths["HTTP append"] = service.counted(append)
        paths["HTTP append with a request id"] = service.counted(
            service.http(
                "/v1/records/append", json.dumps(_RECORD), "application/x-ndjson", ids=True
            )
        )
        with _broker(service, scratch):
            paths["CreateTopics"] = service.counted(service.create_topics())
    return paths


def _command(scratch: Path, *words: str) -> _Ran:
    output = scratch / "ran.json"
    subprocess.run(_counting(output, *words), check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return dict(json.loads(output.read_text()))


def _counting(output: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.code_size.run_files", str(output), *words]


class _Service:
    """`serve` in a process that records which files run."""

    def __init__(self, process: "subprocess.Popen[str]", output: Path) -> None:
        self._process, self._output = process, output
        assert process.stdout is not None
        self._ready = json.loads(process.stdout.readline())
        self.kafka: str = self._ready["kafka"]
        self._numbers = iter(range(1, 1_000))

    def counted(self, request: Callable[[], object]) -> _Ran:
        """Return what the second of two equal requests runs."""
        request()
        time.sleep(_SETTLE_S)
        self._process.send_signal(signal.SIGUSR1)
        time.sleep(0.2)  # signals of two kinds have no order
        request()
        return self.ran()

    def ran(self) -> _Ran:
        """Return what ran since the last request that was counted began."""
        self._output.unlink(missing_ok=True)
        self._process.send_signal(signal.SIGUSR2)
        deadline = time.monotonic() + _WAIT_S
        while not self._output.exists():
            assert time.monotonic() < deadline, "the service wrote no list"
            time.sleep(0.05)
        return dict(json.loads(self._output.read_text()))

    def http(self, path: str, body: str, kind: str, *, ids: bool = False) -> Callable[[], object]:
        """Return a request over HTTP, each with an id of its own if `ids`."""

        def post() -> None:
            headers = {"Content-Type": kind}
            if ids:
                headers["Idempotency-Key"] = f"request-{next(self._numbers)}"
            url = f"http://{self._ready['http']}{path}"
            request = urllib.request.Request(url, body.encode() + b"\n", headers)
            with urllib.request.urlopen(request, timeout=_WAIT_S) as answer:
                answer.read()

        return post

    def create_topics(self) -> Callable[[], object]:
        """Return Kafka's CreateTopics by one connected client, which places the replicas itself."""
        client = KafkaAdminClient(bootstrap_servers=self.kafka)
        return lambda: client.create_topics(
            [NewTopic(f"topic-{next(self._numbers)}", replica_assignments={0: [1]})]
        )


@contextlib.contextmanager
def _served(scratch: Path) -> "Iterator[tuple[_Service, _Ran]]":
    """Serve an empty log; yield the service and what ran until it was ready."""
    log, output = scratch / "served", scratch / "served.json"
    _command(scratch, "init", str(log))
    words = ("serve", str(log), "--json", "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
    with _running(_counting(output, *words)) as process:
        service = _Service(process, output)
        ready = service.ran()
        yield service, ready


@contextlib.contextmanager
def _broker(service: _Service, scratch: Path) -> Iterator[None]:
    words = ("--server", f"kafka://{service.kafka}", "--id", "1", "--listen", "127.0.0.1:0")
    folder = ("--log-dir", str(scratch / "broker"))
    with _running([sys.executable, "-m", "api.cli", "broker", *words, *folder]) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline(), "the broker ended"
        yield


@contextlib.contextmanager
def _running(command: list[str]) -> "Iterator[subprocess.Popen[str]]":
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(_WAIT_S)


def _print_rooms(rooms: dict[str, dict[str, int]]) -> None:
    total = {key: sum(counts[key] for counts in rooms.values()) for key in rooms["records"]}
    print(f"{'room':14}{'files':>7}{'lines':>9}{'statements':>12}")
    for room, counts in {**rooms, "all": total}.items():
        print(f"{room:14}{counts['files']:7,}{counts['lines']:9,}{counts['statements']:12,}")


def _print_paths(paths: dict[str, _Ran]) -> None:
    print(f"\n{'path':32}{'files that run':>15}{'modules loaded':>16}")
    for name, ran in paths.items():
        print(f"{name:32}{len(ran['files']):15}{len(ran['modules']):16}")


if __name__ == "__main__":
    sys.exit(main())
