"""Reading a quorum whose controllers ask for certificates."""

import datetime as dt
import ssl
import time
from pathlib import Path

import pytest

from api.quorum.observer import Observer
from api.quorum.requests import Position
from api.security.client import ClientSecurity
from api.security.listeners import SecurityProtocol
from api.security.tls import TlsFiles
from records.errors import UnavailableError
from tests.api.quorum.quorums import batch_end, ends, following, read
from tests.certificates import Authority
from tests.stand_in_quorum import Quorum


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def _server(authority: Authority) -> ssl.SSLContext:
    files = authority.issue("controller")
    assert files.certificate is not None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.path))
    context.load_cert_chain(files.certificate, files.key)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_reader_shows_its_certificate(
    authority: Authority, partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = authority.issue("reader")
    (tmp_path / "reader.toml").write_text(
        f'ca_file = "{authority.path}"\n'
        f'certificate_file = "{files.certificate}"\nkey_file = "{files.key}"\n'
    )
    monkeypatch.setenv("METALOG_CLIENT", str(tmp_path / "reader.toml"))
    with Quorum(partition, nodes=3, tls=_server(authority)) as quorum:
        done = read(quorum, tmp_path / "log", url=f"ssl://{quorum.address(2)}")
    assert (done.code, done.err) == (0, "")


async def test_certificate_of_an_unknown_authority_is_refused(
    authority: Authority, partition: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other")
    security = ClientSecurity(tls=TlsFiles(ca=other.path)).used_with(SecurityProtocol.SSL)
    with Quorum(partition, tls=_server(authority)) as quorum:
        host, port = quorum.address(1).split(":")
        observer = Observer(
            [(host, int(port))],
            cluster_id=quorum.cluster_id,
            security=lambda: security,
            give_up_s=0.1,
        )
        async with observer:
            with pytest.raises(UnavailableError, match=f"{quorum.address(1)}.*authority"):
                await observer.fetch(Position())


def test_follower_with_an_expired_certificate_goes_on_once_it_is_renewed(
    authority: Authority, partition: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, start = tmp_path / "log", batch_end(partition, 100)
    files = authority.issue("reader")
    (tmp_path / "reader.toml").write_text(
        f'ca_file = "{authority.path}"\n'
        f'certificate_file = "{files.certificate}"\nkey_file = "{files.key}"\n'
    )
    monkeypatch.setenv("METALOG_CLIENT", str(tmp_path / "reader.toml"))
    with (
        Quorum(partition, tls=_server(authority), end_offset=start) as quorum,
        following(quorum, log, url=f"ssl://{quorum.address(1)}") as follower,
    ):
        follower.wait_until(start, start)
        authority.issue("reader", not_after=dt.datetime.now(dt.UTC) - dt.timedelta(minutes=1))
        quorum.stop(1)
        quorum.start(1)
        end = quorum.reveal()
        time.sleep(2)
        assert (ends(log), follower.process.poll()) == ((start, start), None)
        authority.issue("reader")
        follower.wait_until(end, end)
        done = follower.end()
    assert done.code == 0
    (said,) = done.err.splitlines()
    assert "expired at" in said and said.endswith("; trying again")
