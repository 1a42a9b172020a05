"""The commands run against a running service."""

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.admin import brokers
from tests.api.conftest import Metalog
from tests.forked_commands import METALOG


@pytest.fixture(scope="module")
def url(served: tuple[str, Path]) -> str:
    """The URL of the service."""
    return served[0]


@pytest.fixture(scope="module")
def served(
    cluster_log: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """A service in a process of its own, on a copy of the cluster's log, that fences no broker
    during the tests.
    """
    log = shutil.copytree(cluster_log, tmp_path_factory.mktemp("served") / "log")
    with _serving(log) as url:
        yield url, log


@contextlib.contextmanager
def _serving(log: Path) -> Iterator[str]:
    command = [*METALOG, "serve", str(log), "--kafka", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--session-timeout-ms", "600000", "--json"], stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout is not None
        yield f"kafka://{json.loads(service.stdout.readline())['kafka']}"
        service.terminate()
        assert service.wait(timeout=60) == 0


def test_topics_of_a_service_are_created_listed_described_and_deleted(
    metalog: Metalog, url: str
) -> None:
    created = metalog(
        *("topics", "create", "a", "org:apache:b", "--partitions", 2, "--server", url, "--json"),
        *("--reason", "over the wire", "--config", "retention.ms=5"),
    )
    assert created.code == 0
    committed = created.json["committed_at"]
    assert (created.json["history_start"], created.json["not_understood"]) == (0, None)
    listed = metalog("topics", "list", "--server", url, "--json").json
    assert [t["name"] for t in listed["topics"]] == ["a", "clicks", "orders", "org:apache:b"]
    assert listed["as_of"] >= committed
    described = metalog("topics", "describe", "a", "--server", url, "--json").json
    assert (described["controller_id"], len(described["cluster_id"])) == (3000, 22)
    (topic,) = described["topics"]
    assert sorted(topic["authorized_operations"])[:3] == ["ALTER", "ALTER_CONFIGS", "CREATE"]
    assert topic["topic_id"] == created.json["results"][0]["topic_id"]
    assert [(c["name"], c["value"]) for c in topic["configs"]] == [("retention.ms", "5")]
    assert metalog("topics", "delete", "a", "org:apache:b", "--server", url).code == 0
    gone = metalog("topics", "describe", "a", "--server", url)
    assert (gone.code, gone.err.startswith("error: UNKNOWN_TOPIC_OR_PARTITION: ")) == (3, True)


def test_service_and_log_refuse_alike(metalog: Metalog, url: str, log: Path) -> None:
    for arguments in (
        ["topics", "create", "orders"],
        ["topics", "create", "a b"],
        ["topics", "delete", "absent"],
        ["topics", "alter", "orders", "--partitions", "1"],
        ["namespaces", "create", "org"],
        ["configs", "set", "topic/orders", "retention.ms=soon"],
        ["reassignments", "cancel", "orders/0"],
        ["brokers", "unregister", "9"],
        ["features", "upgrade", "metadata.version=99"],
        ["elect-leaders", "orders/0"],
    ):
        served = metalog(*arguments, "--server", url)
        local = metalog(*arguments, "--log", log)
        assert (served.code, served.err) == (local.code, local.err) != (0, "")


def test_plan_of_a_shrink_comes_from_the_service_too(metalog: Metalog, url: str) -> None:
    arguments = ["--partitions", 2, "--validate-only", "--server", url, "--json"]
    answer = metalog("topics", "alter", "orders", *arguments)
    (result,) = answer.json["results"]
    assert result["leaving"] == [{"partition": 2, "leader": 3, "replicas": [3, 1]}]
    assert result["error"]["code"] == "INVALID_PARTITIONS"


def test_each_kind_of_change_reaches_the_service(metalog: Metalog, url: str) -> None:
    for arguments in (
        ["configs", "set", "topic/clicks", "retention.ms=7"],
        ["configs", "append", "topic/clicks", "cleanup.policy=compact"],
        ["topics", "alter", "clicks", "--partitions", "2", "--assignment", "2:1"],
        ["reassignments", "start", "clicks/0=3,1"],
        ["reassignments", "cancel", "clicks/0"],
        ["namespaces", "create", "served"],
        ["namespaces", "move", "--from", "", "--to", "served", "--topic", "clicks"],
        ["namespaces", "move", "--from", "served", "--to", ""],
        ["namespaces", "delete", "served"],
        ["features", "upgrade", "eligible.leader.replicas.version=1"],
        ["features", "downgrade", "eligible.leader.replicas.version=0"],
        ["elect-leaders"],
    ):
        answer = metalog(*arguments, "--server", url)
        assert (answer.code, answer.err) == (0, ""), arguments


def test_service_answers_questions_about_the_past(metalog: Metalog, url: str) -> None:
    before = metalog("topics", "list", "--server", url, "--at", "3", "--json").json
    assert (before["as_of"], before["topics"]) == (3, [])


def test_log_of_a_service_is_read_but_not_changed(metalog: Metalog, url: str) -> None:
    answer = metalog("topics", "list", "--server", url, "--log", "x")
    assert (answer.code, answer.err.startswith("error: USAGE: ")) == (2, True)


def test_lists_and_descriptions_are_those_of_the_log(
    metalog: Metalog, served: tuple[str, Path]
) -> None:
    url, log = served
    metalog("reassignments", "start", "orders/0=3,1", "--server", url)
    for arguments in (
        ["brokers", "list"],
        ["brokers", "describe", "2"],
        ["partitions", "list"],
        ["partitions", "list", "orders", "--under-replicated"],
        ["partitions", "list", "orders", "--removing"],
        ["partitions", "describe", "orders/1"],
        ["reassignments", "list"],
        ["brokers", "describe", "9"],
        ["partitions", "describe", "orders/9"],
        ["partitions", "list", "absent", "--removing"],
    ):
        there = metalog(*arguments, "--server", url)
        here = metalog(*arguments, "--log", log)
        assert (there.code, there.out) == (here.code, here.out), arguments
        # A log also says why something is absent.
        assert here.err.startswith(there.err.rstrip()), arguments


def test_repeated_request_gets_its_first_answer(metalog: Metalog, url: str, log: Path) -> None:
    for where in (("--server", url), ("--log", log)):
        arguments = ["topics", "create", "again", "--request-id", "night-shift", "--json", *where]
        first = metalog(*arguments)
        again = metalog(*arguments)
        assert (first.code, again.code, again.json) == (0, 0, first.json)
        each = ["brokers", "unregister", "2", "9", "--request-id", "both", "--json", *where]
        first, again = metalog(*each), metalog(*each)
        assert (first.code, again.code, again.json) == (3, 3, first.json)
        other = metalog("topics", "create", "b", "--request-id", "night-shift", *where)
        assert (other.code, other.err.count("INVALID_REQUEST: request id 'night-shift'")) == (3, 1)


def test_growth_asked_again_with_its_id_happens_once(metalog: Metalog, url: str, log: Path) -> None:
    for where in (("--server", url), ("--log", log)):
        metalog("topics", "create", "grows", "--partitions", 2, *where)
        for arguments in (
            ["grows", "--partitions", 3, "--request-id", "third"],
            ["grows", "--partitions", 5, "--assignment", "1,1", "--request-id", "two-more"],
        ):
            first = metalog("topics", "alter", *arguments, "--json", *where)
            again = metalog("topics", "alter", *arguments, "--json", *where)
            assert (first.code, again.code, again.err) == (0, 0, "")
            assert again.json["committed_at"] == first.json["committed_at"]
        (topic,) = metalog("topics", "describe", "grows", "--json", *where).json["topics"]
        assert len(topic["partitions"]) == 5


def test_repeated_registration_keeps_its_epoch(metalog: Metalog, log: Path) -> None:
    arguments = ["--listener", "h:1", "--request-id", "new", "--json", "--log", log]
    first = metalog("brokers", "register", 9, *arguments)
    again = metalog("brokers", "register", 9, *arguments)
    assert (first.code, again.code, again.json) == (0, 0, first.json)
    assert metalog("brokers", "register", 10, *arguments).code == 3


def test_a_service_that_dies_leaves_an_id_to_ask_again_with(metalog: Metalog) -> None:
    with socket.create_server(("127.0.0.1", 0)) as dying:
        port = dying.getsockname()[1]
        thread = threading.Thread(target=lambda: dying.accept()[0].close())
        thread.start()
        answer = metalog("topics", "create", "a", "--server", f"kafka://127.0.0.1:{port}")
        thread.join()
    assert answer.code == 4
    assert re.search(
        r"the outcome is unknown; ask again with --request-id [0-9a-f]{16}: it is done once",
        answer.err,
    )


def test_what_changes_nothing_commits_nowhere(metalog: Metalog, url: str, log: Path) -> None:
    for where in (("--server", url), ("--log", log)):
        arguments = ["configs", "set", "topic/clicks", "retention.ms=77", *where]
        assert metalog(*arguments, "--json").json["committed_at"] is not None
        answer = metalog(*arguments, "--json")
        assert (answer.code, answer.json["committed_at"]) == (0, None)
        assert metalog(*arguments).out.endswith("\nnothing had to be written\n")
        each = metalog("brokers", "unregister", "3", "9", *where, "--json")
        assert (each.code, each.json["committed_at"] is None) == (3, False)


def test_waiting_for_silent_brokers_ends(metalog: Metalog, url: str) -> None:
    late = metalog("brokers", "wait", 3, "--server", url, "--within", 0.1)
    assert late.code == 4
    assert "offset 3 is not applied everywhere: broker 1 unknown" in late.err
    assert metalog("brokers", "wait", 3, "--log", "log").code == 2


def test_uncommitted_request_is_not_applied(metalog: Metalog, log: Path) -> None:
    for broker_id in (1, 2, 3):
        metalog("brokers", "unregister", broker_id, "--log", log)
    with _serving(log) as url:
        early = metalog("brokers", "wait", 99_999, "--server", url, "--within", 0.1)
    assert early.code == 4
    assert re.search(r"offset 99999 is not committed, the log ends at \d+; try again", early.err)


@pytest.fixture
def silent() -> Iterator[str]:
    """A listener that reads requests and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"kafka://127.0.0.1:{listening.getsockname()[1]}"


def test_waiting_for_a_silent_service_ends(
    metalog: Metalog, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brokers, "_ANSWER_WITHIN_S", 0.3)
    start = time.monotonic()
    answer = metalog("brokers", "wait", 3, "--server", silent, "--within", 0.1)
    assert (answer.code, time.monotonic() - start < 5) == (4, True)
    assert "no answer" in answer.err


def test_who_stops_waiting_for_an_answer_gets_an_id_to_ask_again_with() -> None:
    command = [*METALOG, "topics", "create", "a", "--server"]
    with socket.create_server(("127.0.0.1", 0)) as asked:
        url = f"kafka://127.0.0.1:{asked.getsockname()[1]}"
        asking = subprocess.Popen([*command, url], stderr=subprocess.PIPE, text=True)
        connection, _ = asked.accept()
        assert connection.recv(1)
        asking.send_signal(signal.SIGINT)
        _, err = asking.communicate(timeout=60)
        connection.close()
    assert asking.returncode == 130
    assert re.fullmatch(
        r"error: INTERRUPTED: stopped before an answer came; the outcome is unknown; "
        r"ask again with --request-id [0-9a-f]{16}: it is done once\n",
        err,
    )


def test_a_used_up_quota_says_when_to_retry(
    metalog: Metalog, cluster_log: Path, tmp_path: Path
) -> None:
    with _serving(shutil.copytree(cluster_log, tmp_path / "log")) as url:
        quota = ("--default-user", "controller_mutation_rate=1", "--server", url)
        assert metalog("quotas", "set", *quota).code == 0
        create = ("topics", "create", "--partitions", 50, "--server", url, "--json")
        assert metalog(*create, "first").code == 0
        refused = metalog(*create, "second")
        assert refused.code == 3
        (item,) = refused.json["results"]
        assert item["error"]["code"] == "THROTTLING_QUOTA_EXCEEDED"
        assert 1_000 < item["error"]["retry_ms"] < 60_000
