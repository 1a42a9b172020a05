"""Questions about several logs that are shown: the answers are those of the commands."""

import asyncio
import hashlib
from pathlib import Path

import httpx
import pytest

from api.http.site import JOINT_ROUTES
from api.questions.joint import JOINT_QUESTIONS, ShowAdvice
from metadata_log.kraft_format.names import META_PROPERTIES
from records.errors import RequestError
from tests.api.conftest import Metalog
from tests.api.viewer.conftest import View
from tests.metadata_log.kraft.logs import LogFiles, batch, leader_change, topic
from tests.stories.processes import Process


def two_nodes(place: Path) -> tuple[Path, Path]:
    """Write the directories of two nodes, of which one lacks the last record."""
    batches = [batch(0, 1, leader_change()), batch(1, 1, topic("orders"))]
    for node_id, count in ((1, 2), (2, 1)):
        directory = place / f"node{node_id}"
        LogFiles(directory).segment(0, *batches[:count])
        (directory / META_PROPERTIES).write_text(f"cluster.id=c\nnode.id={node_id}\n")
    return place / "node1", place / "node2"


@pytest.fixture
def nodes(tmp_path: Path) -> tuple[Path, Path]:
    """The directories of two nodes."""
    return two_nodes(tmp_path)


async def _view(started: list[Process], tmp_path: Path, *arguments: object) -> View:
    """Start a view of logs that need not be readable."""
    process = await Process.start(tmp_path / "view.txt", "view", *arguments)
    started.append(process)
    await process.is_ready()
    url = f"http://{process.ready['http']}"
    return View(process, httpx.AsyncClient(base_url=url, timeout=60))


async def test_answers_are_those_of_the_commands(
    metalog: Metalog,
    nodes: tuple[Path, Path],
    demo_log: Path,
    started: list[Process],
    tmp_path: Path,
) -> None:
    view = await _view(started, tmp_path, *nodes, demo_log)
    async with view.http as http:
        of_nodes = {"logs": ["node1", "node2"]}
        compared = (await http.get("/v1/compare", params=of_nodes)).json()
        assert compared == metalog("compare", *nodes, "--json").json
        assert compared["behind"] == {str(nodes[1]): 1}
        # All logs, one of them of another cluster.
        compared = (await http.get("/v1/compare")).json()
        assert compared == metalog("compare", *nodes, demo_log, "--json").json
        # Of all logs that are shown, those of Kafka's nodes.
        advised = (await http.get("/v1/advise", params={"voters": [1, 2], "kafka": "3.7"})).json()
        command = ("advise", *nodes, "--voters", "1,2", "--kafka", "3.7", "--json")
        assert advised == metalog(*command).json
        assert advised["verdict"] == "start_them"
        paths = (await http.get("/openapi.json")).json()["paths"]
        assert {path: of["get"]["summary"] for path, of in paths.items()} == {
            path: JOINT_QUESTIONS[path.removeprefix("/v1/")].answer for path in JOINT_ROUTES
        }


_REFUSED = {
    "compare?logs=node1": "compare needs two logs or more",
    "compare?logs=node1&logs=nope": "no log named 'nope' is shown; there are node1, demo",
    "compare?x=1": "there is no such parameter; there are logs",
    "advise?kafka=new": "kafka: 'new' is no version such as 3.7",
    "advise?logs=demo": "demo holds no Kafka metadata log",
}


async def test_refusals_say_why(
    nodes: tuple[Path, Path], demo_log: Path, started: list[Process], tmp_path: Path
) -> None:
    (tmp_path / "demo").symlink_to(demo_log)
    view = await _view(started, tmp_path, nodes[0], tmp_path / "demo")
    async with view.http as http:
        for path, why in _REFUSED.items():
            answer = await http.get(f"/v1/{path}")
            assert answer.status_code == 400
            assert why in answer.json()["detail"]


def test_advice_is_about_directories_of_nodes(demo_log: Path) -> None:
    with pytest.raises(RequestError, match="none of these is one; view the directories"):
        JOINT_QUESTIONS["advise"].ask([str(demo_log), "s3://bucket/log"], ShowAdvice())


@pytest.fixture
def logs(metalog: Metalog, tmp_path: Path) -> tuple[Path, Path]:
    """Two logs; User:bob may describe the first one."""
    found = tmp_path / "allowed", tmp_path / "other"
    for log in found:
        assert metalog("init", log).code == 0
    acl = ["--principal", "User:bob", "--operation", "describe", "--cluster"]
    assert metalog("acls", "create", *acl, "--log", found[0]).code == 0
    return found


async def test_rights_are_needed_in_each_log(
    logs: tuple[Path, Path], nodes: tuple[Path, Path], started: list[Process], tmp_path: Path
) -> None:
    tokens = tmp_path / "tokens"
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("bob", "root")}
    tokens.write_text("".join(f"{name}:{digest}\n" for name, digest in digests.items()))
    options = ["--authorizer", "acl", "--super-user", "User:root", "--http-tokens", tokens]
    view = await _view(started, tmp_path, *logs, nodes[0], *options)
    async with view.http as http:

        async def status(name: str | None, path: str) -> int:
            headers = {} if name is None else {"Authorization": f"Bearer {name}"}
            return (await http.get(path, headers=headers)).status_code

        for log in logs:
            while await status("root", f"/logs/{log.name}/v1/info") == 503:
                await asyncio.sleep(0.02)
        assert await status(None, "/v1/compare") == 401
        assert await status("root", "/v1/compare") == 200
        assert await status("bob", "/v1/compare?logs=allowed&logs=other") == 403
        # Nobody but a super user may ask about what cannot be read.
        assert await status("bob", "/v1/compare?logs=allowed&logs=node1") == 403
        assert await status("bob", "/v1/advise") == 403
        assert await status("bob", "/v1/compare?logs=allowed") == 400
