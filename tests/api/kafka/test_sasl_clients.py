"""Unmodified clients over SASL_SSL and with certificates."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaException

from api.security.errors import AuthenticationError
from api.security.listeners import SecurityProtocol
from api.security.options import SecurityOptions
from api.security.scram import ScramServer, Stored
from api.security.tls import ClientAuth, TlsFiles
from api.server import Serving
from controller.decisions.security.scram import ScramMechanism
from replay.image.scram import ScramCredential
from tests.api.kafka.servers import CLUSTER_ID, Server
from tests.api.kafka.test_sasl import MECHANISMS, PASSWORDS, as_user, connected, secured, until
from tests.certificates import Authority


def kafka_python(running: Serving, mechanism: str, password: str, ca: Path) -> str:
    # A process of its own, because the client warns when it is imported.
    code = (
        "import sys, kafka\n"
        "servers, mechanism, password, ca = sys.argv[1:]\n"
        "client = kafka.KafkaAdminClient(bootstrap_servers=servers, "
        "security_protocol='SASL_SSL', ssl_cafile=ca, sasl_mechanism=mechanism, "
        "sasl_plain_username='ann', sasl_plain_password=password, bootstrap_timeout_ms=60_000)\n"
        "print(client.describe_cluster()['cluster_id'])\n"
    )
    servers = f"localhost:{running.kafka.port}"
    arguments = [sys.executable, "-c", code, servers, mechanism, password, str(ca)]
    return subprocess.check_output(arguments, text=True, timeout=60).strip()


def librdkafka(running: Serving, mechanism: str, password: str, ca: Path) -> str:
    client = librdkafka_client(running, mechanism, password, ca)
    return str(client.list_topics(timeout=60).cluster_id)


def librdkafka_client(
    running: Serving, mechanism: str, password: str, ca: Path
) -> confluent_kafka.admin.AdminClient:
    return confluent_kafka.admin.AdminClient(
        {
            "bootstrap.servers": f"localhost:{running.kafka.port}",
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(ca),
            "sasl.mechanism": mechanism,
            "sasl.username": "ann",
            "sasl.password": password,
        }
    )


@contextlib.asynccontextmanager
async def service(
    directory: Path, ca: Authority, protocol: SecurityProtocol = SecurityProtocol.SASL_SSL
) -> AsyncIterator[Serving]:
    """Run a service that registers its own address as that of a broker."""
    security = SecurityOptions(
        tls=ca.issue("server"),
        client_auth=ClientAuth.REQUIRED,
        principal_rules="RULE:^CN=([^,]+).*$/$1/",
    )
    listeners = f"{protocol.name}://127.0.0.1:0"
    async with secured(directory, listeners, security=security) as running:
        login = as_user("ann", "SCRAM-SHA-512")
        async with await connected(
            running, protocol.name.lower(), login, ca.issue("ann")
        ) as client:
            address = "localhost", running.kafka.port
            await Server(running, client, None).register(1, address=address, protocol=protocol)
        yield running


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", [kafka_python, librdkafka])
async def test_clients_authenticate(tmp_path: Path, client: type, mechanism: str) -> None:
    ca = Authority(tmp_path)
    async with service(tmp_path, ca) as running:
        found = await asyncio.to_thread(client, running, mechanism, PASSWORDS["ann"], ca.path)
        assert found == CLUSTER_ID
        (authenticator,) = running.authenticators
        assert authenticator.failed == 0


def test_repeated_nonce_is_refused_by_its_cause() -> None:
    """A client nonce that is repeated within the server's nonce is refused with that reason.

    Kafka 4 also compares the whole nonce; librdkafka before 2.6.1 repeated it.
    """
    credential = ScramCredential(
        name="ann",
        mechanism=2,
        salt=b"salt",
        stored_key=b"s" * 64,
        server_key=b"k" * 64,
        iterations=4096,
    )
    stored = Stored(credential=credential, principal="User:ann")
    exchange = ScramServer(ScramMechanism.SCRAM_SHA_512, lambda user, is_token: stored, "server")
    first = exchange.first(b"n,,n=ann,r=client").decode()
    assert first.startswith("r=clientserver,")
    with pytest.raises(AuthenticationError, match=r"repeats its nonce, .* librdkafka before 2\.6"):
        exchange.final(b"c=biws,r=clientclientserver,p=AAAA")


async def test_a_client_does_not_get_in_with_a_wrong_password(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    async with service(tmp_path, ca) as running:
        client = librdkafka_client(running, "PLAIN", "wrong", ca.path)
        (authenticator,) = running.authenticators
        # It goes on trying, so that this ends by its time limit.
        with pytest.raises(KafkaException):
            await asyncio.to_thread(client.list_topics, timeout=2)
        await until(lambda: authenticator.failed > 0)


async def test_librdkafka_is_known_by_its_certificate(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    files: TlsFiles = ca.issue("ann")
    async with service(tmp_path, ca, SecurityProtocol.SSL) as running:
        client = confluent_kafka.admin.AdminClient(
            {
                "bootstrap.servers": f"localhost:{running.kafka.port}",
                "security.protocol": "SSL",
                "ssl.ca.location": str(files.ca),
                "ssl.certificate.location": str(files.certificate),
                "ssl.key.location": str(files.key),
            }
        )
        found = await asyncio.to_thread(client.list_topics, timeout=60)
        assert found.cluster_id == CLUSTER_ID
