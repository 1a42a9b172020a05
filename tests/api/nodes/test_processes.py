"""Nodes as processes, over a real PostgreSQL: killed, stopped, asked from outside."""

import asyncio
import contextlib
import itertools
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.clients.client import MetadataClient
from api.kafka.connection import REQUEST_TIMEOUT_S
from controller.decisions.topics.topics import CreateTopics, NewTopic
from tests.api.nodes.processes import (
    WAIT_S,
    Process,
    equal,
    leader,
    metalog,
    two_nodes,
    until,
)
from tests.forked_commands import METALOG
from tests.ports import free_ports
from tests.postgres import PASSWORD


@pytest.fixture
def nodes(tmp_path: Path, url: str) -> Iterator[list[Process]]:
    """Three nodes; the first one's folder is the log that the shared one was made from."""
    first = tmp_path / "node-1"
    metalog("init", str(first))
    metalog("namespaces", "create", "before", "--log", str(first))
    made = metalog("nodes", "create", url, "--from", str(first))
    assert made["log_end"] > 0
    assert "not:to@be/seen" not in made["shared"]
    found = [Process(tmp_path / f"node-{number}", url, number) for number in (1, 2, 3)]
    try:
        yield found
    finally:
        for node in found:
            with contextlib.suppress(ProcessLookupError):
                node.signal(signal.SIGCONT)
            node.end(signal.SIGTERM)


def _create(node: Process, name: str) -> None:
    assert node.leads_at is not None
    metalog("namespaces", "create", name, "--server", node.leads_at)


def test_a_leader_is_killed_and_another_takes_over(nodes: list[Process], url: str) -> None:
    first = leader(*nodes)
    _create(first, "a")
    until(lambda: equal(*nodes))
    until(lambda: _roles(url) == _expected_roles(nodes, first))
    state = metalog("nodes", "list", url)
    for node, each in zip(nodes, state["nodes"], strict=True):
        assert each["addresses"] == {"kafka": f"node-{node.number}:9092"}
        assert each["version"] == version("metadata-log")
        behind = state["log_end"] - each["log_end"]
        assert each["behind"] == (0 if node is first else behind)
        assert each["seen_ms"] < WAIT_S * 1_000
        assert abs(each["clock_off_ms"]) < 1_000
    first.end(signal.SIGKILL)
    others = [node for node in nodes if node is not first]
    second = leader(*others)
    _create(second, "b")
    first.start()
    until(lambda: first.stands_by)
    _create(second, "c")
    until(lambda: equal(*nodes))
    assert second.leads_at is not None
    listed = metalog("namespaces", "list", "--server", second.leads_at)
    assert {each["name"] for each in listed["namespaces"]} == {"before", "a", "b", "c"}


def test_a_leader_that_was_suspended_stands_by_when_it_wakes(nodes: list[Process]) -> None:
    first = leader(*nodes)
    _create(first, "a")
    first.signal(signal.SIGSTOP)
    second = leader(*(node for node in nodes if node is not first))
    _create(second, "b")
    first.signal(signal.SIGCONT)
    until(lambda: first.stands_by)
    assert "no longer leads" in first.said() or "stands by" in first.said()
    _create(second, "c")
    until(lambda: equal(*nodes))


def test_sigterm_hands_over(nodes: list[Process], url: str) -> None:
    first = leader(*nodes)
    until(lambda: all(node.lines for node in nodes))
    began = time.monotonic()
    first.end(signal.SIGTERM)
    second = leader(*(node for node in nodes if node is not first))
    assert time.monotonic() - began < WAIT_S
    _create(second, "a")
    roles = _roles(url)
    assert (roles[first.number], roles[second.number]) == ("stopped", "leader")
    until(lambda: equal(*(node for node in nodes if node is not first)))
    for node in nodes:
        verified = metalog("verify", str(node.folder), "--shared", url)
        (note,) = verified["notes"]
        assert "equal to the shared log from offset 0" in note["what"]


