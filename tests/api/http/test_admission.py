"""A web page of another origin, open in a browser on this machine, cannot use the service."""

import pytest

from tests.api.http.conftest import Web

TOPIC = {"topics": [{"name": "orders"}]}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil"])
async def test_a_name_that_others_can_give_is_not_this_service(web: Web, host: str) -> None:
    for path in ("/v1/topics/list", "/health", "/v1/never"):
        response = await web.http.get(path, headers={"Host": host})
        assert response.status_code == 421
        assert response.json()["code"] == "MISDIRECTED_REQUEST"


@pytest.mark.parametrize("host", ["localhost:1", "127.0.0.1", "[::1]:80", "10.0.0.1"])
async def test_a_name_that_only_this_machine_has_is(web: Web, host: str) -> None:
    response = await web.http.get("/v1/topics/list", headers={"Host": host})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
async def test_another_page_is_refused(web: Web, headers: dict[str, str]) -> None:
    end = web.at.service.image.provenance.next_offset
    changed = await web.http.post("/v1/topics/create", json=TOPIC, headers=headers)
    asked = await web.http.get("/v1/topics/list", headers=headers)
    assert {changed.status_code, asked.status_code} == {403}
    assert changed.json()["code"] == "CROSS_ORIGIN"
    assert "access-control-allow-origin" not in asked.headers
    assert web.at.service.image.provenance.next_offset == end


async def test_its_own_page_is_not(web: Web) -> None:
    own = {"Origin": web.at.http_url, "Sec-Fetch-Site": "same-origin"}
    response = await web.http.post("/v1/topics/create", json=TOPIC, headers=own)
    assert response.status_code == 200


@pytest.mark.parametrize("given", ["text/plain", "application/x-www-form-urlencoded", ""])
async def test_a_form_is_no_command(web: Web, given: str) -> None:
    end = web.at.service.image.provenance.next_offset
    for path in ("/v1/topics/create", "/v1/records/append"):
        response = await web.http.post(path, content=b"{}", headers={"Content-Type": given})
        assert (response.status_code, response.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert web.at.service.image.provenance.next_offset == end


async def test_what_is_no_path_or_no_method_is_a_problem(web: Web) -> None:
    unknown = (await web.http.get("/v1/never")).json()
    assert unknown["code"] == "NO_SUCH_PATH"
    assert "GET /v1 lists" in unknown["detail"]
    for method, path, taken in (("GET", "/v1/topics/create", "POST"), ("PUT", "/v1/info", "GET")):
        wrong = await web.http.request(method, path)
        assert (wrong.status_code, wrong.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        assert wrong.json()["detail"].startswith(f"this path takes {taken}")
    for query in ("at=1&at=2", "never=1", "internal=maybe", "at=%ff"):
        response = await web.http.get(f"/v1/topics/list?{query}")
        assert (response.status_code, response.json()["code"]) == (400, "INVALID_REQUEST"), query


async def test_answers_are_not_for_other_pages(web: Web) -> None:
    for path in ("/v1/topics/list", "/v1/never", "/health"):
        headers = (await web.http.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("resource_type", ["0", "1", "99"])
async def test_a_type_that_has_no_configs_is_refused(web: Web, resource_type: str) -> None:
    asked = {"resource_type": resource_type, "resource_name": "x"}
    refused = await web.http.get("/v1/configs/describe", params=asked)
    assert (refused.status_code, refused.json()["code"]) == (400, "INVALID_REQUEST")


@pytest.mark.parametrize("path", ["/v1//topics/create", "//v1/topics///create//"])
async def test_several_slashes_are_one_for_each_check(web: Web, path: str) -> None:
    form = await web.http.post(web.at.http_url + path, content=b"{}")
    assert form.status_code == 415
    assert (await web.http.post(web.at.http_url + path, json=TOPIC)).status_code == 200
