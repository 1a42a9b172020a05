"""`metalog view`: every kind of log over HTTP, and nothing is written."""

import asyncio
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.http.commands import APPEND, ROUTES
from api.http.limits import PAGE_RECORDS_MAX
from api.http.metrics import Sources
from api.http.options import HttpOptions
from api.http.questions import path_of
from api.http.server import HttpServer
from api.http.shared_state import Listener, SharedState
from api.questions.report import REPORT, ShowReport
from api.questions.summary import SUMMARY
from api.security.options import SecurityOptions
from api.transport.connections import Connections
from api.viewer.first_answers import FirstAnswers
from api.viewer.first_reading import ASKED
from api.viewer.options import ShownRange
from api.viewer.shown_log import ShownLog
from api.viewer.view_service import ViewService
from controller.authorization.caller import Caller
from controller.decisions.context.context import Settings
from controller.wire import to_wire
from metadata_log.reader.log_reader import LogReader
from replay.snapshot.ports import SNAPSHOTS_NAME
from tests.api.conftest import Metalog
from tests.api.viewer.conftest import Viewed
from tests.metadata_log.kraft.node import Node
from tests.replay.builders import broker, partition, topic
from tests.replay.report.unpacked import Unpacked
from tests.stories.processes import Process

LONGEST_S = 60

QUESTIONS = {
    "/v1/summary": "summary LOG",
    "/v1/outages": "outages LOG",
    "/v1/timeline": "timeline LOG",
    "/v1/check": "check LOG",
    "/v1/brokers/list": "brokers list --log LOG",
    "/v1/topics/list": "topics list --log LOG",
    "/v1/features/describe": "features describe --log LOG",
    "/v1/info": "info LOG",
}


