"""Tables on a terminal: names and times are never cut."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.cli.main import run
from api.cli.terminal.output import partition_time_text, time_text, unit_of
from api.nodes.membership import MemberContent
from metadata_log.files.fs import OsFs
from metadata_log.format.manifest import read_manifest
from metadata_log.shared.identity import Identity
from replay.snapshot.database import open_database
from replay.snapshot.schema import SHARED_LOG, upgrade
from tests.api.conftest import Metalog
from tests.api.terminal import on_terminal
from tests.postgres import new_database, text_of

ROOT = Path(__file__).parents[2]
NAMESPACE = "organisation:department-of-logistics"
TOPIC = f"{NAMESPACE}:orders.received.from.all.of.the.regional.warehouses.v1"
OTHER = "returns.received.from.all.of.the.regional.warehouses.and.shops.v2"
USER = "operator.of.the.night.shift@logistics.example.com"

_TIMES = frozenset({"timestamp", "created_at", "due"})

# Each command with the module that prints its table, and the fields of its JSON that it shows.
TABLES = {
    ("image", "{log}"): ("source/image_view", ()),
    ("blame", "{log}", f"partition:{TOPIC}/0"): (
        "past/changes",
        ("timestamp", "type", "principal"),
    ),
    ("blame", "{log}", "broker:1"): ("past/changes", ("timestamp", "type", "principal")),
    ("du", "{log}", "--by", "topic"): ("log/usage", ("name",)),
    ("compare", "{log}", "{log}"): ("kafka/comparison", ("name",)),
    ("du", "{log}", "--by", "type", "--top", "99"): ("log/usage", ("name",)),
    ("outages", "{log}", "--verbose"): ("past/outages", ("object", "kind")),
    ("timeline", "{log}", "--stat"): ("past/timeline", ()),
    ("what-if", "{log}", "--at", "start", "--without", f"config:topic/{TOPIC}", "--verbose"): (
        "past/what_if_differences",
        ("object", "field"),
    ),
    ("topics", "lives", TOPIC, "--log", "{log}"): (
        "admin/topic_lives",
        ("topic_id", "timestamp", "principal"),
    ),
    ("snapshot", "list", "{log}"): ("database/snapshots", ("timestamp", "created_at", "digest")),
    ("audit", "list"): ("audit/answers", ("name", "description")),
    ("topics", "list", "--log", "{log}"): ("admin/topics", ("name", "topic_id")),
    ("topics", "describe", "--log", "{log}"): ("admin/topics", ("name", "topic_id", "mode")),
    ("namespaces", "list", "--log", "{log}"): ("admin/namespaces", ("name", "namespace_id")),
    ("configs", "describe", f"topic/{TOPIC}", "--all", "--log", "{log}"): (
        "admin/configs",
        ("name", "value", "source"),
    ),
    ("brokers", "list", "--log", "{log}"): ("admin/brokers", ("state", "listeners", "rack")),
    ("partitions", "list", "--log", "{log}"): ("admin/partitions", ("topic", "mode")),
    ("partitions", "list", "--removing", "--log", "{log}"): ("admin/partitions", ("topic", "due")),
    ("reassignments", "list", "--log", "{log}"): ("admin/reassignments", ("topic",)),
    ("features", "describe", "--log", "{log}"): ("admin/features", ("feature",)),
    ("notes", "list", "--log", "{log}"): ("admin/notes", ("at_offset", "author", "text")),
    ("subscriptions", "list", "--log", "{log}"): ("admin/subscriptions", ("group", "pattern")),
    ("acls", "list", "--log", "{log}"): ("admin/acls", ("acl", "principal", "resource_name")),
    ("users", "list", "--log", "{log}"): ("admin/users", ("user", "mechanism")),
    ("quotas", "describe", "--log", "{log}"): ("admin/quotas", ("user", "client-id")),
    ("quotas", "explain", "--user", USER, "--client-id", "etl", "--log", "{log}"): (
        "admin/quotas",
        ("quota", "user"),
    ),
    ("tokens", "describe", "--log", "{log}"): ("admin/tokens", ("owner", "renewers")),
    ("nodes", "list", "{store}"): ("service/nodes", ("role", "kafka", "http")),
    ("nodes", "repair", "{log}", "--shared", "{store}"): ("service/nodes_repair", ("principal",)),
}
ROWS = {
    ("dump", "{log}"): ("type", "timestamp", "principal"),
    ("history", "{log}", f"topic:{TOPIC}"): ("type", "timestamp", "principal"),
    ("partitions", "states", "--log", "{log}"): ("topic", "timestamp"),
}
"""Commands that print a line a row: those are never broken."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with long names, whose last records are of today."""
    log = tmp_path_factory.mktemp("terminal") / "log"
    assert run(["init", str(log)]) == 0
    for number in ("1", "2", "3"):
        host = f"broker-{number}.rack-17.datacenter-frankfurt.internal.example.com"
        listeners = ["--listener", f"PLAINTEXT://{host}:9092"]
        _change(log, "brokers", "register", number, *listeners, "--rack", "frankfurt-rack-17")
        _change(log, "brokers", "unfence", number)
    _change(log, "namespaces", "create", NAMESPACE)
    _change(log, "topics", "create", TOPIC, "--assignment", "1:2,2:3")
    _change(log, "configs", "set", f"topic/{TOPIC}", "follower.replication.throttled.replicas=0:1")
    _change(log, "topics", "create", OTHER, "--assignment", "1,2")
    _change(log, "configs", "set", "cluster", "delete.topic.partition.enable=true")
    _change(
        *(log, "topics", "alter", OTHER, "--partitions", "1"),
        *("--delete-partitions-delay", "3600000"),
    )
    _change(log, "reassignments", "start", f"{TOPIC}/0=3,1")
    _secure(log, log.parent / "secret")
    assert run(["snapshot", "create", str(log)]) == 0
    return log


