"""The web page of a service in a real browser."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from api.http import web_page
from api.http.options import HttpOptions
from controller.authorization.acls import SUPER_USERS, AclAuthorizer
from controller.decisions.context.context import Settings
from tests.api.report.conftest import picture
from tests.api.report.page_actions import select, texts
from tests.api.report.served import Served, Visitor, served
from tests.api.report.test_growing_page import CONTENTS
from tests.browser import Pages

LOOPBACK = HttpOptions(host="127.0.0.1", port=0)
LIVE = ".state.live"
BOB_READS = {"resource_type": 2, "resource_name": "orders", "operation": 3}
DASH = "\N{EN DASH}"
HIDE = """isHidden => {
  window.isHidden = isHidden;
  document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with a few topics."""
    with served(tmp_path_factory.mktemp("served"), LOOPBACK) as found:
        found.create("orders", "payments")
        found.create("refunds")
        yield found


@pytest.fixture
def visitor(pages: Pages) -> Iterator[Visitor]:
    """Fails the test if a page broke its own content security policy, threw an error or requested
    another host.
    """
    found = Visitor(pages)
    yield found
    # The browser says itself that a request was refused; what the page does then is tested.
    assert [text for text in found.errors if "Failed to load resource" not in text] == []
    inside = "http://127.0.0.1:", "data:", "about:blank"
    assert [url for url in found.asked if not url.startswith(inside)] == []


def linked(service: Served, page: Page) -> str:
    """Return the link of the current selection; the address bar is updated a little later."""
    return f"{service.url}/{page.evaluate('report.selection.link()')}"


@pytest.mark.parametrize(
    ("width", "scheme"), [(80, "light"), (400, "light"), (1000, "dark"), (2560, "light")], ids=str
)
def test_page_fits_every_width_and_scheme(
    service: Served, visitor: Visitor, width: int, scheme: str
) -> None:
    with visitor.visit(service.url, width=width, scheme=scheme, until=LIVE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert texts(page, ".events > li")
        picture(page, f"served_{width}_{scheme}")
    assert any(url.endswith("/page/served/main.js") for url in visitor.asked)


def test_a_link_restores_the_view(service: Served, visitor: Visitor) -> None:
    with visitor.visit(f"{service.url}/#from=1&to=9&object=broker:1&first=1&last=12") as page:
        assert page.evaluate("[report.data.first, report.data.last]") == [1, 12]
        expect(page.locator(".state.still")).to_have_text("not live: the range has an end")
        select(page, 4, 11, "topic:orders")
        shown = [texts(page, selector) for selector in (".events", ".changes", ".command code")]
        with visitor.visit(linked(service, page)) as again:
            for selector, found in zip(
                (".events", ".changes", ".command code"), shown, strict=True
            ):
                assert texts(again, selector) == found
        assert shown[2][0].startswith("metalog timeline --server kafka://127.0.0.1:")


def test_new_changes_appear_without_a_reload(service: Served, visitor: Visitor) -> None:
    with visitor.visit(service.url, until=LIVE) as page:
        page.evaluate("window.isSame = true")
        before = texts(page, ".events > li")
        end = service.create("appeared")
        news = page.locator("button.news")
        expect(news).to_have_text("3 new records")
        assert texts(page, ".events > li") == before, "what is selected stays"
        picture(page, "served_new")
        news.click()
        assert linked(service, page).split("&to=")[1].startswith("end")
        expect(page.locator(".events > li")).to_contain_text(["topic appeared created"])
        expect(news).to_be_hidden()
        service.create("followed")
        expect(page.locator(".events")).to_contain_text("topic followed created")
        expect(page.locator(".range")).to_contain_text(f"0 {DASH} {end + 3}")
        assert page.evaluate("isSame")
        # The link of a selection that follows the end follows it again.
        with visitor.visit(linked(service, page)) as again:
            assert texts(again, ".events > li") == texts(page, ".events > li")


def test_what_grows_is_small_and_the_same_as_loaded_anew(service: Served, visitor: Visitor) -> None:
    service.create(*[f"many-{n}" for n in range(200)])
    with visitor.visit(service.url, until=LIVE) as page:
        whole = len(service.http.get("/v1/report/columns").content)
        page.evaluate("report.data.wasThere = true")
        for n in range(4):
            before = page.evaluate("served.live.received")
            last = service.create(*[f"grown-{n}-{topic}" for topic in range(3)])
            page.wait_for_function("last => report.data.last === last", arg=last)
            size = page.evaluate("served.live.received") - before
            assert 0 < size < min(3_300, whole / 3), (n, whole)
        assert page.evaluate("report.data.wasThere"), "the columns were never loaded again"
        with visitor.visit(linked(service, page), until=LIVE) as fresh:
            grown, anew = [each.evaluate(f"({CONTENTS})(report.data)") for each in (page, fresh)]
            assert grown == anew


def test_a_view_of_the_past_stays_while_records_come(service: Served, visitor: Visitor) -> None:
    with visitor.visit(service.url, until=LIVE) as page:
        select(page, 8, 10, "topic:orders")
        page.keyboard.press("z")
        page.keyboard.press("h")
        expect(page.locator(".answer h3")).to_contain_text("topic:orders")
        shown = "[report.picture.viewBegin, report.picture.viewEnd, report.selection.link()]"
        before = page.evaluate(shown), texts(page, ".events, .changes, .answer")
        last = service.create("while-reading")
        page.wait_for_function("last => report.data.last === last", arg=last)
        assert (page.evaluate(shown), texts(page, ".events, .changes, .answer")) == before
        page.keyboard.press("0")
        last = service.create("while-reading-on")
        page.wait_for_function("last => report.data.last === last", arg=last)
        assert page.evaluate("report.picture.viewEnd >= report.picture.times.at(-1)")


def test_what_is_read_stays_open_while_the_end_is_followed(
    service: Served, visitor: Visitor
) -> None:
    with visitor.visit(service.url, until=LIVE) as page:
        page.evaluate("report.selection.set({ from: 0, to: Infinity, object: 'broker:1' })")
        page.keyboard.press("w")
        expect(page.locator(".answer h3")).to_contain_text("broker:1#fenced")
        page.locator(".filter button", has_text="only broker:1").click()
        event = page.locator(".events > li", has_text="topic orders created")
        event.locator(".event").click()
        expect(event.locator(".objects")).to_contain_text("4 partitions: created")
        row = page.locator(".names .pick").first.element_handle()
        last = service.create("while-following")
        expect(page.locator(".events")).to_contain_text("while-following created")
        assert page.evaluate("report.selection.to") >= last
        expect(event.locator(".objects")).to_contain_text("4 partitions: created")
        expect(page.locator(".answer h3")).to_contain_text("broker:1#fenced")
        assert page.evaluate("row => row.isConnected", row), "a name can be clicked"
        select(page, 2, last)
        expect(page.locator(".events .objects")).to_have_count(0)


def test_a_page_behind_others_has_no_stream(service: Served, visitor: Visitor) -> None:
    with visitor.visit(service.url, until=LIVE) as page:
        page.evaluate("Object.defineProperty(document, 'hidden', { get: () => window.isHidden })")
        service.create("seen")
        expect(page.locator("button.news")).to_have_text("3 new records")
        page.evaluate(HIDE, True)
        service.wait_for_streams(0)
        asked = len(visitor.asked)
        service.create("unseen")
        last = service.create("unseen-too")
        assert service.http.get("/v1/info").json()["log_end"] == last + 1
        assert len(visitor.asked) == asked
        page.evaluate(HIDE, False)
        expect(page.locator("button.news")).to_have_text("9 new records")
        expect(page.locator(LIVE)).to_be_visible()


def test_a_page_whose_stream_is_cut_goes_on_where_it_was(service: Served, visitor: Visitor) -> None:
    with visitor.visit(service.url, until=LIVE) as page:
        page.evaluate("report.data.wasThere = true")
        for n in range(3):
            service.wait_for_streams(1)
            service.create(f"before-cut-{n}")
            service.cut_streams()
            last = service.create(f"after-cut-{n}")
            page.wait_for_function("last => report.data.last === last", arg=last)
        assert page.evaluate("report.data.wasThere"), "the columns were never loaded again"
        with visitor.visit(linked(service, page), until=LIVE) as fresh:
            grown, anew = [each.evaluate(f"({CONTENTS})(report.data)") for each in (page, fresh)]
            assert grown == anew
        streams = [url for url in visitor.asked if "/v1/report/growth" in url]
        assert len(streams) >= 4


def test_the_service_answers_what_is_clicked(service: Served, visitor: Visitor) -> None:
    end: int = service.http.get("/v1/info").json()["log_end"] - 1
    link = f"{service.url}/#from={end}&to={end}&object=topic:orders&first={end}"
    with visitor.visit(link) as page:
        # The page has one record; the topic was made before it.
        answer = page.locator(".answer")
        page.get_by_role("button", name="history").click()
        expect(answer.locator("h3")).to_have_text(f"topic:orders: 3 changes up to {end}")
        expect(answer.locator("li .text")).to_contain_text(["new: topic_id="])
        page.get_by_role("button", name="blame").click()
        blame = service.http.get("/v1/blame", params={"object": "topic:orders", "at": end}).json()
        expect(answer.locator("li")).to_have_count(len(blame["fields"]))
        picture(page, "served_blame")
        page.get_by_role("button", name="why").click()
        expect(answer.locator("h3")).to_contain_text("topic:orders#")
        chain = service.http.get("/v1/why", params={"object": "topic:orders", "at": end}).json()
        expect(answer.locator("li .offset")).to_have_text(
            [str(each["offset"]) for each in chain["chain"]]
        )
        assert texts(page, ".answer code")[0].startswith("metalog why --server kafka://")
        page.get_by_role("button", name="all objects").click()
        page.get_by_role("button", name="outages").click()
        expect(answer.locator("h3")).to_contain_text(f"from {end} to {end}")
        page.evaluate("report.answers.history('topic:never')")
        expect(answer.get_by_role("alert")).to_contain_text("topic:never")


def test_a_topic_is_shown_with_its_configs(service: Served, visitor: Visitor) -> None:
    change = {"name": "retention.ms", "value": "86400000"}
    resource = {"resource_type": 2, "resource_name": "refunds", "changes": [change]}
    altered = service.http.post("/v1/configs/alter", json={"resources": [resource]}).json()
    at = altered["committed_at"]
    with visitor.visit(f"{service.url}/#from={at}&to={at}&object=topic:refunds") as page:
        expect(page.locator(".changes .name-of")).to_have_text(["config:topic/refunds"])
        expect(page.locator(".changes .line")).to_have_text(["new: retention.ms=86400000"])
        page.get_by_role("button", name="history").click()
        expect(page.locator(".answer .command code")).to_have_text(
            [
                re.compile(f"history .* {name} --to")
                for name in ("topic:refunds", "config:topic/refunds")
            ]
        )
        page.locator(".answer .remark button").click()
        expect(page.locator(".answer li .offset")).to_have_text([str(at)])


def test_everything_is_reached_by_keys(service: Served, visitor: Visitor) -> None:
    with visitor.visit(service.url, until=LIVE) as page:
        page.keyboard.press("n")
        assert page.evaluate("report.selection.follows")
        page.keyboard.press("/")
        page.keyboard.type("broker 1")
        page.keyboard.press("Enter")
        for key, label in (("h", "history"), ("b", "blame"), ("o", "outages"), ("w", "why")):
            page.keyboard.press(key)
            expect(page.locator(f".answer[aria-label={label}] h3")).to_contain_text("broker:1")
        page.keyboard.press("Escape")
        expect(page.locator(".answer")).to_be_hidden()
        page.keyboard.press("?")
        expect(page.locator("dialog")).to_contain_text("follow it")


def test_a_note_of_a_reader_who_may_write_is_in_the_log(service: Served, visitor: Visitor) -> None:
    end = service.create("noted")
    with visitor.visit(f"{service.url}/#from={end}&to=end", until=LIVE) as page:
        page.keyboard.press("p")
        expect(page.get_by_label("offset of the record")).to_have_value(str(end))
        page.keyboard.type("disk of the rack was full")
        page.keyboard.press("Enter")
        words = "disk of the rack was full by User:ANONYMOUS"
        pins = page.get_by_role("group", name="notes").get_by_role("button")
        expect(pins.and_(page.get_by_role("button", name=words))).to_be_visible()
        expect(page.locator(".pinned [role=status]")).to_contain_text(f"record {end} in the log")
        assert "note=" not in page.evaluate("report.selection.link()")
        assert page.evaluate("document.activeElement.textContent") == "✎ note"
        # A refusal loses no text, and the address can keep it.
        page.keyboard.press("p")
        page.get_by_label("offset of the record").fill("999999")
        page.get_by_label("text of the note").fill("from nowhere")
        page.keyboard.press("Enter")
        expect(page.locator(".pinned [role=status]")).to_contain_text("no record has the offset")
        expect(page.get_by_label("text of the note")).to_have_value("from nowhere")
    listed = service.http.get("/v1/notes/list").json()["notes"]
    assert [(n["at_offset"], n["text"]) for n in listed] == [(end, "disk of the rack was full")]


def test_another_range_is_loaded(service: Served, visitor: Visitor) -> None:
    with visitor.visit(service.url, until=LIVE) as page:
        page.fill("#from", "2")
        page.fill("#to", "7")
        page.keyboard.press("Enter")
        expect(page.locator(".range")).to_contain_text(f"offsets 2 {DASH} 7")
        expect(page.locator(".state")).to_contain_text("not live")
        page.fill("#from", "1000000")
        page.keyboard.press("Enter")
        expect(page.locator(".load .failed")).to_contain_text("1000000")
        page.fill("#from", "end-1")
        page.fill("#to", "end")
        page.keyboard.press("Enter")
        expect(page.locator(LIVE)).to_be_visible()
        first, last, _ = page.evaluate("[report.data.first, report.data.last, 0]")
        assert last == first + 1


def test_what_is_left_out_of_a_long_log_is_said(
    service: Served, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_page, "PAGE_RECORDS", 5)
    with visitor.visit(service.url, until=LIVE) as page:
        said = page.locator(".remarks li")
        expect(said).to_contain_text(f"This is a part of offsets 0 {DASH} ")
        service.create("later")
        expect(page.locator("button.news")).to_be_visible()
        expect(said).to_contain_text(f"This is a part of offsets 0 {DASH} ")


def test_a_full_page_keeps_what_is_read_and_else_drops_its_oldest_records(
    service: Served, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("PAGE_RECORDS", "PAGE_RECORDS_MAX"):
        monkeypatch.setattr(web_page, limit, 16)
    service.create(*[f"old-{n}" for n in range(6)])
    with visitor.visit(service.url, until=LIVE) as page:
        first, read = page.evaluate("[report.data.first, report.data.last]")
        page.keyboard.press("n")
        last = service.create(*[f"followed-{n}" for n in range(4)])
        page.wait_for_function("last => report.data.last === last", arg=last)
        kept = page.evaluate("report.data.first")
        assert first < kept and last - kept < 16
        select(page, kept, read)
        service.create(*[f"too-many-{n}" for n in range(4)])
        expect(page.locator(".state.still")).to_have_text(
            f"not live: the page is full. Press load for what came after offset {last}."
        )
        assert page.evaluate("[report.data.first, report.selection.from]") == [kept, kept]
        page.get_by_role("button", name="load").click()
        expect(page.locator(LIVE)).to_be_visible()
        assert page.evaluate("report.data.last") == last + 12


def test_an_outage_is_said_and_ends(visitor: Visitor, tmp_path: Path) -> None:
    with served(tmp_path, LOOPBACK) as first:
        first.create("before")
        port = int(first.url.rpartition(":")[2])
        # Its pages outlive it.
        visit = visitor.visit(first.url, until=LIVE)
        page = visit.__enter__()
        page.evaluate("report.data.wasThere = true")
    try:
        expect(page.locator(".state.away")).to_contain_text("What is shown may be old.")
        select(page, 0, page.evaluate("report.data.last"), "topic:before")
        page.keyboard.press("h")
        expect(page.locator(".answer h3")).to_contain_text("3 changes in this report")
        expect(page.locator(".answer [role=alert]")).to_have_text("the service does not answer")
        picture(page, "served_away")
        with served(tmp_path, HttpOptions(host="127.0.0.1", port=port)) as again:
            again.create("after")
            expect(page.locator(LIVE)).to_be_visible()
            page.keyboard.press("n")
            page.keyboard.press("a")
            expect(page.locator(".names")).to_contain_text("after")
            assert page.evaluate("report.data.wasThere"), "the columns were never loaded again"
            with visitor.visit(linked(again, page), until=LIVE) as fresh:
                grown, anew = [
                    each.evaluate(f"({CONTENTS})(report.data)") for each in (page, fresh)
                ]
                assert grown == anew
    finally:
        visit.__exit__(None, None, None)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with two users: ann may do everything, bob may read one topic."""
    directory = tmp_path_factory.mktemp("guarded")
    tokens = directory / "tokens"
    lines = [f"{name}:{hashlib.sha256(name.encode()).hexdigest()}" for name in ("ann", "bob")]
    tokens.write_text("\n".join(lines))
    static = {SUPER_USERS: "User:ann;User:ANONYMOUS"}
    settings = Settings(static_configs=static, authorizer=AclAuthorizer.of(static))
    http = HttpOptions.parse("127.0.0.1:0", tokens)
    with served(directory, http, token="ann", settings=settings) as found:
        found.create("orders", "payments")
        body = {"acls": [{"principal": "User:bob", **BOB_READS}]}
        assert found.http.post("/v1/acls/create", json=body).status_code == 200
        yield found


def test_a_reader_signs_in_and_out(guarded: Served, visitor: Visitor) -> None:
    with visitor.visit(guarded.url, until=".sign-in") as page:
        expect(page.locator("[role=status]")).to_have_text("This service asks who you are.")
        picture(page, "served_sign_in")
        page.keyboard.type("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("[role=status]")).to_have_text("This token is not known.")
        page.keyboard.type("ann")
        page.keyboard.press("Enter")
        page.wait_for_selector(LIVE)
        expect(page.locator(".names")).to_contain_text("orders")
        # The stream of events has the token, too.
        guarded.create("appeared")
        expect(page.locator("button.news")).to_be_visible()
        page.reload()
        page.wait_for_selector(LIVE)
        assert "ann" not in page.url
        page.get_by_role("button", name="sign out").click()
        page.wait_for_selector(".sign-in")


def test_a_reader_without_the_cluster_sees_own_topics(guarded: Served, visitor: Visitor) -> None:
    with visitor.visit(guarded.url, until=".sign-in") as page:
        page.keyboard.type("bob")
        page.keyboard.press("Enter")
        topics = page.locator(".own .name-of")
        expect(topics).to_have_text(["topic:orders"])
        expect(page.locator(".remarks")).to_contain_text("the topics that you may see")
        changed = ["topic:orders", "partition:orders/0", "partition:orders/1"]
        expect(page.locator(".changes .name-of")).to_have_text(changed)
        expect(page.locator(".names .pick")).to_have_text(["orders"])
        page.locator(".names .open").click()
        expect(page.locator(".names .pick")).to_have_text(["orders", "0", "1"])
        page.locator(".names .pick").first.click()
        expect(page.locator(".changes .name-of")).to_have_text(["topic:orders"])
        topics.click()
        page.get_by_role("button", name="blame").click()
        expect(page.locator(".answer h3")).to_contain_text("topic:orders at ")
        page.get_by_role("button", name="history").click()
        expect(page.locator(".answer li")).to_have_count(3)
        picture(page, "served_own")
        known = page.content() + page.evaluate("JSON.stringify(served.data.header)")
        for secret in ("payments", "broker 1", "broker:1", "kafka://", "User:bob"):
            assert secret not in known
        page.reload()
        expect(page.locator(".changes .name-of")).to_have_text(["topic:orders"])
        page.get_by_role("button", name="its configs").click()
        expect(page.locator("h2#difference")).to_contain_text("config:topic/orders")
        page.get_by_role("button", name="sign out").click()
        page.wait_for_selector(".sign-in")


def shown_topics(page: Page) -> str:
    """Return all that a page contains about topics."""
    content: str = page.content()
    return content + str(page.evaluate(f"({CONTENTS})(served.data)"))


def test_the_page_of_some_topics_is_live_and_knows_no_others(
    guarded: Served, visitor: Visitor
) -> None:
    acl = {"principal": "User:bob", "resource_type": 2, "operation": 3}
    of_team = {**acl, "resource_name": "team-", "pattern_type": 4}
    with visitor.visit(guarded.url, until=".sign-in") as page:
        page.keyboard.type("bob")
        page.keyboard.press("Enter")
        page.wait_for_selector(LIVE)
        topics = page.locator(".own .name-of")
        expect(topics).to_have_text(["topic:orders"])
        rows = page.evaluate("served.data.rows")
        last = guarded.create("unseen-one", "unseen-two")
        page.wait_for_function("last => served.data.last === last", arg=last)
        assert page.evaluate("served.data.rows") == rows
        assert "unseen" not in shown_topics(page)
        assert guarded.http.post("/v1/acls/create", json={"acls": [of_team]}).status_code == 200
        guarded.create("team-a")
        expect(topics).to_have_text(["topic:orders", "topic:team-a"])
        page.get_by_role("button", name="3 new changes").click()
        expect(page.locator(".changes .name-of").first).to_have_text("topic:team-a")
        topics.nth(1).click()
        expect(page.locator(".links")).to_contain_text("history")
        # The right goes while the stream is open.
        guarded.wait_for_streams(1)
        body = {"filters": [{"resource_name": "team-", "principal": "User:bob"}]}
        assert guarded.http.post("/v1/acls/delete", json=body).status_code == 200
        expect(topics).to_have_text(["topic:orders"])
        expect(page.locator(".names .pick")).to_have_text(["orders"])
        expect(page.locator(".changes")).to_be_empty()
        assert "team-a" not in shown_topics(page)


def test_a_topic_that_comes_into_sight_appears(guarded: Served, visitor: Visitor) -> None:
    acl = {"principal": "User:bob", "resource_type": 2, "operation": 3}
    guarded.create("hidden-a", "hidden-b")
    with visitor.visit(guarded.url, until=".sign-in") as page:
        page.keyboard.type("bob")
        page.keyboard.press("Enter")
        page.wait_for_selector(LIVE)
        topics = page.locator(".own .name-of")
        expect(topics).to_have_text(["topic:orders"])
        body = {"acls": [{**acl, "resource_name": "hidden-a"}]}
        assert guarded.http.post("/v1/acls/create", json=body).status_code == 200
        expect(topics).to_have_text(["topic:hidden-a", "topic:orders"])
        expect(page.locator(".names .pick")).to_contain_text(["hidden-a", "orders"])
        assert "hidden-b" not in shown_topics(page)
        filters = {"filters": [{"resource_name": "hidden-a", "principal": "User:bob"}]}
        assert guarded.http.post("/v1/acls/delete", json=filters).status_code == 200
        expect(topics).to_have_text(["topic:orders"])


def test_a_topic_that_moves_into_sight_appears_and_out_of_it_vanishes(
    guarded: Served, visitor: Visitor
) -> None:
    in_team = {"principal": "User:bob", **BOB_READS, "resource_type": 100, "resource_name": "team"}
    guarded.create("moves")
    for path, body in (
        ("namespaces/create", {"name": "team"}),
        ("acls/create", {"acls": [in_team]}),
    ):
        assert guarded.http.post(f"/v1/{path}", json=body).status_code == 200
    with visitor.visit(guarded.url, until=".sign-in") as page:
        page.keyboard.type("bob")
        page.keyboard.press("Enter")
        page.wait_for_selector(LIVE)
        topics = page.locator(".own .name-of")
        expect(topics).to_have_text(["topic:orders"])
        moved = {"topic": "moves", "from_namespace": "", "to_namespace": "team"}
        assert guarded.http.post("/v1/topics/move", json=moved).status_code == 200
        expect(topics).to_have_text(["topic:orders", "topic:team:moves"])
        page.get_by_label("partitions of team:moves").click()
        expect(page.locator(".names .pick")).to_contain_text(["orders", "team:moves", "0", "1"])
        picture(page, "served_moved_into_sight")
        back = {"topic": "moves", "from_namespace": "team", "to_namespace": ""}
        assert guarded.http.post("/v1/topics/move", json=back).status_code == 200
        expect(topics).to_have_text(["topic:orders"])
        assert "moves" not in shown_topics(page)


def test_a_reader_whose_token_ends_signs_in_anew(guarded: Served, visitor: Visitor) -> None:
    with visitor.visit(guarded.url, until=".sign-in") as page:
        page.keyboard.type("ann")
        page.keyboard.press("Enter")
        page.wait_for_selector(LIVE)
        guarded.wait_for_streams(1)
        with guarded.without_token("ann"):
            page.wait_for_selector(".sign-in")
            expect(page.locator("[role=status]")).to_have_text("This token is not known.")