def state(log: Path) -> dict[str, tuple[int, int, str]]:
    """Return size, time of change and digest of every file below a folder."""
    return {
        str(path.relative_to(log)): (
            path.stat().st_size,
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(log.rglob("*"))
        if path.is_file()
    }


async def until(view: Any, path: str, wanted: Any) -> Any:
    """Ask again and again until an answer is as wanted; return it."""
    async with asyncio.timeout(LONGEST_S):
        while not wanted(answer := await view.http.get(path)):
            await asyncio.sleep(0.1)
    return answer


@pytest.fixture
def own_log(metalog: Metalog, tmp_path: Path) -> Path:
    log = tmp_path / "own"
    made = ["demo", log, "--topics", 4, "--brokers", 3, "--changes", 60, "--seed", 3]
    assert metalog(*made).code == 0
    return log


@pytest.fixture
def two_writers(metalog: Metalog, own_log: Path) -> Path:
    """The own log with a second segment, so that an archive has the first one."""
    assert metalog("notes", "add", 0, "it begins", "--log", own_log).code == 0
    return own_log


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """One of three voters, so that its end may be replaced."""
    node = Node(tmp_path / "node", voters=3)
    node.append(broker(1, fenced=False), topic("t"), partition("t", 0))
    node.append(topic("u"))
    return node


@pytest.fixture
def mirror(metalog: Metalog, node: Node, tmp_path: Path) -> Path:
    made = tmp_path / "mirror"
    assert metalog("import", "kraft", node.directory, made).code == 0
    return made


@pytest.mark.parametrize("kind", ["own", "mirror", "archive", "backup"])
async def test_answers_are_those_of_the_command_line_and_nothing_is_written(
    viewed: Viewed,
    metalog: Metalog,
    own_log: Path,
    two_writers: Path,
    mirror: Path,
    tmp_path: Path,
    kind: str,
) -> None:
    log = {"own": own_log, "mirror": mirror}.get(kind, tmp_path / kind)
    if kind in ("archive", "backup"):
        assert metalog(kind, two_writers, log).code == 0
    before = state(log)
    view = await viewed(log)
    assert (await view.http.get("/ready")).json() == {"status": "ready"}
    for path, command in QUESTIONS.items():
        answer = await view.http.get(path)
        assert answer.status_code == 200, answer.text
        told = metalog(*[log if word == "LOG" else word for word in command.split()], "--json").json
        # It depends on the time of the question.
        moving = {"clock_difference_ms": None}
        assert {**answer.json(), **moving} == {**told, **moving}, path
    assert (await view.http.get("/")).status_code == 200
    columns = await view.http.get("/v1/report/columns")
    assert columns.headers["Metalog-Log"] == str(log)
    assert "Metalog-Server" not in columns.headers
    assert await view.process.stop() == 0
    assert state(log) == before


async def test_no_command_is_taken(viewed: Viewed, own_log: Path) -> None:
    view = await viewed(own_log)
    for path in {*ROUTES, path_of(APPEND)}:
        for body in (b"{}", b""):
            answer = await view.http.post(path, content=body)
            assert answer.status_code in (403, 415), path
            headers = {"Content-Type": "application/json"}
            if path == path_of(APPEND):
                headers = {"Content-Type": "application/x-ndjson"}
            answer = await view.http.post(path, content=body, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "READ_ONLY"), path
    paths = (await view.http.get("/openapi.json")).json()["paths"]
    assert {method for of in paths.values() for method in of} == {"get", "head"}
    assert "POST" not in (await view.http.get("/v1")).text
    await until(view, "/ready", lambda answer: answer.status_code == 200)
    assert "metalog-notes" not in (await view.http.get("/v1/report/columns")).headers


async def test_a_log_that_a_service_writes_is_followed(
    viewed: Viewed, started: list[Process], own_log: Path, tmp_path: Path
) -> None:
    view = await viewed(own_log)
    end = view.process.ready["logs"][0]["log_end"]
    async with asyncio.timeout(LONGEST_S), view.http.stream("GET", "/v1/events") as response:
        lines = response.aiter_lines()
        assert await anext(lines) == f": from offset {end}"
        made = ["namespaces", "create", "new", "--log", own_log, "--as", "User:ann"]
        started.append(await Process.start(tmp_path / "made.txt", *made))
        assert await started[-1].ended() == 0
        while not (line := await anext(lines)).startswith("data:"):
            pass
        assert json.loads(line.removeprefix("data:"))["offset"] == end
    names = await until(view, "/v1/namespaces/list", lambda answer: "new" in answer.text)
    assert names.json()["log_end"] > end


async def test_a_mirror_that_grows_is_cut_and_rolls_is_followed(
    viewed: Viewed, metalog: Metalog, node: Node, mirror: Path
) -> None:
    def imported() -> None:
        assert metalog("import", "kraft", node.directory, mirror).code == 0

    def has(*names: str) -> Any:
        wanted = sorted(names)
        return lambda answer: (
            answer.status_code == 200
            and sorted(each["name"] for each in answer.json()["topics"]) == wanted
        )

    view = await viewed(mirror)
    await until(view, "/v1/topics/list", has("t", "u"))
    node.append(topic("v"))
    imported()
    await until(view, "/v1/topics/list", has("t", "u", "v"))
    # Another leader replaces what was not committed.
    node.truncate_to(node.end_offset - 2)
    node.elect()
    node.append(topic("w"))
    imported()
    await until(view, "/v1/topics/list", has("t", "w"))
    node.roll()
    node.append(topic("x"))
    imported()
    answer = await until(view, "/v1/topics/list", has("t", "w", "x"))
    assert answer.json()["log_end"] == metalog("info", mirror, "--json").json["log_end"]


async def test_a_log_that_vanishes_is_said_to_be_gone_and_shown_again_once_it_is_back(
    viewed: Viewed, own_log: Path, tmp_path: Path
) -> None:
    view = await viewed(own_log)
    moved = tmp_path / "moved"
    own_log.rename(moved)
    gone = await until(view, "/v1/topics/list", lambda answer: answer.status_code == 503)
    assert f"{own_log} cannot be read" in gone.json()["detail"]
    assert (await view.http.get("/ready")).status_code == 503
    assert (await view.http.get("/health")).status_code == 200
    moved.rename(own_log)
    await until(view, "/v1/topics/list", lambda answer: answer.status_code == 200)


async def test_several_logs_have_a_list_and_each_its_own_page(
    viewed: Viewed, metalog: Metalog, own_log: Path, mirror: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    same_name = tmp_path / "other" / "own"
    shutil.copytree(own_log, same_name)
    view = await viewed(own_log, mirror, same_name, tmp_path / "absent", own_log)
    logs = {each["name"]: each for each in (await view.http.get("/v1/logs")).json()["logs"]}
    assert list(logs) == ["own", "mirror", "own-2", "absent"]
    assert [each["path"] for each in view.process.ready["logs"]] == [
        each["path"] for each in logs.values()
    ]
    told = metalog("summary", mirror, "--json").json
    assert logs["mirror"]["summary"] == {name: told[name] for name in logs["mirror"]["summary"]}
    assert "is not a log" in logs["absent"]["error"]["detail"]
    assert "absent: " in (await view.http.get("/ready")).json()["detail"]
    for name, log in (("own", own_log), ("mirror", mirror), ("own-2", same_name)):
        assert (await view.http.get(logs[name]["path"])).status_code == 200
        columns = await view.http.get(f"/logs/{name}/v1/report/columns")
        assert columns.headers["Metalog-Log"] == str(log)
    moved = await view.http.get("/logs/own")
    assert (moved.status_code, moved.headers["Location"]) == (308, "/logs/own/")
    assert (await view.http.get("/logs/nobody/v1/info")).status_code == 404
    assert (await view.http.get("/v1/info")).status_code == 404
    # Once it is there, it is shown.
    shutil.copytree(own_log, tmp_path / "absent")
    await until(view, "/logs/absent/v1/info", lambda answer: answer.status_code == 200)


async def test_a_log_that_cannot_be_read_is_an_error_of_the_command(
    started: list[Process], tmp_path: Path
) -> None:
    process = await Process.start(tmp_path / "err.txt", "view", tmp_path / "nothing")
    started.append(process)
    assert await process.ended() == 3
    assert "is not a log" in process.errors


async def test_until_a_log_is_read_answers_say_how_far_it_is(own_log: Path) -> None:
    (own_log / SNAPSHOTS_NAME).unlink(missing_ok=True)
    shared = SharedState(Listener(host="localhost"), frozenset(), str(own_log))
    log = ShownLog("own", str(own_log), shared, Sources(connections=dict), Settings())
    assert str(shared.unavailable()) == "the log is being read"
    said: list[tuple[int, str]] = []
    service = await log.open(lambda offset: said.append((offset, str(shared.unavailable()))))
    end = service.image.provenance.next_offset
    assert said[-1][0] == end
    assert [text for _, text in said] == [
        f"the log is being read: {offset:,} of {end:,} records" for offset, _ in said
    ]
    assert shared.service is service
    await log.close()


async def test_a_range_is_in_the_printed_address_and_computed_first(
    viewed: Viewed, own_log: Path
) -> None:
    view = await viewed(own_log, "--from", 20, "--to", 60)
    (shown,) = view.process.ready["logs"]
    assert shown["path"] == "/#first=20&last=60"
    columns = await view.http.get("/v1/report/columns", params={"from": 20, "to": 60})
    header = Unpacked(columns.content).header
    assert (header["first"], header["last"]) == (20, 60)


@pytest.mark.parametrize(("last", "at"), [(60, "60"), (None, "end")])
async def test_what_the_page_of_a_range_asks_first_is_computed_meanwhile(
    own_log: Path, last: int | None, at: str
) -> None:
    answers = FirstAnswers.begin(str(own_log), ShownRange(20, last))
    service = await ViewService.load(own_log, Settings(), first=answers)
    assert service.workers is answers.workers
    before = service.workers.begun
    asked = to_wire(ShowReport(first="20", records_max=PAGE_RECORDS_MAX))
    await service.answers.page(REPORT.name, asked, caller=Caller(principal="User:ann"), at=at)
    assert service.workers.begun == before - 1
    await service.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("own", "--from", "2030-01-01T00:00Z"), "no records from 2030-01-01T00:00Z to the end"),
        (("own", "--from", 60, "--to", 20), "after its end, 20"),
        (("own", "--to", 99_999), "offset 99999 is past the end"),
        (("own", "own", "--to", 20), "points of one log"),
    ],
)
def test_a_range_that_is_none_is_an_error_of_the_command(
    metalog: Metalog, own_log: Path, arguments: tuple[object, ...], says: str
) -> None:
    given = [own_log if each == "own" else each for each in arguments]
    answer = metalog("view", *given)
    assert answer.code in (2, 3)
    assert says in answer.err