@pytest.fixture(scope="module")
def store(request: pytest.FixtureRequest, log: Path) -> Iterator[str]:
    """Yield a shared log with two nodes that have long addresses, without the records of `log`."""
    from metadata_log.shared.postgres import PostgresSharedLog

    cluster_id = read_manifest(OsFs(), log).cluster_id

    async def register(url: str) -> None:
        shared = PostgresSharedLog(url, accept_hollow=True)
        await shared.create(Identity(cluster_id=cluster_id, log_id="1"))
        for number in (1, 2):
            host = f"controller-{number}.rack-17.datacenter-frankfurt.internal.example.com"
            content = MemberContent(
                role="standby",
                version="0.1.0",
                log_end=0,
                clock_off_ms=0,
                addresses={"kafka": f"{host}:9092", "http": f"{host}:8080"},
            )
            await shared.register(number, msgspec.msgpack.encode(content))
        await shared.close()

    with new_database(request.getfixturevalue("postgres")) as url:
        engine = open_database(url)
        upgrade(engine, SHARED_LOG)
        engine.dispose()
        asyncio.run(register(text_of(url)))
        yield text_of(url)


def _secure(log: Path, secret: Path) -> None:
    secret.write_text("of the controllers, and of the user")
    _change(log, "notes", "add", "1", "the switch of rack 2 was replaced, see ticket 4711")
    _change(log, "subscriptions", "register", "auditors-of-the-night-shift", f"{NAMESPACE}:.*")
    _change(
        *(log, "acls", "create", "--principal", f"User:{USER}", "--operation", "read"),
        *("--topic", TOPIC.rpartition(":")[2], "--namespace", NAMESPACE),
    )
    _change(log, "users", "create", USER, "--password-file", str(secret))
    _change(log, "quotas", "set", "--user", USER, "--client-id", "etl", "producer_byte_rate=4096")
    _change(
        *(log, "tokens", "create", "--owner", f"User:{USER}", "--renewer", f"User:{USER}"),
        *("--secret-key-file", str(secret)),
    )


def _change(log: Path, *arguments: str) -> None:
    principal = "User:operator-of-the-night-shift@logistics.example.com"
    assert run([*arguments, "--log", str(log), "--as", principal]) == 0


