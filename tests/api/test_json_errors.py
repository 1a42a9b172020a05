"""What is wrong with a text that is not JSON is told as it is."""

from pathlib import Path

import msgspec
import pytest

from api.requests.json_errors import json_error
from tests.api.conftest import Metalog

_HALF = "utf-16 surrogate pair"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a":"\\ud800"}', _HALF),
        (b'"\\ud800"', _HALF),
        (b'"\\udc00"', _HALF),
        (b'"\\ud800\\u0041"', _HALF),
        (b'{"a":"x', "truncated"),
        (b'{"a":', "truncated"),
        (b"", "truncated"),
        (b"{]", "malformed"),
    ],
)
def test_half_of_a_surrogate_pair_is_not_called_truncated(text: bytes, reason: str) -> None:
    with pytest.raises(msgspec.DecodeError) as refused:
        msgspec.json.decode(text)
    assert reason in json_error(text, refused.value)
    assert json_error(text.decode(), refused.value) == json_error(text, refused.value)


def test_line_with_half_of_a_surrogate_pair_is_refused_with_the_byte(
    metalog: Metalog, tmp_path: Path
) -> None:
    log, lines = tmp_path / "log", tmp_path / "records.jsonl"
    assert metalog("init", log).code == 0
    lines.write_text('{"type":"TopicRecord","data":{"name":"\\ud800"}}\n')
    answer = metalog("append", lines, "--log", log)
    assert answer.code == 3
    assert "line 1: JSON is malformed" in answer.err
    assert _HALF in answer.err
