"""Pages of lists: together they are the whole list, of one image, for every such question."""

import base64
import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import pytest

from api.cli.main import run
from api.http import paging, questions
from api.http.options import HttpOptions
from api.http.paging import is_paged
from api.http.questions import LINES, ROUTES, path_of
from api.questions.pages import PAGE_BYTES, Page
from controller.authorization.acls import AclAuthorizer
from controller.decisions.context.context import Settings
from tests.api.http.conftest import LOOPBACK, Web
from tests.api.kafka.servers import server
from tests.api.questions.asked import ASKED, QUERIES, Query
from tests.api.questions.test_both_ways import common
from tests.api.services import serving

LISTS = {
    route.question.name: route.document for route in ROUTES.values() if is_paged(route.document)
}
SIZES = (1, 3, 1_000)

PAGES_MAX = 40
"""Of one list: long lists in small pages are compared up to here."""

_QUERIES = [
    pytest.param(name, query, id=f"{name} {number}")
    for name in LISTS
    for number, query in enumerate(QUERIES[name])
    if query is not None
]
"""Queries of every list."""

_WHOLE = {name for name, each in ASKED.items() if each.whole}


def test_every_list_can_be_asked_for_in_pages() -> None:
    assert LISTS.keys() | _WHOLE == QUERIES.keys()
    assert not LISTS.keys() & _WHOLE


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service of a demo's log."""
    log = tmp_path_factory.mktemp("paging") / "log"
    assert run(["demo", str(log), "--topics", "6", "--brokers", "3", "--changes", "200"]) == 0
    password = log.parent / "password"
    password.write_text("secret")
    secret = ("--secret-key-file", password)
    options = ("--session-timeout-ms", 600_000, "--http", "127.0.0.1:0", *secret)
    with (
        serving(log, *options) as service,
        httpx.Client(base_url=service.http, timeout=60) as client,
    ):
        removal = {"name": "delete.topic.partition.enable", "value": "true"}
        cluster = {"resource_type": "BROKER", "resource_name": "", "changes": [removal]}
        client.post("/v1/configs/alter", json={"resources": [cluster]}).raise_for_status()
        for number in range(3):
            _change(client, f"early{number}")
            client.post(
                "/v1/topics/create",
                json={"topics": [{"name": "lives", "assignments": _PLACED}]},
            ).raise_for_status()
            client.post("/v1/topics/delete", json={"topics": ["lives"]}).raise_for_status()
        yield client


_PLACED = [{"partition_id": n, "broker_ids": [1]} for n in range(3)]


def _change(client: httpx.Client, name: str) -> None:
    """Add an item to every list that a client can add to, before all others of the list."""
    topics = [{"name": f"{of}.{name}", "assignments": _PLACED} for of in ("Aa", "Ab")]
    acl = {
        "resource_type": "TOPIC",
        "resource_name": f"A.{name}",
        "pattern_type": "LITERAL",
        "principal": "User:a",
        "host": "*",
        "operation": "READ",
        "permission_type": "ALLOW",
    }
    quota = {
        "entity": [["user", f"A{name}"]],
        "changes": [{"key": "producer_byte_rate", "value": 1.0}],
    }
    key = "A" * 43 + "="
    user = {
        "user": f"A{name}",
        "mechanism": "SCRAM_SHA_256",
        "iterations": 4096,
        "salt": "c2FsdHNhbHQ=",
        "stored_key": key,
        "server_key": key,
    }
    steps = {
        "topics/create": {"topics": topics},
        "acls/create": {"acls": [acl]},
        "quotas/alter": {"entities": [quota]},
        "users/alter": {"upsertions": [user]},
        "namespaces/create": {"name": f"A{name}"},
        "notes/add": {"at_offset": 0, "text": f"A {name}"},
        "subscriptions/register": {"group": f"A{name}", "pattern": "orders.*"},
        "tokens/create": {"owner": "User:a"},
        "reassignments/alter": {
            "partitions": [{"topic": f"Aa.{name}", "partition_id": 0, "broker_ids": [1, 3]}]
        },
        "partitions/delete": {"topics": [{"topic": f"Ab.{name}", "partitions": 2}]},
        "configs/alter": {
            "resources": [
                {
                    "resource_type": "TOPIC",
                    "resource_name": "__consumer_offsets",
                    "changes": [{"name": "retention.ms", "value": str(10**6 + len(name))}],
                }
            ]
        },
    }
    for path, body in steps.items():
        answer = client.post(f"/v1/{path}", json=body)
        assert answer.status_code == 200, (path, answer.text)


