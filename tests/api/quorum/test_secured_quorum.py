"""A quorum whose listener asks for TLS, a certificate or a login."""

import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.api.quorum.quorums import batch_end, ends, following, read
from tests.certificates import Authority
from tests.stand_in_quorum import API_VERSIONS, FETCH, CloseAfter, Quorum, Sasl

SASL = Sasl(
    {"reader": "se=c,ret", "other": "x"}, mechanisms=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write the client's settings; METALOG_CLIENT names the file."""

    def write(**fields: str) -> None:
        (tmp_path / "password").write_text("se=c,ret")
        (tmp_path / "wrong").write_text("other")
        text = "".join(f'{name} = "{value}"\n' for name, value in fields.items())
        (tmp_path / "client.toml").write_text(text)
        monkeypatch.setenv("METALOG_CLIENT", str(tmp_path / "client.toml"))

    return write


def url(quorum: Quorum, protocol: str) -> str:
    return f"{protocol}://{quorum.bootstrap}"


@pytest.mark.parametrize("mechanism", SASL.mechanisms)
def test_every_mechanism_logs_in(
    partition: Path, tmp_path: Path, settings: Callable[..., None], mechanism: str
) -> None:
    settings(user="reader", password_file="password", mechanism=mechanism)
    with Quorum(partition, nodes=3, sasl=SASL) as quorum:
        quorum.elect(2)
        quorum.commit(quorum.leader.log.end_offset)
        done = read(quorum, tmp_path / "log", url=url(quorum, "sasl_plaintext"))
        assert {seen.principal for seen in quorum.asked(FETCH)} == {"reader"}
    assert (done.code, done.err) == (0, "")


def test_wrong_password_is_said_and_not_tried_again(
    partition: Path, tmp_path: Path, settings: Callable[..., None]
) -> None:
    settings(user="reader", password_file="wrong")
    with Quorum(partition, sasl=SASL) as quorum:
        done = read(quorum, tmp_path / "log", url=url(quorum, "sasl_plaintext"))
        assert len(quorum.asked(API_VERSIONS)) <= 2
    assert done.code == 3
    assert "SASL_AUTHENTICATION_FAILED" in done.err
    assert "other" not in done.err
    assert not (tmp_path / "log").exists()


def test_login_that_expires_is_renewed(
    partition: Path, tmp_path: Path, settings: Callable[..., None]
) -> None:
    """Kafka closes a connection whose login is no longer good; the reader logs in before."""
    settings(user="reader", password_file="password")
    log = tmp_path / "log"
    sasl = Sasl(SASL.passwords, lifetime_ms=1_500)
    with (
        Quorum(partition, sasl=sasl, end_offset=batch_end(partition, 100)) as quorum,
        following(quorum, log, url=url(quorum, "sasl_plaintext")) as follow,
    ):
        follow.wait_until(quorum.leader.log.end_offset)
        quorum.wait_for(lambda: len(quorum.asked(FETCH)) > 8)
        end = quorum.reveal()
        follow.wait_until(end, end)
        assert follow.end().code == 0


def test_follower_whose_password_was_changed_goes_on_once_it_has_the_new_one(
    partition: Path, tmp_path: Path, settings: Callable[..., None]
) -> None:
    settings(user="reader", password_file="password")
    log, start = tmp_path / "log", batch_end(partition, 100)
    passwords = dict(SASL.passwords)
    sasl = Sasl(passwords)
    with (
        Quorum(partition, sasl=sasl, end_offset=start) as quorum,
        following(quorum, log, url=url(quorum, "sasl_plaintext")) as follow,
    ):
        follow.wait_until(start, start)
        passwords["reader"] = "n=e,w"
        quorum.fail(CloseAfter(0), key=FETCH)
        quorum.wait_for(lambda: quorum.listeners[1].accepted > 1)
        end = quorum.reveal()
        time.sleep(2)
        assert (ends(log), follow.process.poll()) == ((start, start), None)
        (tmp_path / "password").write_text("n=e,w")
        follow.wait_until(end, end)
        done = follow.end()
    assert done.code == 0
    (said,) = done.err.splitlines()
    assert said.endswith("Authentication failed; trying again")
    assert "n=e,w" not in done.err + done.out


def test_certificate_is_asked_for(
    partition: Path, tmp_path: Path, settings: Callable[..., None]
) -> None:
    authority = Authority(tmp_path)
    server, client = authority.issue("server"), authority.issue("reader", "reader")
    assert server.certificate and server.key and client.certificate and client.key
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.key)
    context.load_verify_locations(authority.path)
    context.verify_mode = ssl.CERT_REQUIRED
    with Quorum(partition, tls=context, nodes=2, allowed=frozenset({"CN=reader"})) as quorum:
        quorum.elect(2)
        quorum.commit(quorum.leader.log.end_offset)
        settings(
            ca_file=str(authority.path),
            certificate_file=str(client.certificate),
            key_file=str(client.key),
        )
        done = read(quorum, tmp_path / "log", url=url(quorum, "ssl"))
        assert (done.code, done.err) == (0, "")
        settings(ca_file=str(authority.path))
        done = read(quorum, tmp_path / "other", url=url(quorum, "ssl"))
        assert done.code not in (0, 2)
        assert quorum.bootstrap.partition(",")[0] in done.err