def test_nodes_are_listed_from_a_folder(
    nodes: list[Process], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It notes where the shared log is, without the password."""
    first = leader(*nodes)
    until(lambda: _roles(url) == _expected_roles(nodes, first))
    assert "be/seen" not in (first.folder / "node.json").read_text()
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    found = metalog("nodes", "list", str(first.folder))
    assert found["cluster_id"] == metalog("nodes", "list", url)["cluster_id"]
    assert (found["kept_from"], found["archived_end"], found["held_by"]) == (0, None, None)
    assert found["kept_bytes"] > 0
    told = subprocess.run(
        [*METALOG, "nodes", "list", str(first.folder)], capture_output=True, text=True, check=True
    ).stdout
    assert "from offset 0 on: no node archives the log" in told
    alone = tmp_path / "alone"
    metalog("init", str(alone))
    shared_by_none = metalog("nodes", "list", str(alone))
    assert (shared_by_none["log_id"], shared_by_none["nodes"]) == (None, [])
    _says_no("nodes", "lead", str(alone), "1", says="is not the folder of a node")
    _says_no("nodes", "list", str(tmp_path / "none"), says="LOG_NOT_FOUND")


def _roles(url: str) -> dict[int, str]:
    return {each["node"]: each["role"] for each in metalog("nodes", "list", url)["nodes"]}


def _expected_roles(nodes: list[Process], leading: Process) -> dict[int, str]:
    return {node.number: "leader" if node is leading else "standby" for node in nodes}


def test_an_operator_chooses_the_leader(nodes: list[Process], url: str) -> None:
    first = leader(*nodes)
    until(lambda: _roles(url) == _expected_roles(nodes, first))
    _create(first, "a")
    chosen, last = [node for node in nodes if node is not first]
    answer = metalog("nodes", "lead", url, str(chosen.number))
    assert [each["node"] for each in answer["nodes"] if each["role"] == "leader"] == [chosen.number]
    assert leader(*nodes) is chosen
    until(lambda: first.stands_by)
    assert f"no longer leads: an operator lets node {chosen.number} lead" in first.said()
    _create(chosen, "b")
    metalog("nodes", "lead", url, str(chosen.number))  # it does
    assert _roles(url) == _expected_roles(nodes, chosen)

    _says_no("nodes", "lead", url, "7", says="node 7 cannot lead: there is no such node")
    _says_no("nodes", "remove", url, str(last.number), says=f"node {last.number} runs; stop it")
    last.end(signal.SIGTERM)
    _says_no("nodes", "lead", url, str(last.number), says="cannot lead: it is stopped")
    metalog("nodes", "remove", url, str(last.number))
    assert last.number not in _roles(url)
    last.start()
    until(lambda: _roles(url) == _expected_roles(nodes, chosen))
    until(lambda: equal(*nodes))


def _says_no(*words: str, says: str) -> None:
    done = subprocess.run(
        [*METALOG, *words], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode != 0
    assert says in done.stderr


def _format_version(folder: Path) -> int:
    found: int = json.loads((folder / "metalog.json").read_text())["format_version"]
    return found


def test_a_nodes_folder_takes_no_other_writer(nodes: list[Process], tmp_path: Path) -> None:
    first = leader(*nodes)
    for node in nodes:
        node.end(signal.SIGTERM)
    for words in (
        ("serve", str(first.folder), "--kafka", "127.0.0.1:0"),
        ("namespaces", "create", "x", "--log", str(first.folder)),
        ("serve", str(first.folder), "--shared", nodes[0]._url, "--node", "9"),
    ):
        done = subprocess.run(
            [*METALOG, *words], capture_output=True, text=True, timeout=WAIT_S, check=False
        )
        assert done.returncode != 0
        assert re.search(rf"is the folder of node {first.number}\b", done.stderr), done.stderr
    assert metalog("info", str(first.folder))["log_end"] > 0
    # Releases that know no nodes refuse the folder by this number, and take a log made of it.
    assert _format_version(first.folder) == 2
    metalog("fork", str(first.folder), str(tmp_path / "forked"), "--at", "end")
    assert _format_version(tmp_path / "forked") == 1


def test_what_is_wrong_is_said(tmp_path: Path, url: str) -> None:
    folder = tmp_path / "log"
    metalog("init", str(folder))
    for words, what in (
        (("serve", str(folder), "--shared", url, "--node", "1"), "SHARED_LOG_NOT_FOUND"),
        (("serve", str(folder), "--shared", "mysql://x", "--node", "1"), "PostgreSQL or in a"),
        (("serve", str(folder), "--shared", url), "--shared and --node go together"),
        (("nodes", "list", url), "SHARED_LOG_NOT_FOUND"),
        (("nodes", "create", url, "--from", str(tmp_path / "none")), "LOG_NOT_FOUND"),
        (("serve", str(folder), "--shared", url, "--node", "1", "--advertise", "x=1"), "no listen"),
    ):
        done = subprocess.run(
            [*METALOG, *words], capture_output=True, text=True, timeout=WAIT_S, check=False
        )
        assert done.returncode != 0
        assert what in done.stderr, done.stderr
        assert "not:to@be/seen" not in done.stderr
    metalog("nodes", "create", url, "--from", str(folder))
    again = subprocess.run(
        [*METALOG, "nodes", "create", url, "--from", str(folder)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert "LOG_EXISTS" in again.stderr


async def _is_created_at(broker: str, name: str) -> bool:
    """Create a topic with Kafka's own request, which a broker forwards."""
    new = NewTopic(name=name, partitions=1, replication_factor=1)
    async with await MetadataClient.connect(broker) as client:
        (created,) = await client.create_topics(CreateTopics(topics=(new,)))
    return created.refusal is None


def test_a_broker_and_clients_follow_the_leader(tmp_path: Path, url: str) -> None:
    """They know all nodes by one URL: the broker keeps its registration and serves on."""
    folder = tmp_path / "node-1"
    metalog("init", str(folder))
    metalog("nodes", "create", url, "--from", str(folder))
    ports = free_ports(2)
    nodes = [
        Process(tmp_path / f"node-{number}", url, number, kafka=port)
        for number, port in enumerate(ports, 1)
    ]
    first = leader(*nodes)
    # The one that stands by is asked first.
    standby_first = sorted(ports, key=lambda port: first.leads_at == f"127.0.0.1:{port}")
    server = "kafka://" + ",".join(f"127.0.0.1:{port}" for port in standby_first)
    broker = subprocess.Popen(
        [
            *(*METALOG, "broker", "--server", server, "--id", "1"),
            *("--log-dir", str(tmp_path / "broker"), "--heartbeat-ms", "300", "--json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert broker.stdout is not None
        registered = json.loads(broker.stdout.readline())
        metalog("topics", "create", "orders", "--partitions", "2", "--server", server)
        first = leader(*nodes)  # on a busy machine another one may have taken over
        first.end(signal.SIGKILL)
        (second,) = [node for node in nodes if node is not first]
        leader(second)
        metalog("topics", "create", "payments", "--partitions", "2", "--server", server)

        def led() -> bool:
            found = metalog("partitions", "list", "--server", server)["partitions"]
            return [each["leader"] for each in found] == [1, 1, 1, 1]

        until(led)
        (listed,) = metalog("brokers", "list", "--server", server)["brokers"]
        assert listed["state"] == "active"
        described = metalog("brokers", "describe", "1", "--server", server)
        assert described["broker"]["broker_epoch"] == registered["broker_epoch"]
        # What the broker forwards reaches the new leader.
        assert asyncio.run(_is_created_at(f"kafka://{registered['listen']}", "forwarded"))
        names = {t["name"] for t in metalog("topics", "list", "--server", server)["topics"]}
        assert names == {"orders", "payments", "forwarded"}
        first.start()
        until(lambda: first.stands_by)
        _check_that_a_suspended_leader_is_left(second, f"kafka://{registered['listen']}")
    finally:
        broker.terminate()
        _, said = broker.communicate(timeout=WAIT_S)
        for node in nodes:
            node.end(signal.SIGTERM)
    # Each reason once while the service is away, however often it tries.
    assert "the service is back" in said
    for while_away in said.split("the service is back"):
        lines = [line for line in while_away.splitlines() if "is away" in line]
        assert len(lines) == len(set(lines))


def _check_that_a_suspended_leader_is_left(leading: Process, broker: str) -> None:
    """A suspended leader ends no connection: the broker goes by its silence, well before a request
    to it runs out of time.
    """
    leading.signal(signal.SIGSTOP)
    end, attempts = time.monotonic() + REQUEST_TIMEOUT_S, itertools.count()
    try:
        # A request waits for 10 s, which a busy machine may need to take over.
        while not asyncio.run(_is_created_at(broker, f"while-it-sleeps-{next(attempts)}")):
            assert time.monotonic() < end
        assert time.monotonic() < end
    finally:
        leading.signal(signal.SIGCONT)


_NOTE = '{"type": "NoteRecord", "data": {"at_offset": 0, "author": "ada", "text": "x"}}\n'


def _listed(at: str) -> list[str]:
    return [each["name"] for each in metalog("namespaces", "list", "--server", at)["namespaces"]]


def test_every_node_answers_and_one_changes(tmp_path: Path, url: str) -> None:
    """A standby answers questions by every listener, and says where changes go."""
    ports = free_ports(2)
    more = [
        (
            *("--http", f"127.0.0.1:{port}", "--socket", "127.0.0.1:0"),
            *("--advertise", f"http=127.0.0.1:{port}"),
        )
        for port in ports
    ]
    records = tmp_path / "records.jsonl"
    records.write_text(_NOTE)
    with two_nodes(tmp_path, url, *more) as (first, standby):
        _create(first, "a")
        there = standby.listens_at
        assert there is not None
        for at in (there, f"socket://{standby.lines[-1]['socket']}"):
            until(lambda at=at: _listed(at) == ["a"])
            for words in (("namespaces", "create", "b"), ("append", str(records))):
                error = _refused(*words, "--server", at)
                assert error["outcome"] == "nothing"
                leads = f"node {first.number} leads, kafka node-{first.number}:9092"
                assert leads in error["message"]
        # Past states come from the standby's folder.
        assert metalog("image", "--at", "0", "--server", there)["as_of"] == 0
        _over_http(standby, first, ports[first.number - 1])
        # Whichever node is named first, a change goes to the leader.
        for each, name in ((there, "c"), (first.leads_at, "d")):
            others = [node.listens_at for node in (first, standby) if node.listens_at != each]
            addresses = ",".join(filter(None, [each, *others]))
            metalog("namespaces", "create", name, "--server", addresses)
        until(lambda: _listed(there) == ["a", "b", "c", "d"])


def _refused(*words: str) -> Any:
    """Run a command that another node would carry out; return its error."""
    done = subprocess.run(
        [*METALOG, *words, "--json"], capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 4, done.stderr
    return json.loads(done.stderr.splitlines()[-1])


def _over_http(standby: Process, leads: Process, port: int) -> None:
    """Ask a standby over HTTP, and create b by way of it."""
    web = f"http://{standby.lines[-1]['http']}"
    with httpx.Client(timeout=WAIT_S) as client:
        assert client.get(f"{web}/v1/namespaces/list").json()["namespaces"][0]["name"] == "a"
        assert client.get(f"{web}/health").status_code == 200
        ready = client.get(f"{web}/ready")
        assert ready.status_code == 503
        assert f"node {leads.number} leads" in ready.json()["detail"]
        metrics = client.get(f"{web}/metrics").text.splitlines()
        assert {"metalog_active 0.0", f"metalog_leader_id {leads.number}.0"} <= set(metrics)
        assert "metalog_lease_left_seconds 0.0" in metrics
        for path in ("/", "/v1/report/columns"):
            assert client.get(f"{web}{path}", follow_redirects=True).status_code == 200, path
        moved = client.post(f"{web}/v1/namespaces/create", json={"name": "b"})
        assert moved.status_code == 307
        assert moved.headers["location"] == f"http://127.0.0.1:{port}/v1/namespaces/create"
        document = client.get(f"{web}/openapi.json").json()
        assert "307" in document["paths"]["/v1/namespaces/create"]["post"]["responses"]
        done = client.post(f"{web}/v1/namespaces/create", json={"name": "b"}, follow_redirects=True)
        assert done.status_code == 200, done.text


def test_a_stream_of_events_goes_on_when_its_node_takes_over(tmp_path: Path, url: str) -> None:
    more = ("--http", "127.0.0.1:0")
    with two_nodes(tmp_path, url, more, more) as (first, standby):
        events = f"http://{standby.lines[-1]['http']}/v1/events?types=NamespaceRecord&from=0"
        with httpx.stream("GET", events, timeout=WAIT_S) as stream:
            lines = (line for line in stream.iter_lines() if line.startswith("data:"))
            _create(first, "a")
            assert '"a"' in next(lines)
            first.end(signal.SIGKILL)
            leader(standby)
            _create(standby, "b")
            assert '"b"' in next(lines)


def test_a_node_whose_address_is_taken_ends_with_it(tmp_path: Path, url: str) -> None:
    with two_nodes(tmp_path, url) as (first, _):
        done = subprocess.run(
            [
                *(*METALOG, "serve", str(tmp_path / "node-3"), "--shared", url, "--node", "3"),
                *("--kafka", first.leads_at or ""),
            ],
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 4
        assert "in use" in done.stderr


def test_nodes_share_a_log_in_a_bucket(tmp_path: Path, s3_place: str) -> None:
    with two_nodes(tmp_path, s3_place) as (first, second):
        _create(first, "a")
        until(lambda: equal(first, second))
        first.end(signal.SIGKILL)
        leader(second)
        _create(second, "b")
        first.start()
        until(lambda: first.stands_by)
        until(lambda: equal(first, second))
        assert _roles(s3_place)[second.number] == "leader"
