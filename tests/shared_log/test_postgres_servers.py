"""Several servers in a URL: of a node's connections only one tries those that do not answer."""

import asyncio

import pytest
from sqlalchemy import URL

from metadata_log.shared.postgres import PostgresSharedLog
from metadata_log.shared.postgres_connection import Servers
from metadata_log.shared.shared_log import EMPTY, NONCE_SIZE, claim_of
from replay.snapshot.database import open_database
from replay.snapshot.schema import SHARED_LOG, upgrade
from tests.postgres import new_database, postgres_server, text_of


@pytest.mark.parametrize(
    ("url", "found", "tried"),
    [
        ("postgresql://a:1,b:2,c:3/d", ("b", 2), "host=b,a,c port=2,1,3"),
        ("postgresql://a:1,a:2/d", ("a", 2), "host=a,a port=2,1"),
        ("postgresql:///d?host=a,b&port=7", ("b", 7), "host=b,a port=7,7"),
        ("postgresql://a,b/d", ("b", 5432), "host=b,a port=,"),
        ("postgresql://a:1,b:2/d", ("a", 1), "host=a,b port=1,2"),
        ("postgresql://a:1/d", ("a", 1), "host=a port=1"),
        ("postgresql:///d", ("/run", 5432), ""),
        (
            "postgresql://a:1,b:2/d?hostaddr=127.0.0.1,127.0.0.2",
            ("b", 2),
            "host=a,b port=1,2 hostaddr=127.0.0.1,127.0.0.2",
        ),
    ],
)
def test_the_last_good_server_is_tried_first(url: str, found: tuple[str, int], tried: str) -> None:
    servers = Servers(url)
    servers.found(*found)
    words = servers.parameters().split()
    named = [word for word in words if word.startswith(("host", "port"))]
    assert sorted(named) == sorted(tried.split())


async def test_a_server_that_gives_no_answer_is_tried_once() -> None:
    tries = []

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tries.append(writer)
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as gone:
        port = gone.sockets[0].getsockname()[1]
        with postgres_server(durable=True) as server, new_database(server) as url:
            engine = open_database(url)
            upgrade(engine, SHARED_LOG)
            engine.dispose()
            log = PostgresSharedLog(text_of(_after(url, port)))
            try:
                await log.open()
                await log.append(claim_of(EMPTY, 1, bytes(NONCE_SIZE)), after=EMPTY)
                assert (await log.wait(1, 0.01)).number == 1
            finally:
                await log.close()
    assert len(tries) == 1


def _after(url: URL, port: int) -> URL:
    """Return a URL that names another server first."""
    hosts = {"host": "127.0.0.1,127.0.0.1", "port": f"{port},{url.port}"}
    return URL.create("postgresql", url.username, url.password, database=url.database, query=hosts)