def _values(document: Any, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts of some fields, at any depth of a document."""
    for name, value in document.items() if isinstance(document, dict) else ():
        if name in names and value is not None:
            texts = value if isinstance(value, list) else [value]
            yield from (time_text(text) if name in _TIMES else str(text) for text in texts)
        yield from _values(value, names)
    for item in document if isinstance(document, list) else ():
        yield from _values(item, names)


def _filled(arguments: tuple[str, ...], request: pytest.FixtureRequest) -> list[str]:
    """Return a command's words with the places that they are about."""
    return [
        str(request.getfixturevalue(word.strip("{}"))) if word in ("{log}", "{store}") else word
        for word in arguments
    ]


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_no_cell_of_a_table_is_cut_on_a_terminal(
    metalog: Metalog, request: pytest.FixtureRequest, arguments: tuple[str, ...]
) -> None:
    command = _filled(arguments, request)
    answer = metalog(*command, "--json").json
    wanted = set(_values(answer, TABLES[arguments][1]))
    if arguments[0] == "timeline":
        wanted = set(answer["stat"])
    if arguments[0] == "image":
        wanted = {TOPIC, OTHER, "follower.replication.throttled.replicas=0:1"}
        wanted |= {f"broker-{n}.rack-17.datacenter-frankfurt.internal.example.com" for n in (1, 3)}
    assert wanted
    shown = on_terminal(*command)
    assert [text for text in wanted if text not in shown] == []
    assert "…" not in shown


@pytest.mark.parametrize("arguments", TABLES, ids=" ".join)
def test_no_cell_of_a_table_is_cut_in_a_pipe(
    metalog: Metalog, request: pytest.FixtureRequest, arguments: tuple[str, ...]
) -> None:
    command = _filled(arguments, request)
    answer = metalog(*command, "--json").json
    shown = metalog(*command).out
    assert [t for t in _values(answer, TABLES[arguments][1]) if t not in shown] == []


@pytest.mark.parametrize("arguments", ROWS, ids=" ".join)
def test_no_line_of_a_stream_is_cut_on_a_terminal(
    metalog: Metalog, request: pytest.FixtureRequest, arguments: tuple[str, ...]
) -> None:
    command = _filled(arguments, request)
    wanted = set(_values(metalog(*command, "--json").lines, ROWS[arguments]))
    shown = on_terminal(*command)
    assert wanted
    assert [text for text in wanted if text not in shown] == []


def test_every_module_that_prints_a_table_is_looked_at() -> None:
    printing = {
        str(path.relative_to(ROOT / "api/cli").with_suffix(""))
        for path in (ROOT / "api/cli").rglob("*.py")
        if re.search(r"^\s+print_table\($|[^_.]print_table\(\(", path.read_text(), re.MULTILINE)
        or re.search(r"[^_.]print_table\([A-Za-z]", path.read_text())
    }
    assert printing - {"terminal/output"} == {module for module, _ in TABLES.values()}
    others = [p for p in (ROOT / "api").rglob("*.py") if "rich.table" in p.read_text()]
    assert others == []


def test_table_that_fits_is_a_table_and_one_that_does_not_is_printed_row_by_row(log: Path) -> None:
    command = ("reassignments", "list", "--log", log)
    header, row, *_ = on_terminal(*command, columns=200).splitlines()
    assert header.split("  ")[0] == "topic"
    assert row.startswith(TOPIC)
    assert on_terminal(*command, columns=60).splitlines()[:2] == [
        f"topic      {TOPIC}",
        "partition  0",
    ]


def test_cell_of_a_column_without_a_name_follows_the_one_before_it(log: Path) -> None:
    shown = on_terminal("topics", "lives", TOPIC, "--log", log, columns=60).splitlines()
    (began,) = (line for line in shown if line.startswith("began"))
    assert re.fullmatch(r"began +\S+Z  [0-9]+  created.*", began)
    assert "ended       it still exists" in shown


def test_long_line_of_a_timeline_is_broken_at_spaces_and_indented(
    metalog: Metalog, log: Path
) -> None:
    told = metalog("timeline", log).out
    shown = on_terminal("timeline", log)
    assert max(map(len, told.splitlines())) > 80
    for line in shown.splitlines():
        assert len(line) <= 80 or " " not in line.strip()
        assert line.startswith((" " * 10, "20"))
    assert shown.split() == told.split()


def test_age_on_a_log_that_ended_before_says_so_on_a_terminal(demo_log: Path) -> None:
    shown = on_terminal("diff", demo_log, "2h", "end", columns=300, with_errors=True)
    assert re.search(
        r"2h counts back from now, 20\S+Z; the log ended before that, at 2026-01-01T\S+Z: to count "
        r"back from its end write end-2h\n",
        shown,
    )
    assert "0 differences" in shown
    assert "0 differences" not in on_terminal("diff", demo_log, "end-2h", "end")


def test_a_small_sum_of_times_has_one_digit_and_no_exponent() -> None:
    hours = unit_of((3_600_000,))
    assert [partition_time_text(ms, hours) for ms in (5_400_000, 200, 0)] == [
        "1.5 partition-hours",
        "0.00006 partition-hours",
        "0.0 partition-hours",
    ]
