"""Commands over HTTP: responses, refusals, repeated requests, and the written records."""

import msgspec

from api.http.questions import LINES
from records.control import NoteRecord
from records.json import to_json
from tests.api.http.conftest import Web

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def _created(name: str) -> dict[str, object]:
    return {"topics": [{"name": name, "partitions": 2}]}


async def _rows(web: Web) -> list[dict[str, object]]:
    text = (await web.http.get("/v1/dump")).text
    return [msgspec.json.decode(line) for line in text.splitlines()]


async def test_a_command_answers_with_its_place_and_is_explained_in_the_log(web: Web) -> None:
    response = await web.http.post(
        "/v1/topics/create",
        json=_created("orders"),
        params={"reason": "bénéfice"},
        headers={"traceparent": TRACE, "User-Agent": "shop"},
    )
    told = response.json()
    assert response.status_code == 200
    assert told["response"][0]["refusal"] is None
    assert (
        told["log_end"] == told["committed_at"] + 1 == web.at.service.image.provenance.next_offset
    )
    created = next(row for row in await _rows(web) if row["type"] == "TopicRecord")
    origin = created["origin"]
    assert isinstance(origin, dict)
    assert origin["principal"] == "User:ANONYMOUS"
    assert (origin["command"], origin["reason"]) == ("topics create", "bénéfice")
    assert origin["trace_parent"] == TRACE
    assert origin["client"].startswith("shop at 127.0.0.1:")


async def test_a_repeated_request_gets_its_first_answer(web: Web) -> None:
    key = {"Idempotency-Key": '"r-1"'}
    first = await web.http.post("/v1/topics/create", json=_created("orders"), headers=key)
    end = web.at.service.image.provenance.next_offset
    again = await web.http.post("/v1/topics/create", json=_created("orders"), headers=key)
    assert again.status_code == 200
    assert again.json()["response"] == first.json()["response"]
    assert again.json()["committed_at"] == first.json()["committed_at"]
    other = await web.http.post("/v1/topics/create", json=_created("others"), headers=key)
    assert (other.status_code, other.json()["code"]) == (400, "INVALID_REQUEST")
    assert web.at.service.image.provenance.next_offset == end


async def test_codes_are_given_by_name_or_number(web: Web) -> None:
    await web.http.post("/v1/topics/create", json=_created("orders"))
    for type_, value in (("TOPIC", "1000"), (2, "2000"), ("topic", "3000")):
        change = {"name": "retention.ms", "value": value}
        resource = {"resource_type": type_, "resource_name": "orders", "changes": [change]}
        body = {"resources": [resource]}
        altered = (await web.http.post("/v1/configs/alter", json=body)).json()
        assert altered["response"][0]["resource_type"] == "TOPIC"
        asked = {"resource_type": type_, "resource_name": "orders"}
        found = (await web.http.get("/v1/configs/describe", params=asked)).json()
        assert value in [each["value"] for each in found["configs"]]
    acl = {
        "resource_type": "TOPIC",
        "resource_name": "ord",
        "pattern_type": "PREFIXED",
        "principal": "User:ann",
        "operation": "READ",
        "permission_type": "DENY",
    }
    await web.http.post("/v1/acls/create", json={"acls": [acl]})
    wanted = {"resource_types": ["GROUP", "TOPIC"], "operation": "READ", "permission_type": 2}
    deleted = (await web.http.post("/v1/acls/delete", json={"filters": [wanted]})).json()
    (entry,) = deleted["response"][0]["deleted"]
    codes = [entry[field] for field in ("resource_type", "pattern_type", "operation")]
    assert codes == ["TOPIC", "PREFIXED", "READ"]


async def test_a_code_without_that_name_is_refused_with_the_names(web: Web) -> None:
    resource = {"resource_type": "TOPICS", "resource_name": "orders", "changes": []}
    response = await web.http.post("/v1/configs/alter", json={"resources": [resource]})
    assert response.status_code == 400
    assert response.json()["detail"] == (
        "'TOPICS' is neither a number nor one of TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, "
        "GROUP, NAMESPACE"
    )


async def test_what_was_seen_must_still_be_so(web: Web) -> None:
    await web.http.post("/v1/topics/create", json=_created("orders"))
    described = await web.http.get("/v1/topics/describe", params={"topics": "orders"})
    tag = described.headers["etag"]
    assert tag.startswith('"topic:orders=')
    change = {"topics": [{"topic": "orders", "partitions": 3}]}
    done = await web.http.post("/v1/topics/alter", json=change, headers={"If-Match": tag})
    assert done.status_code == 200, done.text
    config = {"topics": [{"topic": "orders", "partitions": 4}]}
    stale = '"partition:orders/2=absent"'
    refused = await web.http.post("/v1/topics/alter", json=config, headers={"If-Match": stale})
    versions = {each["object"]: each["version"] for each in done.json()["versions"]}
    assert refused.status_code == 412
    assert refused.json()["code"] == "INVALID_UPDATE_VERSION"
    assert refused.json()["current"] == str(versions["partition:orders/2"])
    assert "expected that it does not exist" in refused.json()["detail"]
    never = {"If-Match": '"topic:never=1"'}
    refused = await web.http.post("/v1/topics/alter", json=config, headers=never)
    assert (refused.status_code, refused.json()["current"]) == (412, "absent")
    assert "topic:never does not exist, expected version 1" in refused.json()["detail"]
    assert len(list(web.at.service.image.topics())) == 1