def _pages(client: httpx.Client, name: str, query: Query, size: int) -> Iterator[httpx.Response]:
    cursor: str | None = None
    while True:
        following = [] if cursor is None else [("cursor", cursor)]
        page = client.get(path_of(name), params=[*query, ("limit", size), *following])
        assert page.status_code == 200, page.text
        yield page
        cursor = _next(page)
        if cursor is None:
            return


def _next(page: httpx.Response) -> str | None:
    """Return the cursor of the next page; the header Link is checked to name it."""
    if page.headers["content-type"] == LINES:
        return _lines(page)[1]
    found: str | None = page.json()["next"]
    link = page.headers.get("link")
    assert (link is None) == (found is None)
    if link is not None:
        target, _, rel = link.partition("; ")
        assert rel == 'rel="next"'
        assert parse_qs(urlsplit(target[1:-1]).query)["cursor"] == [found]
    return found


def _lines(page: httpx.Response) -> tuple[list[Any], str | None]:
    """Return the lines of a stream without its last line, if that has the next cursor."""
    lines = [msgspec.json.decode(line) for line in page.text.splitlines()]
    if lines and lines[-1].keys() == {"next"}:
        return lines[:-1], lines[-1]["next"]
    return lines, None


def _list(name: str, page: httpx.Response) -> tuple[list[Any], dict[str, Any]]:
    """Return the items of a page, and the other fields of its document without the log's end."""
    document = LISTS[name]
    assert document is not None
    if document.is_stream:
        lines = [line for line in _lines(page)[0] if line.keys() != {"end"}]
        return common(lines), {}
    fields = common(page.json())
    items = fields.pop(document.list_field, [])
    for field in ("next", "log_end"):
        fields.pop(field, None)
    return items, fields


def _compared(
    client: httpx.Client,
    name: str,
    query: Query,
    size: int,
    *,
    change: Callable[[], None] = lambda: None,
    pages_max: int = PAGES_MAX,
) -> int:
    """Compare pages with the whole list; return their number.

    Args:
        change: Called after the first page.
    """
    whole, fields = _list(name, client.get(path_of(name), params=query))
    pages = []
    for page in itertools.islice(_pages(client, name, query, size), pages_max):
        pages.append(_list(name, page))
        assert pages[-1][1] == fields
        if len(pages) == 1:
            change()
    found = [item for items, _ in pages for item in items]
    assert found == whole[: len(found)]
    assert len(pages) == pages_max or len(found) == len(whole)
    assert all(len(items) == size for items, _ in pages[:-1])
    assert len(pages[-1][0]) <= size
    return len(pages)


@pytest.mark.parametrize(("name", "query"), _QUERIES)
def test_pages_together_are_the_whole_list(served: httpx.Client, name: str, query: Query) -> None:
    for size in SIZES:
        _compared(served, name, query, size)


_LONG: dict[str, Query] = {
    "configs explain": [("resource_type", "BROKER"), ("resource_name", "")],
    "topics lives": [("name", "lives")],
}
"""Queries of lists with several items, where the first in QUERIES has one."""


@pytest.mark.parametrize("name", LISTS)
def test_pages_are_of_one_image_while_the_log_changes(served: httpx.Client, name: str) -> None:
    query = _LONG.get(name) or next(each for each in QUERIES[name] if each is not None)
    change = partial(_change, served, f"{name.replace(' ', '')}")
    assert _compared(served, name, query, 1, change=change, pages_max=5) > 1


def test_pages_of_outages_count_up_to_one_time(served: httpx.Client) -> None:
    totals = []
    for page in itertools.islice(
        _pages(served, "outages", [("to", "now"), ("until", "now")], 1), 3
    ):
        totals.append(page.json()["totals"])
        time.sleep(0.01)
    assert any(each["lasting"] for each in totals[0].values())
    assert totals == [totals[0]] * 3


