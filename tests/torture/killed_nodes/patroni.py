"""PostgreSQL servers under Patroni, each on a machine of its own with a member of etcd.

One is the primary, the others are its synchronous standbys, and `synchronous_mode_strict` lets no
commit succeed without one. etcd comes from Debian (benchmarks/install_peers.sh), Patroni from PyPI
(`make .venv/patroni/installed`).
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import URL

from tests.postgres import PASSWORD, USER, account, as_account, programs
from tests.torture.killed_nodes.network import Machine

_PATRONI = Path(__file__).parents[3] / ".venv" / "patroni"

_WAIT_S = 120.0

_POSTGRES, _ETCD, _PEERS, _REST = 5432, 2379, 2380, 8008

_TTL_S = 20
"""After this time without its primary, Patroni fails over: the least that it takes."""


class Member:
    """A server with its Patroni and its etcd.

    Attributes:
        cable: Of its machine.
    """

    def __init__(self, directory: Path, machine: Machine, machines: Sequence[Machine]) -> None:
        """Prepare the processes; `start` starts them."""
        (self.cable,) = machine.cables
        self._directory = directory
        self._name = machine.name
        self._within = (*machine.within, *as_account(account(directory)))
        self._data = directory / f"{machine.name}-data"
        self._config = directory / f"{machine.name}.json"
        hosts = {each.name: each.cables[0].address for each in machines}
        self._config.write_text(json.dumps(self._settings(hosts), indent=1))
        self._etcd_words = _etcd(directory, self._name, hosts)
        self._running: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        """Of its machine."""
        return self.cable.address

    def start(self) -> None:
        """Start etcd and Patroni, which starts PostgreSQL."""
        python = str(self._directory / "patroni" / "bin" / "python")
        patroni = (python, "-m", "patroni", str(self._config))
        self._running = [self._run("etcd", self._etcd_words), self._run("patroni", patroni)]

    def kill(self) -> None:
        """Kill everything on this machine."""
        for process in self._running:
            process.kill()
            process.wait()
        self.kill_postgres()

    def kill_postgres(self) -> None:
        """Kill PostgreSQL, whose other processes then end by themselves."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, IndexError):
            number = int((self._data / "postmaster.pid").read_text().split()[0])
            os.kill(number, signal.SIGKILL)

    def state(self) -> dict[str, Any]:
        """Return how this Patroni sees the members: role and state by name."""
        with urllib.request.urlopen(f"http://{self.address}:{_REST}/cluster", timeout=2) as answer:
            found = json.load(answer)
        return {each["name"]: (each["role"], each["state"]) for each in found["members"]}

    def _run(self, name: str, words: Sequence[str]) -> "subprocess.Popen[bytes]":
        with (self._directory / f"{self._name}-{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*self._within, *words],
                stdout=log,
                stderr=log,
                cwd=self._directory,
                env={**os.environ, "HOME": str(self._directory)},
            )

    def _settings(self, hosts: dict[str, str]) -> dict[str, Any]:
        address = hosts[self._name]
        login = {"username": USER, "password": PASSWORD}
        return {
            "scope": "metalog",
            "name": self._name,
            "restapi": _at(address, _REST),
            "etcd3": {"hosts": [f"{host}:{_ETCD}" for host in hosts.values()]},
            "bootstrap": {
                "dcs": {
                    "ttl": _TTL_S,
                    "loop_wait": 1,
                    "retry_timeout": 3,
                    "primary_start_timeout": 0,
                    "synchronous_mode": True,
                    "synchronous_mode_strict": True,
                    "synchronous_node_count": len(hosts) - 1,
                    "postgresql": {"use_pg_rewind": True, "use_slots": True},
                },
                "initdb": [{"encoding": "UTF8"}, "no-locale", "data-checksums"],
            },
            "postgresql": {
                **_at(address, _POSTGRES),
                "data_dir": str(self._data),
                "bin_dir": str(programs(self._directory)),
                "pgpass": str(self._directory / f"{self._name}.pgpass"),
                "authentication": {"superuser": login, "replication": login, "rewind": login},
                "parameters": {"shared_buffers": "32MB", "unix_socket_directories": ""},
                "pg_hba": [f"host {what} all all scram-sha-256" for what in ("all", "replication")],
            },
        }


class Servers:
    """All members.

    Attributes:
        url: Of the administrative database on whichever of them is the primary.
    """

    def __init__(self, directory: Path, machines: Sequence[Machine]) -> None:
        """Prepare new servers."""
        # Another account must read it.
        shutil.copytree(_PATRONI, directory / "patroni", symlinks=True)
        self.members = [Member(directory, machine, machines) for machine in machines]
        self._names = [machine.name for machine in machines]
        places = {
            "host": ",".join(member.address for member in self.members),
            "port": str(_POSTGRES),
            "target_session_attrs": "read-write",
        }
        self.url = URL.create("postgresql", USER, PASSWORD, database="postgres", query=places)

    def start(self) -> None:
        """Start all, and wait until there is a primary with its standbys."""
        for member in self.members:
            member.start()
        self.wait_until_whole()

    def primary(self, *, other_than: Member | None = None) -> Member:
        """Wait until a member is the primary that is not a certain one; return it."""
        asked = [member for member in self.members if member is not other_than]
        found: Member = _until(
            lambda: next((each for each in asked if self._is_primary(each)), None)
        )
        return found

    def wait_until_whole(self) -> None:
        """Wait until there is a primary, and all others are its synchronous standbys."""
        _until(self._is_whole)

    def kill(self) -> None:
        """End all processes."""
        for member in self.members:
            member.kill()

    def _is_primary(self, member: Member) -> bool:
        with contextlib.suppress(OSError):
            name = self._names[self.members.index(member)]
            return member.state().get(name) == ("leader", "running")
        return False

    def _is_whole(self) -> bool:
        wanted = [("leader", "running"), *[("sync_standby", "streaming")] * (len(self.members) - 1)]
        with contextlib.suppress(OSError):
            return all(sorted(member.state().values()) == wanted for member in self.members)
        return False


def _at(address: str, port: int) -> dict[str, str]:
    return {"listen": f"{address}:{port}", "connect_address": f"{address}:{port}"}


def _etcd(directory: Path, name: str, hosts: dict[str, str]) -> tuple[str, ...]:
    clients, peers = f"http://{hosts[name]}:{_ETCD}", f"http://{hosts[name]}:{_PEERS}"
    members = ",".join(f"{each}=http://{host}:{_PEERS}" for each, host in hosts.items())
    return (
        "etcd",
        *("--name", name, "--data-dir", str(directory / f"{name}-etcd")),
        *("--listen-client-urls", clients, "--advertise-client-urls", clients),
        *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
        *("--initial-cluster", members, "--logger", "zap", "--log-level", "error"),
    )


def _until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + _WAIT_S
    while not (found := condition()):
        assert time.monotonic() < end, "Patroni's servers are not whole in time"
        time.sleep(0.1)
    return found