async def test_no_precondition_of_several_headers_is_lost(web: Web) -> None:
    headers = [("If-Match", '"topic:orders=1"'), ("If-Match", '"topic:others=absent"')]
    for given in (headers, headers[::-1]):
        refused = await web.http.post("/v1/topics/create", json=_created("orders"), headers=given)
        assert (refused.status_code, refused.json()["code"]) == (412, "INVALID_UPDATE_VERSION")


async def test_a_precondition_that_cannot_be_read_is_refused(web: Web) -> None:
    large = f'"topic:a={"9" * 5_000}"'
    for tag in (
        "",
        "*",
        "orders",
        '"orders"',
        '"topic:a=x"',
        "topic:a=1",
        '"=1"',
        '"topic:a=²"',
        large,
    ):
        response = await web.http.post(
            "/v1/topics/create",
            json=_created("orders"),
            headers=[(b"If-Match", tag.encode("latin-1"))],
        )
        assert (response.status_code, response.json()["code"]) == (400, "INVALID_REQUEST"), tag


async def test_refusals_are_problems_with_their_code(web: Web) -> None:
    await web.http.post("/v1/topics/create", json=_created("orders"))
    again = await web.http.post("/v1/topics/create", json=_created("orders"))
    assert again.headers["content-type"] == "application/problem+json"
    problem = again.json()
    assert (again.status_code, problem["code"]) == (409, "TOPIC_ALREADY_EXISTS")
    assert (problem["status"], problem["outcome"]) == (409, "nothing")
    assert problem["results"][0]["refusal"]["code"] == "TOPIC_ALREADY_EXISTS"
    both = {"topics": [{"name": "orders"}, {"name": "others"}]}
    some = await web.http.post("/v1/topics/create", json=both)
    assert some.status_code == 200
    assert [r["refusal"] is None for r in some.json()["response"]] == [False, True]
    for path, body, status, code in (
        ("topics/delete", {"topics": ["never"]}, 404, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("brokers/unregister", {"broker_id": 99}, 404, "BROKER_ID_NOT_REGISTERED"),
        ("topics/create", {"topics": 1}, 400, "INVALID_REQUEST"),
        ("topics/create", {"topic": []}, 400, "INVALID_REQUEST"),
        ("brokers/unregister", {"broker_id": 1 << 64}, 400, "INVALID_REQUEST"),
        ("topics/delete", {"topics": ["@x"]}, 400, "INVALID_REQUEST"),
        ("topics/create?topics=1", {"topics": []}, 400, "INVALID_REQUEST"),
    ):
        response = await web.http.post(f"/v1/{path}", json=body)
        assert (response.status_code, response.json()["code"]) == (status, code), response.text
    text = await web.http.post(
        "/v1/topics/create", content=b"{", headers={"Content-Type": "application/json"}
    )
    assert (text.status_code, text.json()["code"]) == (400, "INVALID_REQUEST")
    half = await web.http.post(
        "/v1/topics/create",
        content=rb'{"topics":[{"name":"\ud800"}]}',
        headers={"Content-Type": "application/json"},
    )
    assert "utf-16 surrogate pair (byte " in half.json()["detail"]


async def test_a_slash_at_the_end_changes_nothing(web: Web) -> None:
    created = await web.http.post("/v1/topics/create/", json=_created("orders"))
    assert created.status_code == 200, created.text
    listed = await web.http.get("/v1/topics/list/")
    assert [topic["name"] for topic in listed.json()["topics"]] == ["orders"]


async def test_a_question_is_not_posted(web: Web) -> None:
    for path in ("/v1/topics/list", "/v1/events", "/health"):
        response = await web.http.post(path, content=b"x")
        assert (response.status_code, response.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        assert response.headers["allow"]
    assert (await web.http.post("/v1/never", content=b"x")).status_code == 404


async def test_what_is_absent_was_deleted_or_never_there(web: Web) -> None:
    await web.http.post("/v1/topics/create", json=_created("gone"))
    deleted = await web.http.post("/v1/topics/delete", json={"topics": ["gone"]})
    await web.http.post("/v1/topics/create", json=_created("kept"))
    place = f"removed at offset {deleted.json()['committed_at']}"
    for path, params in (
        ("topics/describe", {"topics": "{}"}),
        ("partitions/removals", {"topic": "{}"}),
        ("partitions/describe", {"topic": "{}", "partition_id": "0"}),
        ("partitions/states", {"topic": "{}", "since": "end"}),
        ("configs/describe", {"resource_type": "2", "resource_name": "{}"}),
    ):
        for name, words in (("gone", place), ("never", "never existed")):
            given = {key: value.format(name) for key, value in params.items()}
            response = await web.http.get(f"/v1/{path}", params=given)
            assert response.status_code == 404, response.text
            assert response.json()["code"] == "UNKNOWN_TOPIC_OR_PARTITION"
            assert words in response.json()["detail"], (path, response.text)
    both = await web.http.get("/v1/topics/describe", params={"topics": ["gone", "kept"]})
    assert place in both.json()["errors"][0]["message"]
    broker = await web.http.get("/v1/brokers/describe", params={"broker_id": "77"})
    assert (broker.status_code, "never existed" in broker.json()["detail"]) == (404, True)


async def test_names_and_ids_are_told_apart(web: Web) -> None:
    created = await web.http.post("/v1/topics/create", json=_created("orders"))
    topic_id = created.json()["response"][0]["topic_id"]
    by_id = await web.http.get("/v1/topics/describe", params={"topics": f"@{topic_id}"})
    assert [topic["name"] for topic in by_id.json()["topics"]] == ["orders"]
    as_name = await web.http.get("/v1/topics/describe", params={"topics": topic_id})
    assert as_name.status_code == 404
    some = await web.http.get("/v1/topics/describe", params={"topics": ["orders", "never"]})
    assert [topic["name"] for topic in some.json()["topics"]] == ["orders"]
    assert [error["code"] for error in some.json()["errors"]] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    deleted = await web.http.post("/v1/topics/delete", json={"topics": [f"@{topic_id}"]})
    assert deleted.status_code == 200
    assert not [*web.at.service.image.topics()]


async def test_a_transaction_is_done_whole_or_not_at_all(web: Web) -> None:
    steps = [
        {"command": "topics create", "request": _created("orders")},
        {"command": "topics create", "request": _created("others")},
    ]
    done = await web.http.post("/v1/transaction", json={"steps": steps})
    assert [step["response"][0]["name"] for step in done.json()["response"]["steps"]] == [
        "orders",
        "others",
    ]
    end = web.at.service.image.provenance.next_offset
    mixed = [{"command": "topics create", "request": _created("new")}, steps[0]]
    refused = await web.http.post("/v1/transaction", json={"steps": mixed})
    assert (refused.status_code, refused.json()["code"]) == (409, "TOPIC_ALREADY_EXISTS")
    assert "step 2 of 2" in refused.json()["detail"]
    assert web.at.service.image.provenance.next_offset == end


def _note(text: str) -> str:
    data = to_json(NoteRecord(at_offset=0, author="ann", text=text))
    return msgspec.json.encode({"type": "NoteRecord", "data": data}).decode() + "\n"


async def test_records_are_appended_as_one_batch(web: Web) -> None:
    end = web.at.service.image.provenance.next_offset
    body = "".join(_note(f"n{number}") for number in range(3))
    headers = {"Content-Type": LINES, "Idempotency-Key": "b-1"}
    params: dict[str, str | int] = {"expected_end_offset": end, "reason": "by hand"}

    async def append(content: str, **more: str) -> tuple[int, dict[str, object]]:
        response = await web.http.post(
            "/v1/records/append", content=content, headers=headers | more, params=params
        )
        return response.status_code, response.json()

    status, told = await append(body)
    assert status == 200
    assert (told["records"], told["first_offset"], told["last_offset"]) == (3, end, end + 2)
    (origin,) = [row["origin"] for row in await _rows(web) if row["offset"] == end]
    assert isinstance(origin, dict)
    assert origin["client"].count("127.0.0.1") == 1
    assert await append(body) == (status, told)
    status, refused = await append(_note("another"))
    assert (status, refused["code"]) == (400, "INVALID_REQUEST")
    headers["Idempotency-Key"] = "b-2"
    status, refused = await append(body)
    assert (status, refused["code"]) == (412, "INVALID_UPDATE_VERSION")
    params.pop("expected_end_offset")
    for content, code in (
        ("", "INVALID_REQUEST"),
        ("{}\n", "INVALID_RECORD"),
        (body + "{\n", "INVALID_RECORD"),
        (_note("n") * 10_001, "MESSAGE_TOO_LARGE"),
    ):
        status, refused = await append(content)
        assert refused["code"] == code
    notes = (await web.http.get("/v1/notes/list")).json()["notes"]
    assert [note["text"] for note in notes] == ["n0", "n1", "n2"]


async def test_a_body_that_is_too_large_is_refused(web: Web) -> None:
    response = await web.http.post("/v1/topics/delete", json={"topics": ["x" * 1_000] * 1_100})
    assert (response.status_code, response.json()["code"]) == (413, "MESSAGE_TOO_LARGE")