async def test_changed_cursors_are_refused(web: Web) -> None:
    for number in range(3):
        await web.http.post("/v1/notes/add", json={"at_offset": 0, "text": f"note {number}"})
    for path in ("/v1/notes/list", "/v1/features/describe"):
        first = await web.http.get(path, params={"limit": 1})
        cursor: str = first.json()["next"]
        changed = [
            cursor[:i] + ("B" if c == "A" else "A") + cursor[i + 1 :]
            for i, c in enumerate(cursor[:-1])
        ]
        for text in ("", "x", "%", "\u00e9", "\x00", cursor[:-4], cursor + "AAAA", *changed):
            refused = await web.http.get(path, params={"limit": 1, "cursor": text})
            assert refused.status_code == 400, text
            assert refused.json()["code"] == "INVALID_REQUEST"
            assert "send the `next` of the page before" in refused.json()["detail"]
        elsewhere = await web.http.get("/v1/brokers/list", params={"cursor": cursor})
        assert elsewhere.status_code == 400
        same: dict[str, Any] = {"cursor": cursor, "limit": 2, "min_offset": 0}
        assert (await web.http.get(path, params=same)).status_code == 200
        more: dict[str, Any]
        for more in ({"at": "end-1"}, {"as": "User:x"}):
            assert (await web.http.get(path, params=same | more)).status_code == 400
    for limit in ("0", "-1", "x", "1.5", "9" * 18, ""):
        refused = await web.http.get("/v1/notes/list", params={"limit": limit})
        assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")
    for name in ("info", "blame"):
        refused = await web.http.get(path_of(name), params={"limit": 1})
        assert "there is no such parameter" in refused.json()["detail"]


