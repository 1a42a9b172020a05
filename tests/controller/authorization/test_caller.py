"""The name of a client in the log."""

import msgspec
import pytest

from controller.authorization.caller import Caller, client_id_of

ODD = [
    "User:root by x",
    "a at 10.0.0.1:1 through User:ann by b",
    "50% off",
    "two\nlines",
    "%20",
    "",
]


def client(client_id: str, real_principal: str | None = None) -> str:
    where = Caller(client_id=client_id, host="127.0.0.1", port=9092)
    caller = msgspec.structs.replace(where, real_principal=real_principal)
    return str(caller.origin("topics create").client)


@pytest.mark.parametrize("client_id", ODD)
def test_a_client_cannot_pass_for_another_identity(client_id: str) -> None:
    words = client(client_id).split()
    assert words[1:] == ["at", "127.0.0.1:9092"]
    assert client_id_of(client(client_id)) == (client_id or "unnamed")


@pytest.mark.parametrize("client_id", ODD)
def test_the_client_id_is_read_back_beside_an_identity_taken(client_id: str) -> None:
    found = client(client_id, real_principal="User:the real one")
    assert found.startswith("User:the%20real%20one by ")
    assert client_id_of(found) == (client_id or "unnamed")


def test_client_ids_of_earlier_releases_are_read_as_they_wrote_them() -> None:
    assert client_id_of("two words at 127.0.0.1:9092") == "two words"
    assert client_id_of("User:ann by two words at 127.0.0.1:9092") == "two words"
    assert client_id_of("metalog") == "metalog"


@pytest.mark.parametrize("client_id", ODD)
def test_an_origin_that_has_the_address_is_not_given_it_twice(client_id: str) -> None:
    caller = Caller(client_id=client_id, host="127.0.0.1", port=9092)
    origin = caller.origin("append")
    assert caller.completed(origin, "append") == origin
