"""A PostgreSQL that has lost acknowledged records: nodes stop, and an operator puts them back."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.nodes.processes import Process, equal, leader, metalog, refused, until
from tests.forked_commands import METALOG
from tests.postgres import PostgresServer, new_database, text_of


@pytest.fixture
def url(primary: PostgresServer) -> Iterator[str]:
    with new_database(primary.url) as found:
        yield text_of(found)


@pytest.fixture
def nodes(tmp_path: Path, url: str) -> Iterator[list[Process]]:
    folder = tmp_path / "node-1"
    metalog("init", str(folder))
    metalog("nodes", "create", url, "--from", str(folder))
    found = [Process(tmp_path / f"node-{number}", url, number) for number in (1, 2, 3)]
    try:
        leader(*found)
        until(lambda: all(node.lines for node in found))
        yield found
    finally:
        for node in found:
            node.end(signal.SIGTERM)


def _create(nodes: list[Process], *names: str) -> None:
    first = leader(*nodes)
    assert first.leads_at is not None
    for name in names:
        metalog("namespaces", "create", name, "--server", first.leads_at)


def _names(nodes: list[Process]) -> set[str]:
    first = leader(*nodes)
    assert first.leads_at is not None
    listed = metalog("namespaces", "list", "--server", first.leads_at)
    return {each["name"] for each in listed["namespaces"]}


def _go_back(server: PostgresServer, backup: PostgresServer) -> None:
    """Run an older backup in the place of a server."""
    server.stop()
    server.data.rename(server.data.with_name("newer"))
    backup.data.rename(server.data)
    server.start()


def test_an_older_backup_of_the_store_is_found_out_and_what_it_lacks_is_put_back(
    nodes: list[Process], primary: PostgresServer, directory: Path, url: str
) -> None:
    _create(nodes, "a")
    backup = PostgresServer(directory, "backup")
    backup.copy_of(primary)
    _create(nodes, "b", "c")
    until(lambda: equal(*nodes))
    before = {path.name: path.read_bytes() for path in nodes[0].folder.glob("*.avro")}
    _go_back(primary, backup)
    until(lambda: all(node.has_ended for node in nodes))
    for node in nodes:
        assert "has records that the shared log lacks: offsets" in node.said()
        assert "2 batches of User:ANONYMOUS" in node.said()
    state = metalog("nodes", "list", url)
    assert [each["lost_from"] for each in state["nodes"]] == [state["log_end"]] * 3
    assert state["lost"]["from_offset"] == state["log_end"]
    assert "lacks: offsets" in refused(
        "serve", str(nodes[0].folder), "--shared", url, "--node", "1"
    )

    words = ("nodes", "repair", str(nodes[0].folder), "--shared", url)
    assert "only in" in _dry_run(*words)
    found = metalog(*words, "--put-back")
    assert [each["command"] for each in found["lost"]] == ["namespaces create"] * 2
    assert (found["done"], found["appended"], found["may_run"]) == ("put back", 0, True)
    for node in nodes:
        node.start()
    assert _names(nodes) == {"a", "b", "c"}
    _create(nodes, "d")
    until(lambda: equal(*nodes))
    for name, content in before.items():
        assert (nodes[1].folder / name).read_bytes().startswith(content)
    for node in nodes:
        node.end(signal.SIGTERM)
        assert metalog("verify", str(node.folder), "--shared", url)["damage"] == []
    assert metalog(*words)["lost"] == []


def _dry_run(*words: str) -> str:
    """Run a command that finds something; return what it prints."""
    done = subprocess.run([*METALOG, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_what_was_written_over_is_kept_in_a_copy_and_given_up(
    nodes: list[Process], primary: PostgresServer, directory: Path, tmp_path: Path, url: str
) -> None:
    """An asynchronous standby is promoted, and a node leads that never had the last records."""
    _create(nodes, "a")
    until(lambda: equal(*nodes))
    standby = PostgresServer(directory, "standby", durable=True)
    standby.copy_of(primary, standby="one")
    standby.start()
    standby.stop()
    behind = next(node for node in nodes if node is not leader(*nodes))
    ahead = [node for node in nodes if node is not behind]
    behind.end(signal.SIGTERM)
    _create(ahead, "b", "c")
    until(lambda: equal(*ahead))
    for node in ahead:
        node.end(signal.SIGKILL)
    primary.stop(signal.SIGQUIT)
    standby.start()
    standby.promote()
    standby.stop()
    _go_back(primary, standby)

    behind.start()
    _create([behind], "x")
    for node in ahead:
        node.start()
    until(lambda: all(node.has_ended for node in nodes))
    assert "which the shared log has lost: no node runs until" in behind.said()
    assert "which the shared log has lost" in refused(
        "serve", str(behind.folder), "--shared", url, "--node", str(behind.number)
    )
    for number, node in enumerate(ahead):
        words = ("nodes", "repair", str(node.folder), "--shared", url)
        assert "others in their place" in _dry_run(*words)
        assert "cannot be put back" in refused(*words, "--put-back")
        copy = tmp_path / f"given-up-{number}"
        found = metalog(*words, "--give-up", str(copy))
        # The other one's records are still to be given up.
        assert (found["done"], found["may_run"]) == ("given up", number == 1)
        listed = metalog("namespaces", "list", "--log", str(copy))
        assert {each["name"] for each in listed["namespaces"]} == {"a", "b", "c"}
        assert metalog("verify", str(node.folder), "--shared", url)["damage"] == []
    for node in nodes:
        node.start()
    assert _names(nodes) == {"a", "x"}
    _create(nodes, "d")
    until(lambda: equal(*nodes))


def test_the_furthest_folder_comes_first(
    nodes: list[Process], primary: PostgresServer, directory: Path, url: str
) -> None:
    _create(nodes, "a")
    until(lambda: equal(*nodes))
    backup = PostgresServer(directory, "backup")
    backup.copy_of(primary)
    _create(nodes, "b")
    until(lambda: equal(*nodes))
    less = next(node for node in nodes if node is not leader(*nodes))
    more = [node for node in nodes if node is not less]
    less.end(signal.SIGKILL)
    _create(more, "c")
    until(lambda: equal(*more))
    _go_back(primary, backup)
    until(lambda: all(node.has_ended for node in more))
    words = ("nodes", "repair", str(less.folder), "--shared", url, "--put-back")
    assert "put the records back from the folder of node" in refused(*words)
    metalog("nodes", "repair", str(more[0].folder), "--shared", url, "--put-back")
    for node in nodes:
        node.start()
    assert _names(nodes) == {"a", "b", "c"}
    until(lambda: equal(*nodes))


def test_a_log_that_went_on_by_itself_stops_nobody(
    nodes: list[Process], tmp_path: Path, url: str
) -> None:
    strange = tmp_path / "strange"
    leading = leader(*nodes)
    until(lambda: equal(*nodes))
    metalog("backup", str(leading.folder), str(strange))
    _create(nodes, "a")
    metalog("namespaces", "create", "b", "--log", str(strange))
    assert "is no copy of the shared log: the two differ from offset" in refused(
        "serve", str(strange), "--shared", url, "--node", "4"
    )
    assert not (strange / "node.json").exists()
    _create(nodes, "c")
    assert not any(node.has_ended for node in nodes)