async def test_forged_cursors_with_a_right_checksum_are_never_a_mistake(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever knows the form of a cursor gets no more than by a fresh question."""
    end = web.at.service.image.provenance.next_offset
    made: list[tuple[Any, ...]] = [
        (0, 1, {"end": end - 1}, 0, 200),
        (10**9, 10**9, {"end": end - 1}, 0, 200),
        (10**9 + 1, 0, {"end": end - 1}, 0, 400),
        (-1, 0, {"end": end - 1}, 0, 400),
        (0, 0, {}, 0, 400),
        (0, 0, {"end": "1"}, 0, 400),
        (0, 0, {"end": end}, 0, 410),
        (0, 0, {"end": 2**63}, 0, 410),
        (0, 0, {"end": -2}, 0, 410),
        ("x", 0, {"end": 1}, 0, 400),
    ]
    for first in (-5, 2**62):
        forged = {"end": end - 1, "start": first, "from start": first, "clock": first}
        made.append((0, 0, forged, 0, 200))
    monkeypatch.setattr(paging, "_check", lambda subject, of: b"12345678")
    for position, worker, points, start, status in made:
        content = msgspec.msgpack.encode((position, worker, points, start))
        text = base64.urlsafe_b64encode(b"12345678" + content).decode()
        for name in LISTS:
            query = next(each for each in QUERIES[name] if each is not None)
            if any(key in ("to", "at") for key, _ in query):
                continue
            answer = await web.http.get(path_of(name), params=[*query, ("cursor", text)])
            # An object or a point of the question may not exist here.
            expected = {200, 400, 404} if status == 200 else {status}
            assert answer.status_code in expected, (name, points, answer.text)


async def test_a_list_that_the_log_does_not_hold_any_more_is_gone(web: Web) -> None:
    for number in range(3):
        await web.http.post("/v1/notes/add", json={"at_offset": 0, "text": f"note {number}"})
    of_state, of_past = "/v1/features/describe", "/v1/notes/list"
    cursors = {
        path: (await web.http.get(path, params={"limit": 1})).json()["next"]
        for path in (of_state, of_past)
    }
    as_of = web.at.service.image.provenance.next_offset - 1

    async def status(path: str) -> tuple[int, str]:
        answer = await web.http.get(path, params={"cursor": cursors[path]})
        return answer.status_code, answer.json().get("detail", "")

    web.at.service.answers.cut(as_of + 1)  # the state before the first kept record is known
    assert await status(of_state) == (200, "")
    code, detail = await status(of_past)
    assert code == 410
    assert f"history started at 0 then, and starts at {as_of + 1} now" in detail
    assert "ask without cursor" in detail
    web.at.service.answers.cut(as_of + 2)
    assert (await status(of_state))[0] == 410


async def test_a_list_continues_after_a_restart(tmp_path: Path) -> None:
    params = {"limit": 2}
    async with (
        server(tmp_path, http=LOOPBACK) as at,
        httpx.AsyncClient(base_url=at.http_url) as http,
    ):
        whole = (await http.get("/v1/features/describe")).json()["features"]
        page = (await http.get("/v1/features/describe", params=params)).json()
    async with (
        server(tmp_path, http=LOOPBACK) as at,
        httpx.AsyncClient(base_url=at.http_url) as http,
    ):
        rest = (await http.get("/v1/features/describe", params={"cursor": page["next"]})).json()
    assert page["features"] + rest["features"] == whole
    assert (page["as_of"], rest["next"]) == (rest["as_of"], None)


async def test_a_cursor_gives_no_more_than_a_fresh_question(tmp_path: Path) -> None:
    rights = AclAuthorizer(super_users=frozenset({"User:root", "User:ANONYMOUS"}))
    lines = [f"{name}:{hashlib.sha256(name.encode()).hexdigest()}" for name in ("root", "ann")]
    (tmp_path / "tokens").write_text("\n".join(lines))
    http = HttpOptions.parse("127.0.0.1:0", tmp_path / "tokens")
    async with (
        server(tmp_path, http=http, settings=Settings(authorizer=rights)) as at,
        httpx.AsyncClient(base_url=at.http_url, timeout=30) as client,
    ):
        await at.register(1)

        async def ask(name: str, path: str, **params: Any) -> httpx.Response:
            headers = {"Authorization": f"Bearer {name}"}
            return await client.get(f"/v1/{path}", params=params, headers=headers)

        async def run(path: str, body: Any) -> None:
            headers = {"Authorization": "Bearer root"}
            (await client.post(f"/v1/{path}", json=body, headers=headers)).raise_for_status()

        placed = [{"partition_id": 0, "broker_ids": [1]}]
        for number in range(4):
            names = (f"ann.{number}", f"other.{number}")
            await run(
                "topics/create", {"topics": [{"name": n, "assignments": placed} for n in names]}
            )
        for count in range(2, 6):
            await run("topics/alter", {"topics": [{"topic": "ann.0", "partitions": count}]})
        acl = {
            "resource_type": "TOPIC",
            "resource_name": "ann.",
            "pattern_type": "PREFIXED",
            "principal": "User:ann",
            "host": "*",
            "operation": "DESCRIBE",
            "permission_type": "ALLOW",
        }
        await run("acls/create", {"acls": [acl]})
        for path, params in _OF_TOPICS.items():
            roots = await ask("root", path, limit=1, **params)
            stolen = await ask("ann", path, cursor=_next(roots), limit=1, **params)
            assert stolen.status_code == 400, path
            pages = [await ask("ann", path, limit=3, **params)]
            assert pages[0].status_code == 200, (path, pages[0].text)
            while (cursor := _next(pages[-1])) is not None:
                pages.append(await ask("ann", path, cursor=cursor, limit=3, **params))
            assert len(pages) > 1
            assert "other" not in "".join(page.text for page in pages)
            whole = await ask("ann", path, **params)
            name = path.replace("/", " ")
            found = [item for page in pages for item in _list(name, page)[0]]
            assert found == _list(name, whole)[0]
        cursors = {
            path: _next(await ask("ann", path, limit=1, **params))
            for path, params in _OF_TOPICS.items()
        }
        await run("acls/delete", {"filters": [{"principal": "User:ann"}]})
        for path, params in _OF_TOPICS.items():
            later = await ask("ann", path, cursor=cursors[path], **params)
            fresh = await ask("ann", path, **params)
            assert later.status_code == fresh.status_code
            assert "ann.1" not in later.text.replace(str(params.get("object")), "")


_OF_TOPICS: dict[str, dict[str, Any]] = {
    "topics/list": {},
    "topics/describe": {},
    "partitions/describe": {},
    "history": {"object": "topic:ann.0"},
    "diff": {"from": "start"},
}
"""Lists of which a caller with rights on some topics is shown these, with parameters."""


async def _create(web: Web, numbers: range) -> None:
    topics = [{"name": f"{number:0240}", "partitions": 1} for number in numbers]
    for at in range(0, len(topics), 1_000):
        some = {"topics": topics[at : at + 1_000]}
        assert (await web.http.post("/v1/topics/create", json=some)).is_success


async def test_a_document_of_several_pages_is_encoded_in_a_thread(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_loop: list[bool] = []
    sizes: list[int] = []
    encode, content = questions.encoded, Page.content

    def noting(*arguments: Any) -> bytes:
        on_loop.append(threading.current_thread() is threading.main_thread())
        return encode(*arguments)

    def sized(page: Page, kind: Any) -> Any:
        sizes.append(len(page.payload))
        return content(page, kind)

    monkeypatch.setattr(questions, "encoded", noting)
    monkeypatch.setattr(Page, "content", sized)
    await _create(web, range(40))
    await web.http.get("/v1/image")
    # The second page is much smaller than the first.
    await _create(web, range(40, 40 * PAGE_BYTES // sizes[0] + 70))
    sizes.clear()
    await web.http.get("/v1/image")
    assert sizes[0] >= PAGE_BYTES and len(sizes) == 2 and sizes[1] < 64 * 1_024, sizes
    assert on_loop == [True, False]
