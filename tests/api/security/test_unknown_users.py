"""Users that do not exist look like those that do, and failed logins slow further attempts."""

import asyncio
from collections import Counter
from collections.abc import Iterable

import pytest

from api.security import failed_logins, sasl
from api.security.errors import AuthenticationError
from api.security.failed_logins import FAILURES_KEPT_S, SLOWED_AFTER, SLOWED_S, FailedLogins
from api.security.sasl import MECHANISMS, Authenticator, ClientExchange, ClientLogin
from api.security.scram import Stored
from api.security.users import Users
from controller.decisions.security.scram import (
    ITERATIONS_MIN,
    SALT_SIZE_BYTES,
    ScramMechanism,
    keys_of,
    salted_password,
)
from records.security import UserScramCredentialRecord
from replay.image.delta import MetadataDelta
from replay.image.metadata import MetadataImage
from replay.image.provenance import Provenance

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
INVENTED = [f"invented-{number}" for number in range(300)]


def _user(
    name: str, mechanism: ScramMechanism, iterations: int, salt_size: int
) -> UserScramCredentialRecord:
    salt = (name * 100).encode()[:salt_size]
    hash_name = mechanism.hash_name
    keys = keys_of(hash_name, salted_password(hash_name, f"{name}'s", salt, iterations))
    return UserScramCredentialRecord(
        name=name,
        mechanism=mechanism.value,
        salt=salt,
        stored_key=keys.stored_key,
        server_key=keys.server_key,
        iterations=iterations,
    )


def _users(records: Iterable[UserScramCredentialRecord]) -> Users:
    delta = MetadataDelta(MetadataImage.EMPTY)
    delta.replay_records(list(records), 0, 0, None)
    image = delta.apply(Provenance())
    return Users(image=lambda: image, now_ms=lambda: 0, decoy_key=b"key")


def _form(stored: Stored) -> tuple[int, int, int]:
    found = stored.credential
    return found.mechanism, found.iterations, len(found.salt)


FORMS = [(4_096, 16), (16_384, 28), (8_192, 100)]


@pytest.mark.parametrize("mechanism", ScramMechanism)
def test_names_that_do_not_exist_have_the_forms_of_users(mechanism: ScramMechanism) -> None:
    records = [_user(f"user-{at}", mechanism, *form) for at, form in enumerate(FORMS)]
    users = _users(records)
    found = Counter(_form(users.user(name, mechanism)) for name in INVENTED)
    assert set(found) == {(mechanism.value, *form) for form in FORMS}
    assert min(found.values()) > len(INVENTED) / len(FORMS) / 2
    # One more user of a known form changes no decoy; a further form takes some over.
    more = _users([*records, _user("another", mechanism, *FORMS[0])])
    again = _users([*records, _user("another", mechanism, 5_000, 16)])
    changed = 0
    for name in INVENTED:
        before = users.user(name, mechanism)
        assert more.user(name, mechanism) == before
        after = again.user(name, mechanism)
        assert after == before or _form(after) == (mechanism.value, 5_000, 16)
        changed += after != before
    assert 0 < changed < len(INVENTED) / 2
    salts = {users.user(name, mechanism).credential.salt for name in INVENTED}
    assert len(salts) == len(INVENTED)


def test_plain_passwords_of_inventions_cost_as_much_as_those_of_users() -> None:
    users = _users([_user("ann", SHA_256, 4_096, 16), _user("bob", SHA_512, 16_384, 20)])
    found = {_form(users.user_of_any_mechanism(name)[1]) for name in INVENTED}
    assert found == {_form(users.user_of_any_mechanism(name)[1]) for name in ("ann", "bob")}
    for name in INVENTED:
        mechanism, stored = users.user_of_any_mechanism(name)
        assert stored.credential.mechanism == mechanism.value


def test_without_users_names_have_the_form_of_new_users() -> None:
    users = _users([])
    form = (SHA_512.value, ITERATIONS_MIN, SALT_SIZE_BYTES)
    assert {_form(users.user(name, SHA_512)) for name in INVENTED} == {form}


async def _log_in(server: Authenticator, mechanism: str, user: str, word: str, host: str) -> None:
    attempt = server.begin(mechanism, host)
    client = ClientExchange(ClientLogin(mechanism=mechanism, user=user, password=word))
    token: bytes | None = client.begin()
    while token is not None:
        answer, login = await attempt.answer(token)
        if login is not None:
            return
        token = client.go_on(answer)


@pytest.mark.parametrize("user", ["ann", "invented"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_failed_logins_slow_further_attempts_of_the_user_from_there(
    mechanism: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sasl, "FAILED_DELAY_S", 0)
    monkeypatch.setattr(failed_logins, "SLOWED_S", 0.2)
    kinds = [_user("ann", each, 4_096, 16) for each in ScramMechanism]
    server, loop = Authenticator(_users(kinds)), asyncio.get_running_loop()
    for _ in range(SLOWED_AFTER):
        with pytest.raises(AuthenticationError):
            await _log_in(server, mechanism, user, "wrong", "10.0.0.1")
    start = loop.time()
    with pytest.raises(AuthenticationError):
        await _log_in(server, mechanism, user, "wrong", "10.0.0.1")
    assert round(loop.time() - start, 3) >= 0.2  # uvloop's clock counts whole milliseconds
    if user == "ann":
        start = loop.time()
        await _log_in(server, mechanism, user, "ann's", "10.0.0.1")
        assert round(loop.time() - start, 3) >= 0.2  # uvloop's clock counts whole milliseconds
        monkeypatch.setattr(failed_logins, "SLOWED_S", 3_600)
        async with asyncio.timeout(60):
            await _log_in(server, mechanism, user, "ann's", "10.0.0.1")  # it is forgotten


async def test_a_client_that_leaves_before_the_answer_has_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sasl, "FAILED_DELAY_S", 3_600)
    server = Authenticator(_users([]))
    for _ in range(SLOWED_AFTER):
        trying = asyncio.create_task(_log_in(server, "SCRAM-SHA-512", "ann", "x", "10.0.0.1"))
        await asyncio.sleep(0.05)
        trying.cancel()
        await asyncio.gather(trying, return_exceptions=True)
    assert server.failed_logins.delay_s("ann", "10.0.0.1") == SLOWED_S


def test_failures_count_for_a_user_an_address_and_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    failures = FailedLogins(lambda: now)
    for _ in range(SLOWED_AFTER):
        assert failures.delay_s("ann", "10.0.0.1") == 0
        failures.failed("ann", "10.0.0.1")
    assert failures.delay_s("ann", "10.0.0.1") == SLOWED_S
    assert failures.delay_s("ann", "10.0.0.2") == failures.delay_s("bob", "10.0.0.1") == 0
    now += FAILURES_KEPT_S + 1
    assert failures.delay_s("ann", "10.0.0.1") == 0
    monkeypatch.setattr(failed_logins, "FAILURES_MAX", 3)
    for number in range(10):
        failures.failed(f"user-{number}", "10.0.0.1")
    assert len(failures) == 3
