"""Nodes over a PostgreSQL with a real synchronous standby: what its settings promise, fail-over."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.api.nodes.processes import (
    Process,
    equal,
    leader,
    metalog,
    refused,
    two_nodes,
    until,
)
from tests.postgres import PostgresServer, new_database, text_of

ONE = "FIRST 1 (one)"


@pytest.fixture
def url(primary: PostgresServer) -> Iterator[str]:
    with new_database(primary.url) as found:
        yield text_of(found)
        _wait_for(primary, "")


@pytest.fixture
def standby(directory: Path, primary: PostgresServer, url: str) -> Iterator[PostgresServer]:
    """A standby that each commit of the primary waits for."""
    server = _standby_of(primary, PostgresServer(directory, "standby", durable=True))
    _wait_for(primary, ONE)
    try:
        yield server
    finally:
        server.stop()


def _standby_of(primary: PostgresServer, server: PostgresServer) -> PostgresServer:
    server.copy_of(primary, standby="one")
    server.start()
    until(lambda: _ask(primary, "SELECT count(*) FROM pg_stat_replication") == 1)
    return server


def _ask(server: PostgresServer, statement: str) -> object:
    with psycopg.connect(text_of(server.url), autocommit=True) as connection:
        connection.execute("SET synchronous_commit = local")
        found = connection.execute(statement.encode())
        return None if found.description is None else (found.fetchone() or [None])[0]


def _wait_for(server: PostgresServer, names: str) -> None:
    """Let commits wait for the standbys of these names."""
    _ask(server, f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    _ask(server, "SELECT pg_reload_conf()")
    until(lambda: _ask(server, "SHOW synchronous_standby_names") == names)


def _create(name: str, *nodes: Process) -> None:
    """Ask whichever node leads, also one that takes over meanwhile."""
    leader(*nodes)
    server = ",".join(node.listens_at or "" for node in nodes)
    metalog("namespaces", "create", name, "--server", server)


def _names(node: Process) -> set[str]:
    listed = metalog("namespaces", "list", "--log", str(node.folder))
    return {each["name"] for each in listed["namespaces"]}


def test_a_leader_stops_when_its_commits_wait_for_no_standby_any_more(
    tmp_path: Path, primary: PostgresServer, standby: PostgresServer, url: str
) -> None:
    with two_nodes(tmp_path, url) as nodes:
        _create("a", *nodes)
        first = leader(*nodes)
        _wait_for(primary, "")
        assert first.leads_at is not None
        why = json.loads(refused("namespaces", "create", "b", "--server", first.leads_at, "--json"))
        assert "synchronous_standby_names is empty now" in why["message"]
        assert why["outcome"] == "unknown"
        until(lambda: first.stands_by)
        _wait_for(primary, ONE)
        _create("c", *nodes)
        until(lambda: equal(*nodes))
        assert {"a", "c"} <= _names(nodes[0])


def test_a_fail_over_to_the_synchronous_standby_loses_nothing(
    tmp_path: Path, directory: Path, primary: PostgresServer, standby: PostgresServer, url: str
) -> None:
    with two_nodes(tmp_path, url) as nodes:
        names = {f"n{number}" for number in range(5)}
        for name in sorted(names):
            _create(name, *nodes)
        primary.stop(signal.SIGQUIT)
        standby.promote()
        standby.stop()
        # It gets the address of the primary, and a standby of its own.
        primary.data.rename(directory / "before")
        standby.data.rename(primary.data)
        primary.start()
        next_standby = _standby_of(primary, PostgresServer(directory, "next", durable=True))
        # Until its commits wait for that one, nobody leads.
        _wait_for(primary, ONE)
        try:
            _create("after", *nodes)
            until(lambda: equal(*nodes))
            assert _names(nodes[0]) == {*names, "after"}
            assert not any(node.has_ended for node in nodes)
        finally:
            _wait_for(primary, "")
            next_standby.stop()
