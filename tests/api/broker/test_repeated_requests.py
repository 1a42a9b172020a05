"""What a broker asks of the controller again while another node begins to lead."""

import pytest

from api.broker import repeated_requests
from api.broker.repeated_requests import repeated
from records.errors import MetadataLogError, Outcome, RequestError, UnavailableError

ELSEWHERE = RequestError("NOT_CONTROLLER", "another node leads")
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


@pytest.mark.parametrize("changes_nothing", [False, True])
async def test_what_changed_nothing_is_asked_again(*, changes_nothing: bool) -> None:
    controller = Controller(ELSEWHERE, ELSEWHERE)
    assert await repeated(controller.ask, changes_nothing=changes_nothing) == b"answer"
    assert controller.asked == 3


async def test_change_without_an_answer_is_never_asked_again() -> None:
    controller = Controller(ELSEWHERE, LOST)
    with pytest.raises(UnavailableError, match="no response arrived"):
        await repeated(controller.ask, changes_nothing=False)
    assert controller.asked == 2


async def test_question_without_an_answer_is_asked_again() -> None:
    assert await repeated(Controller(LOST, ELSEWHERE).ask, changes_nothing=True) == b"answer"


async def test_refusal_of_the_leader_is_final() -> None:
    controller = Controller(RequestError("UNKNOWN_SERVER_ERROR", "no right"))
    with pytest.raises(RequestError, match="no right"):
        await repeated(controller.ask, changes_nothing=True)
    assert controller.asked == 1


async def test_it_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_requests, "_WAIT_S", 0.02)
    for error in (ELSEWHERE, LOST):
        with pytest.raises(type(error)):
            await repeated(Controller(*[error] * 100_000).ask, changes_nothing=True)
