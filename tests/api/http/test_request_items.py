"""Commands over HTTP with more items than the limit are refused before anything is looked up."""

from pathlib import Path

import httpx
import msgspec

from api.http.commands import ROUTES
from api.http.options import HttpOptions
from api.http.request import JSON
from api.service.refused_items import ITEMS_A_TURN
from controller import wire
from controller.authorization.authorizer import Operation, topic_resource
from controller.decisions.context.context import Settings
from tests.api.guarded import TOPIC_REFUSED, Rights
from tests.api.http.conftest import Web
from tests.api.kafka.servers import server


async def test_every_command_over_http_has_an_item_limit(web: Web) -> None:
    end = web.at.service.image.provenance.next_offset
    for path in ROUTES:
        for body in ({"items": [0] * (wire.ITEMS_MAX + 1)}, {"items": [[0] * 9_000] * 12}):
            raw = msgspec.json.encode(body)
            refused = await web.http.post(path, content=raw, headers={"Content-Type": JSON})
            assert (refused.status_code, refused.json()["code"]) == (413, "MESSAGE_TOO_LARGE"), path
    assert web.at.service.image.provenance.next_offset == end


async def test_a_caller_without_rights_gets_an_answer_for_each_of_many_items(
    tmp_path: Path,
) -> None:
    rights = Rights()
    settings, http = Settings(authorizer=rights), HttpOptions(host="127.0.0.1", port=0)
    names = [f"invented-{number}" for number in range(2 * ITEMS_A_TURN + 1)]
    async with (
        server(tmp_path, settings=settings, http=http) as at,
        httpx.AsyncClient(base_url=at.http_url, timeout=30) as client,
    ):
        end = at.service.image.provenance.next_offset
        rights.only = set()
        refused = await client.post("/v1/topics/delete", json={"topics": names})
        assert (refused.status_code, refused.json()["code"]) == (403, TOPIC_REFUSED)
        assert [each["name"] for each in refused.json()["results"]] == names
        # One that is allowed, in a later turn, is decided with all others.
        rights.only = {(Operation.DELETE, topic_resource(names[-1]))}
        partly = await client.post("/v1/topics/delete", json={"topics": names})
        results = partly.json()["results"]
        codes = [each["refusal"]["code"] for each in results]
        assert codes == [TOPIC_REFUSED] * (len(names) - 1) + ["UNKNOWN_TOPIC_OR_PARTITION"]
        assert at.service.image.provenance.next_offset == end
