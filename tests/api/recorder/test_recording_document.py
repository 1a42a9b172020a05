"""docs/recording.md from a Strimzi cluster to an alert: each command runs against a stand-in."""

import json
import os
import re
import shlex
import shutil
import signal
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
import yaml
from typer.main import get_command

from api.cli.app import complete_app
from api.cli.main import load_commands
from tests.api.alerts.running import wait_until
from tests.api.quorum.conftest import made, partition
from tests.api.quorum.quorums import batch_end
from tests.certificates import Authority
from tests.docs_console import ROOT, commands, run_in_shell
from tests.forked_commands import METALOG
from tests.stand_in_quorum import Quorum

__all__ = ["made", "partition"]

PAGE = (ROOT / "docs" / "recording.md").read_text()
WALK = PAGE.partition("## From a Strimzi cluster to an alert")[2].partition("\n## ")[0]
_BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HOST = "my-cluster-controller-{}.my-cluster-kafka-brokers.kafka.svc:9090"
_RUNNING = ("metalog record record.toml\n", "metalog view my-cluster\n")

# It answers what the document asks, and keeps what is applied.
_KUBECTL = """#!/bin/sh
case "$*" in
"-n kafka get secret my-cluster-cluster-ca-cert -o jsonpath={{.data.ca\\.crt}}") base64 {ca} ;;
"-n kafka get secret my-cluster-cluster-ca -o jsonpath={{.data.ca\\.key}}") base64 {key} ;;
"-n kafka get kafka my-cluster -o jsonpath={{.status.clusterId}}") printf {cluster_id} ;;
"-n kafka get networkpolicy my-cluster-network-policy-kafka") ;;
"apply -f -") echo --- >> applied.yaml && cat >> applied.yaml ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
"""