@pytest.mark.parametrize("has_snapshot", [True, False])
async def test_what_the_page_asks_first_is_computed_while_the_log_is_read(
    metalog: Metalog, own_log: Path, has_snapshot: bool
) -> None:
    (own_log / SNAPSHOTS_NAME).unlink(missing_ok=True)
    if has_snapshot:
        made = await asyncio.to_thread(metalog, "snapshot", "create", own_log, "--at", "60")
        assert made.code == 0
    options = HttpOptions(host="127.0.0.1", port=0)
    logs = {"own": str(own_log)}
    http = await HttpServer.listen(options, Connections(), SecurityOptions(), logs)
    (shared,) = http.states.values()
    log = ShownLog("own", str(own_log), shared, Sources(connections=dict), Settings())
    answers = FirstAnswers.begin(str(own_log))
    assert answers.workers.begun == 1
    # Without a snapshot the summary is found while the records are replayed.
    assert answers.is_read_whole is not has_snapshot
    service = await log.open(first=answers)
    assert service.workers is answers.workers
    begun = [service.workers.begun]
    async with httpx.AsyncClient(base_url=f"http://{http.address}", timeout=60) as client:
        for path in ("/v1/report/columns", "/v1/summary"):
            first, second = [await client.get(path) for _ in range(2)]
            assert first.status_code == 200
            assert first.content == second.content, path
            begun.append(service.workers.begun)
    assert begun == [2, 1, 0]
    await log.close()
    await http.close()


async def test_an_answer_that_was_begun_is_not_given_once_the_log_has_grown(
    metalog: Metalog, own_log: Path
) -> None:
    service = await ViewService.load(own_log, Settings(), first=FirstAnswers.begin(str(own_log)))
    assert service.workers is not None
    assert service.workers.begun == 2
    end = service.image.provenance.next_offset
    added = await asyncio.to_thread(metalog, *("notes", "add", 0, "later", "--log", own_log))
    assert added.code == 0
    with LogReader.open(own_log) as reader:
        await service.follow(reader.batches(end))
    assert service.workers.begun == 0
    caller = Caller(principal="User:ann")
    page = await service.answers.page(SUMMARY.name, to_wire(ASKED), caller=caller, at="end")
    assert page.about is not None
    assert page.about.log_end > end
    await service.close()
