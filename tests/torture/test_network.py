"""A part of the campaign `network`, and readers that go wrong, which it must notice."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from api.kafka.connection import Connection
from api.kafka.messages.records_io import FetchRequest
from api.quorum import observer
from api.quorum.controller import Controller
from api.quorum.requests import fetch_request
from metadata_log.format.parts import Parts, parts_json
from metadata_log.kraft.observed_mirror import ObservedMirror
from records.errors import UnavailableError
from tests.torture.campaign import Place
from tests.torture.campaigns import network

_WITH_A_GAP = 27
"""The first schedule in which the reader falls behind the start of the log."""


def failures(number: int) -> list[str]:
    return [each.message for each in network.reproduce(Place(seed=0, point=number)).failures]


@pytest.mark.parametrize("number", range(12))
def test_mirror_is_what_the_quorum_committed(number: int) -> None:
    assert failures(number) == []


def _confirms_the_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(self: ObservedMirror, records: bytes, high_watermark: int, source: str) -> None:
        _take(self, records, 2**40, source)

    _take = ObservedMirror.take
    monkeypatch.setattr(ObservedMirror, "take", take)


def _keeps_what_was_withdrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ObservedMirror, "diverge", lambda *_: None)


def _splices_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of parts says that nothing is missing."""

    def listed(parts: Parts) -> bytes:
        return parts_json(Parts(earlier=parts.earlier[:-1]))

    monkeypatch.setattr("metadata_log.kraft.next_part.parts_json", listed)


def _names_a_gap_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    def listed(parts: Parts) -> bytes:
        *earlier, last = parts.earlier
        gap = replace(last.gap, to_offset=last.gap.to_offset - 1)
        return parts_json(Parts(earlier=(*earlier, replace(last, gap=gap))))

    monkeypatch.setattr("metadata_log.kraft.next_part.parts_json", listed)


def _names_itself_a_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    def request(*args: Any, **fields: Any) -> FetchRequest:
        # Up to version 14; later versions say it in another field.
        return replace(fetch_request(*args, **fields), replica_id=2)

    monkeypatch.setattr(observer, "fetch_request", request)


def _takes_a_late_answer_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is repeated on its connection after a time-out; no correlation id is compared."""

    def answer(self: Connection, frame: bytes) -> bool:
        for decode, future in self._waiting.values():
            if not future.done():
                future.set_result(decode(frame))
                return True
        return False

    async def ask_twice(self: Controller, *args: Any) -> Any:
        try:
            return await ask(self, *args)
        except UnavailableError as error:
            if not isinstance(error.__cause__, TimeoutError):
                raise
            return await ask(self, *args)

    ask = Controller.ask
    monkeypatch.setattr(Connection, "_answer", answer)
    monkeypatch.setattr(Controller, "ask", ask_twice)


@pytest.mark.parametrize(
    "plant",
    [
        _confirms_the_tail,
        _keeps_what_was_withdrawn,
        _splices_silently,
        _names_a_gap_too_small,
        _names_itself_a_replica,
        _takes_a_late_answer_for_the_next,
    ],
)
def test_reader_that_goes_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)
    assert any(failures(number) for number in (*range(12), _WITH_A_GAP))
