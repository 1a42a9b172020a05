"""Until its columns are there, a log's page shows what its files and its newest state say."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import expect

from api.cli.main import run
from api.http.limits import DOCUMENTS_AT_ONCE
from api.http.metrics import Sources
from api.http.options import HttpOptions
from api.http.server import HttpServer
from api.security.options import SecurityOptions
from api.transport.connections import Connections
from api.viewer.shown_log import ShownLog
from controller.authorization.acls import AclAuthorizer
from controller.authorization.authorizer import ALLOW_ALL, Authorizer
from controller.decisions.context.context import Settings
from replay.snapshot.ports import SNAPSHOTS_NAME
from tests.api.conftest import Metalog
from tests.api.report.conftest import SHOWN
from tests.api.report.page_actions import texts
from tests.api.report.served import Visitor
from tests.api.report.test_health import plainly
from tests.browser import Pages, apart

_AT = 600


@pytest.fixture(scope="module")
def log(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with a snapshot in the middle."""
    log = tmp_path_factory.mktemp("read") / "log"
    shutil.copytree(demo_log, log)
    (log / SNAPSHOTS_NAME).unlink(missing_ok=True)
    command = ["snapshot", "create", str(log), "--at", str(_AT)]
    assert apart(run, command) == 0
    return log


@contextmanager
def listening(log: Path, authorizer: Authorizer) -> Iterator[tuple[BlockingPortal, str, ShownLog]]:
    """Listen for the pages of a log that is not read yet; yield a portal, the URL and the log."""

    async def listen() -> HttpServer:
        options = HttpOptions(host="127.0.0.1", port=0)
        return await HttpServer.listen(options, Connections(), SecurityOptions(), {"log": str(log)})

    async def shown(http: HttpServer) -> ShownLog:
        (shared,) = http.states.values()
        settings = Settings(authorizer=authorizer)
        return ShownLog("log", str(log), shared, Sources(connections=dict), settings)

    with start_blocking_portal() as portal:
        http = portal.call(listen)
        reading = portal.call(shown, http)
        try:
            yield portal, f"http://{http.address}", reading
        finally:
            portal.call(reading.close)
            portal.call(http.close)


@contextmanager
def being_read(log: Path, authorizer: Authorizer) -> Iterator[tuple[str, threading.Event]]:
    """Show a log that is read up to a few records past its snapshot, and further once an event is
    set.
    """
    goes_on, is_reading = threading.Event(), threading.Event()

    def advance(offset: int) -> None:
        is_reading.set()
        assert goes_on.wait(60)

    with listening(log, authorizer) as (portal, url, reading):
        opened = portal.start_task_soon(reading.open, advance)
        try:
            assert is_reading.wait(60)
            yield url, goes_on
        finally:
            goes_on.set()
            opened.result(60)


@contextmanager
def unanswered(log: Path, authorizer: Authorizer) -> Iterator[tuple[str, Callable[[], None]]]:
    """Show a log that was read, and answer no question about its records until a function is
    called.
    """
    with listening(log, authorizer) as (portal, url, shown):
        portal.call(shown.open)
        documents = shown.shared.documents

        async def hold() -> None:
            while not documents.locked():
                await documents.acquire()

        def answer() -> None:
            for _ in range(DOCUMENTS_AT_ONCE):
                portal.call(documents.release)

        portal.call(hold)
        yield url, answer


def test_what_is_known_is_shown_until_the_log_is_read(
    metalog: Metalog, log: Path, pages: Pages
) -> None:
    info = metalog("info", log, "--json").json
    first = metalog("dump", log, "--to", 0, "--json").lines[0]["timestamp"]
    at = ("--log", log, "--at", _AT)
    with being_read(log, ALLOW_ALL) as (url, goes_on):
        known = httpx.get(f"{url}/v1/report/columns").json()["known"]
        assert known["log"] == str(log)
        assert (known["from_time"], known["to_time"]) == (first, info["latest_timestamp"])
        for name in ("cluster_id", "log_end", "segments", "bytes"):
            assert known[name] == info[name]
        state = known["state"]
        assert state["as_of"] == _AT
        brokers = metalog("brokers", "list", *at, "--json").json["brokers"]
        topics = metalog("topics", "list", *at, "--json").json["topics"]
        assert (state["brokers"], state["topics"]) == (len(brokers), len(topics))
        assert state["fenced"] == sum(each["state"] == "fenced" for each in brokers)
        assert state["partitions"] == sum(each["partitions"] for each in topics)
        assert (state["leaderless"], state["under_replicated"]) == plainly(log, _AT)
        with Visitor(pages).visit(url, until="header .summary") as page:
            expect(page.get_by_role("status")).to_contain_text("the log is being read: ")
            said = " ".join(texts(page, "header li"))
            assert f"offsets up to {info['log_end'] - 1:,}, " in said
            assert f"at offset {_AT}: {state['topics']} topics" in said
            goes_on.set()
            page.wait_for_selector(SHOWN)
            assert page.evaluate("report.data.last") == info["log_end"] - 1


def test_nothing_is_said_where_rights_are_not_known_yet(log: Path) -> None:
    with being_read(log, AclAuthorizer()) as (url, _):
        answer = httpx.get(f"{url}/v1/report/columns")
        assert answer.status_code == 503
        assert answer.json()["detail"].startswith("the log is being read: ")
        assert "known" not in answer.json()


def test_what_is_known_is_shown_until_the_columns_of_a_read_log_come(
    metalog: Metalog, log: Path, pages: Pages, tmp_path: Path
) -> None:
    """With a snapshot at its end a log is read at once, long before its columns are computed."""
    whole = tmp_path / "log"
    shutil.copytree(log, whole)
    assert metalog("snapshot", "create", whole).code == 0
    info = metalog("info", whole, "--json").json
    topics = metalog("topics", "list", "--log", whole, "--json").json["topics"]
    with unanswered(whole, ALLOW_ALL) as (url, answer):
        with Visitor(pages).visit(url, until="[aria-label='known so far']") as page:
            said = page.locator("header").inner_text()
            assert f"offsets up to {info['log_end'] - 1:,}, " in said
            assert f"at offset {info['as_of']}: {len(topics)} topics" in said
            expect(page.get_by_role("status")).to_have_text("reading the records …")
            expect(page.get_by_label("summary")).to_have_text("reading the whole history …")
            answer()
            page.wait_for_selector(SHOWN)
            assert not page.query_selector("[aria-label='known so far']")
        assert (
            httpx.get(f"{url}/v1/report/known").json()["state"]["leaderless"]
            == plainly(whole, info["as_of"])[0]
        )


def test_only_who_may_describe_the_cluster_is_told_what_is_known(log: Path) -> None:
    with unanswered(log, AclAuthorizer()) as (url, _):
        answer = httpx.get(f"{url}/v1/report/known")
        assert (answer.status_code, answer.json()) == (200, None)
