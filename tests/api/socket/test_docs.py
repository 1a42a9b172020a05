"""The examples in docs/socket.md are the real bytes of the protocol."""

import re

from api.socket import limits
from api.socket.appends import Append, Appended, encode_append, encode_appended
from api.socket.frames import Kind
from metadata_log.format.batch import AppendResult, NewBatch
from records.control import NoteRecord
from tests.docs_console import ROOT

_PAGE = (ROOT / "docs" / "socket.md").read_text()


def example(name: str) -> bytes:
    """Return the bytes of the only example with that name."""
    (found,) = re.findall(rf"^```{name}\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
    return bytes.fromhex(found)


def test_example_of_a_request_is_what_a_client_sends() -> None:
    note = NoteRecord(at_offset=7, author="ann", text="why")
    request = Append(correlation_id=1, batch=NewBatch(records=(note,)), expected_end_offset=12)
    assert encode_append(request) == example("append")


def test_example_of_an_answer_is_what_a_server_sends() -> None:
    result = AppendResult(
        base_offset=12, end_offset=13, leader_epoch=3, timestamp=1_763_710_000_000
    )
    assert encode_appended(Appended(correlation_id=1, result=result)) == example("appended")


def test_every_kind_of_frame_has_its_row() -> None:
    rows = re.findall(r"^\| (\d) \| ([A-Z]+) \|", _PAGE, re.MULTILINE)
    assert {(int(number), name) for number, name in rows} == {(k.value, k.name) for k in Kind}


def test_limits_are_those_of_the_page() -> None:
    text = " ".join(_PAGE.split())
    assert f"{limits.CONNECTION_REQUESTS_MAX:,} requests or 16 MiB of a connection" in text
    assert limits.CONNECTION_BYTES_MAX // 2**20 == 16
    assert f"{limits.SERVER_REQUESTS_MAX:,} requests or 64 MiB of all" in text
    assert limits.SERVER_BYTES_MAX == 64 * 2**20
    assert f"{limits.UNSENT_BYTES_MAX // 1024} KiB of answers" in text
    assert f"within {limits.CLOSE_TIMEOUT_S:.0f} s" in text
