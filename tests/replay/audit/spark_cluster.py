"""A standalone Spark cluster on this machine, from PySpark's wheel: a master and two workers.

Every process is started here, listens on the loopback address only, and is ended by its id.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from records.errors import UnavailableError
from replay.audit.java import find_java, make_quiet_home
from replay.audit.masters import check_answers
from tests.ports import free_port

_ROOT = Path(__file__).parents[3]
_START_TIME_S = 300
_PROGRAM_TIME_S = 1_800
_END_TIME_S = 30
_HOST = "127.0.0.1"
_WORKERS = 2
_SCRIPTS = Path(pyspark.__file__).parent / "bin"

_DEFAULTS = {
    "spark.driver.bindAddress": _HOST,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": _HOST,
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.memory": "600m",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
"""Settings of every program: on the loopback address, small, and quick to plan."""


@dataclass(frozen=True)
class Cluster:
    """A running cluster: its URL, and the environment of its processes."""

    url: str
    folder: Path
    environment: dict[str, str]

    def submit(self, *arguments: str | Path) -> str:
        """Run `spark-submit` to its end and return its output.

        Raises:
            AssertionError: it failed; contains its output.
        """
        done = subprocess.run(
            [
                *(_script("spark-submit"), "--master", self.url),
                *map(str, arguments),
            ],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROGRAM_TIME_S,
        )
        assert done.returncode == 0, done.stderr[-6_000:]
        return done.stdout

    def run(self, script: str, folder: Path) -> None:
        """Run a shell script in a folder; fail if any of its commands fails."""
        done = subprocess.run(
            ["bash", "-ec", script],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-6_000:]

    def tasks_ran_on_all_workers(self) -> bool:
        """True if each worker has run an executor."""
        works = self.folder.glob("work-*/app-*")
        return len({work.parent for work in works}) == _WORKERS

    @contextmanager
    def connect_server(self, python: str = sys.executable) -> Iterator[str]:
        """Run a Spark Connect server whose tasks run on the cluster, in `python`; yield its URL."""
        port = free_port()
        command = [
            *(_script("spark-submit"), "--master", self.url),
            *("--conf", f"spark.connect.grpc.binding.address={_HOST}"),
            *("--conf", f"spark.connect.grpc.binding.port={port}"),
            # By default a program takes all cores for as long as it lives.
            *("--total-executor-cores", "1"),
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            "spark-internal",
        ]
        url = f"sc://{_HOST}:{port}"
        settings = {**self.environment, "PYSPARK_PYTHON": python}
        with _running("connect", command, settings, self.folder) as process:
            _wait_for_answer(url, process, self.folder / "connect.log")
            yield url


@contextmanager
def spark_cluster(folder: Path, **environment: str) -> Iterator[Cluster]:
    """Run a master and two workers of one core each.

    Args:
        folder: For logs and work; not removed afterwards.
        environment: Additional environment variables of all processes.

    The Java of the wheel is used if the system has none.
    """
    (folder / "conf").mkdir()
    lines = [f"{name} {value}\n" for name, value in _DEFAULTS.items()]
    (folder / "conf" / "spark-defaults.conf").write_text("".join(lines))
    settings = {
        **os.environ,
        "PATH": os.pathsep.join(
            (str(_SCRIPTS), str(Path(sys.executable).parent), os.environ["PATH"])
        ),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "JAVA_HOME": str(make_quiet_home(find_java(), folder / "java")),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join((str(_ROOT), os.environ.get("PYTHONPATH", ""))),
        "SPARK_LOCAL_IP": _HOST,
        **environment,
    }
    port = free_port()
    url = f"spark://{_HOST}:{port}"
    deploy = "org.apache.spark.deploy"
    with ExitStack() as running:
        master = [f"{deploy}.master.Master", "--host", _HOST, "--port", str(port)]
        process = running.enter_context(
            _running("master", [*_class(master), "--webui-port", "0"], settings, folder)
        )
        _wait_for_answer(url, process, folder / "master.log")
        for number in range(_WORKERS):
            worker = [f"{deploy}.worker.Worker", "--host", _HOST, "--cores", "1", "--memory", "1g"]
            places = ["--work-dir", str(folder / f"work-{number}"), "--webui-port", "0", url]
            running.enter_context(
                _running(f"worker-{number}", _class([*worker, *places]), settings, folder)
            )
        yield Cluster(url, folder, settings)


def _class(arguments: list[str]) -> list[str]:
    return [_script("spark-class"), *arguments]


def _script(name: str) -> str:
    return str(_SCRIPTS / name)


@contextmanager
def _running(
    name: str, command: list[str], environment: dict[str, str], folder: Path
) -> "Iterator[subprocess.Popen[bytes]]":
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_END_TIME_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_answer(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _START_TIME_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()[-6_000:]
        with suppress(UnavailableError):
            check_answers(url, "test")
            return
        time.sleep(0.2)
    raise TimeoutError(f"{url} did not answer within {_START_TIME_S} s: {log.read_text()[-6_000:]}")
