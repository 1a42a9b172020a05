"""Questions about the past are authorized like commands, item by item."""

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.questions.bisect import FindFlips
from api.questions.blame import ShowBlame
from api.questions.check import CheckHistory
from api.questions.differences import ShowDiff
from api.questions.history import ShowHistory
from api.questions.kafka_script import ShowScript
from api.questions.lives import ShowLives
from api.questions.log_info import ShowInfo
from api.questions.nodes import ListNodes
from api.questions.notes import ListNotes
from api.questions.objects import ShowDigest, ShowImage, ShowKraftImage
from api.questions.outages import ShowOutages
from api.questions.overview import ShowOverview
from api.questions.report import ShowReport
from api.questions.rows import FollowRows, ShowRows
from api.questions.states import WalkStates
from api.questions.summary import ShowSummary
from api.questions.table import QUESTIONS, STEPS
from api.questions.timeline import ShowTimeline
from api.questions.upgrade import CheckUpgrade
from api.questions.usage import ShowUsage
from api.questions.why import AskWhy
from api.requests.what_if import AskWhatIf
from controller.authorization.authorizer import CLUSTER, Operation, topic_resource
from controller.decisions.configs.changes import AlterConfigs, ConfigChange, ResourceChange
from controller.descriptions.topics import DescribeTopics
from records.errors import RequestError
from replay.image.configs import TOPIC
from tests.api.guarded import (
    CLUSTER_REFUSED,
    REFUSED,
    TOPIC_REFUSED,
    guarded,
    nothing_written,
)
from tests.api.kafka.servers import Server
from tests.replay.report.unpacked import Unpacked

A = topic_resource("a")

REQUESTS: dict[str, Any] = {
    "info": ShowInfo(),
    "image": ShowImage(),
    "image overview": ShowOverview(),
    "image kraft": ShowKraftImage(),
    "digest": ShowDigest(),
    "history": ShowHistory(object="topic:a"),
    "export commands": ShowScript(),
    "diff": ShowDiff(before="start"),
    "blame": ShowBlame(object="partition:a/0#leader"),
    "dump": ShowRows(object="topic:a"),
    "tail": FollowRows(first="0"),
    "partitions states": WalkStates(topic="a"),
    "du": ShowUsage(),
    "timeline": ShowTimeline(),
    "notes list": ListNotes(),
    "nodes list": ListNodes(),
    "topics lives": ShowLives(name="a"),
    "outages": ShowOutages(),
    "summary": ShowSummary(),
    "why": AskWhy(object="topic:a"),
    "report": ShowReport(),
    "check": CheckHistory(),
    "upgrade-check": CheckUpgrade(to="4.0"),
    "bisect": FindFlips(expression="size(topics) > 0"),
    "what-if": AskWhatIf(first="start"),
}


def test_every_question_about_the_past_is_tried() -> None:
    assert set(REQUESTS) == set(QUESTIONS) - set(STEPS)


async def _answered(at: Server, question: str, request: Any) -> Any:
    """Return the answer, or the error code if the question is refused."""
    try:
        page = await at.client.page(question, request)
    except RequestError as error:
        return error.code
    return msgspec.to_builtins(page.response)


async def test_without_rights_nothing_is_told(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = set()
        with nothing_written(at):
            for question, request in REQUESTS.items():
                found = await _answered(at, question, request)
                if question == "image":  # parts without objects
                    assert all(piece["value"] == [] for piece in found)
                else:
                    assert found == () or found in REFUSED, question


async def test_with_the_right_to_one_topic_only_that_is_told(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.only = {(Operation.DESCRIBE, A)}
        shown = [o for piece in await _answered(at, "image", ShowImage()) for o in piece["value"]]
        names = {shown_object["object"] for shown_object in shown}
        assert names == {"topic:a", "partition:a/0", "partition:a/1"}
        changed = {c["object"] for c in await _answered(at, "diff", ShowDiff(before="start"))}
        assert changed == names
        for question in ("history", "blame", "dump", "partitions states"):
            assert await _answered(at, question, REQUESTS[question])
        assert await _answered(at, "history", ShowHistory(object="topic:b")) in REFUSED
        # A note about a record of this topic may tell of others.
        noted = ShowHistory(object="topic:a", notes=True)
        assert await _answered(at, "history", noted) == CLUSTER_REFUSED
        # A pattern would tell what else there is.
        assert await _answered(at, "history", ShowHistory(object="topic:*")) == CLUSTER_REFUSED
        assert await _answered(at, "dump", ShowRows()) == CLUSTER_REFUSED
        # A report is about the whole cluster, except one of topics.
        assert await _answered(at, "report", ShowReport()) == CLUSTER_REFUSED
        (piece,) = await _answered(at, "report", ShowReport(topics=("a",)))
        told = {
            (kind, label)
            for kind, label, _ in Unpacked(base64.b64decode(piece["content"])).objects()
        }
        assert told == {("topic", "a"), ("partition", 0)}
        others = ShowReport(topics=("a", "b"))
        assert await _answered(at, "report", others) in REFUSED


@pytest.mark.parametrize("name", ["config:topic/a", "config:2/a", "config:002/a"])
async def test_configs_of_a_topic_need_the_right_to_it_however_they_are_named(
    name: str, tmp_path: Path
) -> None:
    change = ResourceChange(
        resource_type=TOPIC, resource_name="a", changes=(ConfigChange("retention.ms", "1"),)
    )
    async with guarded(tmp_path) as (at, rights):
        await at.client.run("configs alter", AlterConfigs(resources=(change,)))
        rights.but = {(Operation.DESCRIBE_CONFIGS, A)}
        assert await _answered(at, "blame", ShowBlame(object=name)) == TOPIC_REFUSED
        assert await _answered(at, "history", ShowHistory(object=name)) == TOPIC_REFUSED
        rights.but, rights.only = set(), {(Operation.DESCRIBE_CONFIGS, A)}
        assert "retention.ms" in str(await _answered(at, "blame", ShowBlame(object=name)))


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("image", ShowImage(show_secrets=True)),
        ("dump", ShowRows(show_secrets=True)),
        ("topics describe", DescribeTopics(show_secrets=True)),
    ],
)
async def test_secrets_need_the_right_to_read_the_log_as_brokers_do(
    tmp_path: Path, question: str, request_: Any
) -> None:
    async with guarded(tmp_path) as (at, rights):
        rights.but = {(Operation.CLUSTER_ACTION, CLUSTER)}
        assert await _answered(at, question, request_) == CLUSTER_REFUSED
        hidden = msgspec.structs.replace(request_, show_secrets=False)
        assert await _answered(at, question, hidden) != CLUSTER_REFUSED
