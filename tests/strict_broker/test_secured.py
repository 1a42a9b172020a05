"""Brokers of Kafka, as the strict client has them, at listeners with TLS and a login."""

import dataclasses
import ssl
from pathlib import Path

import pytest

from api.cli.main import run
from tests.api.services import Served, serving
from tests.certificates import Authority
from tests.strict_broker.broker import StrictBroker
from tests.strict_broker.connection import Entry
from tests.strict_broker.served import new_log
from tests.strict_broker.test_start import broker_at
from tests.strict_broker.traps import BrokenError, Trap

_RULE = "RULE:^(?:.*,)?CN=([^,]+)(?:,.*)?$/$1/"


def _entering(service: Served, entry: Entry) -> StrictBroker:
    broker = broker_at(service, "4.3")
    broker.identity = broker.raft.identity = dataclasses.replace(broker.identity, entry=entry)
    return broker


def _tls(ca: Authority, name: str | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca.path))
    if name is not None:
        files = ca.issue(name)
        assert files.certificate is not None
        context.load_cert_chain(files.certificate, files.key)
    return context


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log in which `kafka-1` may join, and the user `kafka` has a password."""
    log = new_log(tmp_path)
    acl = ["--principal", "User:kafka-1", "--operation", "cluster_action", "--cluster"]
    assert run(["acls", "create", *acl, "--log", str(log)]) == 0
    (tmp_path / "password").write_text("pencil")
    user = ["users", "create", "kafka", "--password-file", str(tmp_path / "password")]
    assert run([*user, "--log", str(log)]) == 0
    return log


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def test_broker_starts_by_its_certificate_alone(log: Path, ca: Authority) -> None:
    files = ca.issue("controller")
    with serving(
        log,
        *("--certificate-file", files.certificate, "--key-file", files.key, "--ca-file", ca.path),
        *("--client-auth", "required", "--principal-rules", _RULE, "--authorizer", "acl"),
        kafka="ssl://127.0.0.1:0",
        socket="ssl://127.0.0.1:0",
    ) as service:
        async with _entering(service, Entry(_tls(ca, "kafka-1"))) as broker:
            await broker.start()
            await broker.shut_down()
        async with _entering(service, Entry(_tls(ca, "stranger"))) as stranger:
            with pytest.raises(BrokenError) as refused:
                await stranger.start()
    assert refused.value.trap is Trap.UNAUTHORIZED


async def test_broker_starts_by_its_password(log: Path, ca: Authority) -> None:
    files = ca.issue("controller")
    with serving(
        log,
        *("--certificate-file", files.certificate, "--key-file", files.key),
        *("--authorizer", "acl", "--super-user", "User:kafka"),
        kafka="sasl_ssl://127.0.0.1:0",
        socket="sasl_ssl://127.0.0.1:0",
    ) as service:
        async with _entering(service, Entry(_tls(ca), "kafka", "pencil")) as broker:
            await broker.start()
            await broker.shut_down()
        async with _entering(service, Entry(_tls(ca), "kafka", "chalk")) as broker:
            with pytest.raises(BrokenError, match="SaslAuthenticate: 58"):
                await broker.start()
