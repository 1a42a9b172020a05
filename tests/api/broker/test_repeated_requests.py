"""What a broker asks of the controller again while another node begins to lead."""

from collections.abc import Callable

import pytest

from api.broker import repeated_requests
from api.broker.repeated_requests import repeated
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError

ELSEWHERE = RequestError("NOT_CONTROLLER", "another node leads")
REFUSED = RequestError("UNKNOWN_SERVER_ERROR", "no right")
LOST = UnavailableError("no response arrived", outcome=Outcome.UNKNOWN)


class Controller:
    """Fails with these errors, then answers."""

    def __init__(self, *errors: MetadataLogError) -> None:
        self._errors = list(errors)
        self.asked = 0

    async def ask(self) -> bytes:
        self.asked += 1
        if self._errors:
            raise self._errors.pop(0)
        return b"answer"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_requests, "_PAUSE_S", 0.0)


def _safe() -> bool:
    return True


def _not_safe() -> bool:
    return False


@pytest.mark.parametrize("may_repeat", [_safe, _not_safe])
async def test_what_changed_nothing_is_asked_again(may_repeat: Callable[[], bool]) -> None:
    controller = Controller(ELSEWHERE, ELSEWHERE)
    assert await repeated(controller.ask, may_repeat=may_repeat) == b"answer"
    assert controller.asked == 3


async def test_change_without_an_answer_is_not_asked_again_if_it_could_be_done_twice() -> None:
    controller = Controller(ELSEWHERE, LOST)
    with pytest.raises(UnavailableError, match="no response arrived"):
        await repeated(controller.ask, may_repeat=_not_safe)
    assert controller.asked == 2


async def test_what_may_be_asked_twice_is_asked_again_without_an_answer() -> None:
    assert await repeated(Controller(LOST, ELSEWHERE).ask, may_repeat=_safe) == b"answer"


@pytest.mark.parametrize("safe", [(True, False), (False, True)], ids=["then not", "first not"])
async def test_each_node_that_is_asked_must_know_the_request_again(safe: tuple[bool, ...]) -> None:
    controller = Controller(LOST)
    with pytest.raises(UnavailableError, match="no response arrived"):
        await repeated(controller.ask, may_repeat=map(bool, safe).__next__)
    assert controller.asked == 1


@pytest.mark.parametrize("after", [REFUSED, ELSEWHERE], ids=["refused", "no leader"])
async def test_lost_answer_stays_unknown_whatever_comes_after_it(
    after: RequestError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_requests, "_WAIT_S", 0.02)
    with pytest.raises(UnavailableError, match="no response arrived"):
        await repeated(Controller(LOST, *[after] * 100_000).ask, may_repeat=_safe)


async def test_refusal_of_the_leader_is_final() -> None:
    controller = Controller(REFUSED)
    with pytest.raises(RequestError, match="no right"):
        await repeated(controller.ask, may_repeat=_safe)
    assert controller.asked == 1


async def test_it_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_requests, "_WAIT_S", 0.02)
    for error in (ELSEWHERE, LOST):
        with pytest.raises(type(error)):
            await repeated(Controller(*[error] * 100_000).ask, may_repeat=_safe)
