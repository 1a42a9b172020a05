"""While a log is read, its page shows what its files and its newest snapshot say."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from playwright.sync_api import expect

from api.cli.main import run
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
from tests.browser import Pages

_AT = 600


@pytest.fixture(scope="module")
def log(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with a snapshot in the middle."""
    log = tmp_path_factory.mktemp("read") / "log"
    shutil.copytree(demo_log, log)
    (log / SNAPSHOTS_NAME).unlink(missing_ok=True)
    with ThreadPoolExecutor(1) as thread:
        command = ["snapshot", "create", str(log), "--at", str(_AT)]
        assert thread.submit(run, command).result() == 0
    return log


@contextmanager
def being_read(log: Path, authorizer: Authorizer) -> Iterator[tuple[str, threading.Event]]:
    """Show a log that is read up to a few records past its snapshot, and further once an event is
    set.
    """
    goes_on, is_reading = threading.Event(), threading.Event()

    def advance(offset: int) -> None:
        is_reading.set()
        assert goes_on.wait(60)

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
        opened = portal.start_task_soon(reading.open, advance)
        try:
            assert is_reading.wait(60)
            yield f"http://{http.address}", goes_on
        finally:
            goes_on.set()
            opened.result(60)
            portal.call(reading.close)
            portal.call(http.close)


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