class Walk:
    """The document's commands, in a directory.

    Attributes:
        replaced: The stand-in's addresses by those of the document.
    """

    def __init__(self, directory: Path, quorum: Quorum) -> None:
        self.directory = directory
        self.replaced = {_HOST.format(node): quorum.address(node) for node in (1, 2, 3)}
        self.replaced["127.0.0.1:9464"] = "127.0.0.1:0"

    def run(self, command: str) -> str:
        """Run a command of the document; return what it prints, with the document's addresses."""
        printed = self.directory / "printed"
        with printed.open("w+b") as output:
            run_in_shell(self._with_addresses(command), self.directory, output.fileno())
        text = printed.read_text()
        for name, address in self.replaced.items():
            text = text.replace(address, name)
        return text

    @contextmanager
    def running(self, command: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
        """Start a command that runs until it is stopped; yield it, and its first line."""
        process = subprocess.Popen(
            [*METALOG, *shlex.split(command)[1:]],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.directory,
        )
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.communicate()

    def _with_addresses(self, command: str) -> str:
        for name, address in self.replaced.items():
            command = command.replace(name, address)
        return command


def _tls(authority: Authority) -> ssl.SSLContext:
    files = authority.issue("controller")
    assert files.certificate is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.path))
    context.load_cert_chain(files.certificate, files.key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def _fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def _next(stream: IO[str] | None) -> Any:
    assert stream is not None
    return json.loads(stream.readline())


def test_each_command_from_a_cluster_to_an_alert_runs(
    partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, bin_ = tmp_path / "walk", tmp_path / "bin"
    directory.mkdir()
    bin_.mkdir()
    authority = Authority(tmp_path)
    key = tmp_path / "ca.key"
    key.write_bytes(authority.private_key)
    start = batch_end(partition, 20)
    with Quorum(
        partition,
        nodes=3,
        cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
        end_offset=start,
        tls=_tls(authority),
        allowed=frozenset({"CN=metalog"}),
    ) as quorum:
        kubectl = bin_ / "kubectl"
        kubectl.write_text(
            _KUBECTL.format(ca=authority.path, key=key, cluster_id=quorum.cluster_id)
        )
        kubectl.chmod(0o755)
        # run_in_shell puts the directory of `metalog` before it, which has no kubectl.
        monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
        walk = Walk(directory, quorum)
        blocks = list(_BLOCK.findall(WALK))
        last = max(n for n, (_, text) in enumerate(blocks) if text in _RUNNING)
        for kind, text in blocks[: last + 1]:
            if text in _RUNNING:
                continue
            if kind == "sh":
                walk.run(f"set -e\n{text}echo done > finished")
                assert (directory / "finished").exists(), (
                    text,
                    (directory / "printed").read_text(),
                )
                (directory / "finished").unlink()
                continue
            shown = "".join(f"$ {each}\n{walk.run(each)}" for each in commands(text))
            assert shown == text
        with (
            walk.running(_RUNNING[0]) as (recorder, ready),
            walk.running(_wait_for(directory / "my-cluster", _RUNNING[1])) as (_, viewing),
        ):
            (page,) = re.findall(r"http://\S+(?=,)", viewing)
            assert "<html" in _fetched(page)
            wait_until((directory / "my-cluster.alerts.json").exists)
            quorum.reveal(batch_end(partition, 21))
            firing = _next(recorder.stdout)
            (walk.replaced["127.0.0.1:9464"],) = re.findall(r"http://([^/]+)/", ready)
            alerts = directory / "alerts.jsonl"
            wait_until(lambda: alerts.exists() and alerts.read_text().endswith("\n"))
            seen = walk.run(blocks[-1][1])
            assert json.loads(seen.splitlines()[0]) == firing
            assert 'alerts_firing{mirror="my-cluster",check="no-broker-is-fenced"} 1.0' in seen
            quorum.reveal(batch_end(partition, 22))
            resolved = _next(recorder.stdout)
            wait_until(lambda: alerts.read_text().count("\n") == 2)
    assert (firing["status"], resolved["status"]) == ("firing", "resolved")
    assert firing["objects"][0].startswith("broker:")
    told = [json.loads(line) for line in walk.run("tail alerts.jsonl").splitlines()]
    assert told == [firing, resolved]
    user, policy = yaml.safe_load_all((directory / "applied.yaml").read_text())
    assert user["spec"]["authorization"]["acls"][0]["operations"] == ["ClusterAction"]
    assert policy["spec"]["ingress"][0]["ports"] == [{"port": 9090}]
    assert not (directory / "ca.key").exists()


def _wait_for(mirror: Path, command: str) -> str:
    """Return a command, once the mirror is there that it shows."""
    wait_until((mirror / "metalog.json").exists)
    return command


def _block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def _check_parsed(words: list[str]) -> None:
    """Check that a command line of `metalog record` is one, without running it."""
    program, name, *arguments = words
    assert (Path(program).name, name) == ("metalog", "record")
    load_commands(["record"])
    command: Any = get_command(complete_app()).commands["record"]  # type: ignore[attr-defined]
    found = command.make_context("record", arguments).params
    assert str(found["file"]) == "/etc/metalog/record.toml"


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = _block("ini")
    (start,) = re.findall("^ExecStart=(.*)$", unit, re.MULTILINE)
    words = shlex.split(start)
    _check_parsed(words)
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    path = tmp_path / "metalog-record.service"
    path.write_text(unit.replace(words[0], "/bin/true"))
    verified = subprocess.run(
        ["systemd-analyze", "verify", path], capture_output=True, text=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_compose_file_runs_what_there_is() -> None:
    compose = yaml.safe_load(_block("yaml"))
    service = compose["services"]["record"]
    _check_parsed([*service["entrypoint"], *service["command"]])
    assert {each.split(":")[0] for each in service["volumes"]} == {"./metalog", *compose["volumes"]}


def test_the_table_of_metrics_has_each() -> None:
    from api.recorder.metrics import METRICS

    table = PAGE.partition("## Metrics")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", table)) >= {metric.name for metric in METRICS}


def test_the_table_of_the_file_has_each_key() -> None:
    from api.recorder.settings import KEYS

    table = PAGE.partition("## The file")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w-]+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    assert set(named) == {"metrics", *KEYS}
