"""Security of a client's connections: the protocol from the URL, the rest from a file.

    METALOG_CLIENT=FILE      a TOML file with the settings below; paths are relative to it

    user                     name for SASL, or the id of a delegation token
    password_file            a file with the password, or the HMAC of the token
    mechanism                PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; default: SCRAM-SHA-512
    token                    true: user and password are a delegation token's
    ca_file                  authorities that are trusted; default: the system's
    certificate_file         the client's own certificate
    key_file                 its private key; default: in certificate_file

Passwords and keys are never given in arguments or the environment.
"""

import asyncio
import os
import ssl
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

import msgspec

from api.security.listeners import SecurityProtocol
from api.security.options import check_mechanisms
from api.security.sasl import ClientLogin
from api.security.tls import TlsFiles, client_context, unconnected
from controller.decisions.security.scram import ScramMechanism
from records.errors import RequestError

CLIENT_FILE = "METALOG_CLIENT"
DEFAULT_MECHANISM = ScramMechanism.SCRAM_SHA_512.title

CONNECT_TIMEOUT_S = 5.0


class ClientSecurity(msgspec.Struct, frozen=True, kw_only=True):
    """A client's settings for TLS and SASL; the security protocol comes from the URL.

    Attributes:
        tls: The client's certificate and key, and the trusted authorities.
        login: User and password for SASL; None: no SASL.
    """

    tls: TlsFiles = TlsFiles()
    login: ClientLogin | None = None

    @classmethod
    def of_environment(cls) -> Self:
        """Return the settings in the file that $METALOG_CLIENT names; the defaults if it is unset.

        Raises:
            RequestError: INVALID_CONFIG, the file cannot be read or is malformed.
        """
        path = os.environ.get(CLIENT_FILE)
        return cls.read(Path(path)) if path else cls()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the settings of a file; raises as `of_environment`."""
        try:
            settings = msgspec.convert(tomllib.loads(path.read_text()), _Settings)
        except OSError as error:
            raise _wrong(f"{path} cannot be read: {error.strerror}") from error
        # A ValueError also of a number that is too long; those of TOML and UTF-8 are such.
        except (ValueError, RecursionError, msgspec.ValidationError) as error:
            raise _wrong(f"{path}: {error}") from error
        return cls.of(settings, path.parent)

    @classmethod
    def of(cls, settings: "_Settings", directory: Path) -> Self:
        """Return the client security for parsed settings.

        Args:
            directory: The directory to which paths in the settings are relative.
        """

        def file(name: str | None) -> Path | None:
            return None if name is None else directory / name

        login = None
        if settings.user is not None:
            login = client_login(
                settings.user,
                file(settings.password_file),
                mechanism=settings.mechanism,
                is_token=settings.token,
            )
        tls = TlsFiles(
            certificate=file(settings.certificate_file),
            key=file(settings.key_file),
            ca=file(settings.ca_file),
        )
        return cls(tls=tls, login=login)

    def used_with(self, protocol: SecurityProtocol) -> "ConnectionSecurity":
        """Return the TLS context and login that connections of a protocol need.

        Raises:
            RequestError: INVALID_CONFIG, a file cannot be used, or there is no user for SASL.
        """
        if protocol.has_sasl and self.login is None:
            raise _wrong(
                f"{protocol.name.lower()}:// needs a user; name a file with `user` and "
                f"`password_file` in ${CLIENT_FILE}"
            )
        return ConnectionSecurity(
            tls=client_context(self.tls) if protocol.has_tls else None,
            login=self.login if protocol.has_sasl else None,
        )

    def read_again(self, used: "ConnectionSecurity") -> Callable[[], None]:
        """Read the TLS files; return a function that uses them for later connections.

        Args:
            used: The security of the connections, as `used_with` returned it.

        Raises:
            RequestError: as `used_with`.
        """
        if used.tls is None:
            return lambda: None
        return partial(used.renew, client_context(self.tls))


class ConnectionSecurity(msgspec.Struct, kw_only=True):
    """The TLS context and the login of the connections to one server or group of servers.

    Attributes:
        tls: The TLS context; None: no TLS.
        login: User and password for SASL; None: no SASL.
    """

    tls: ssl.SSLContext | None = None
    login: ClientLogin | None = None

    def renew(self, tls: ssl.SSLContext) -> None:
        """Use another TLS context, with new certificates, for connections made from now on."""
        self.tls = tls


PLAIN_TEXT = ConnectionSecurity()


async def open_stream(
    host: str, port: int, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect, with a TLS handshake if a TLS context is given.

    Raises:
        UnavailableError: no answer in time, or one side refuses the other's certificate.
    """
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            return await asyncio.open_connection(host, port, ssl=tls)
    except OSError as error:  # includes TimeoutError
        raise unconnected(f"{host}:{port}", error) from error


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    user: str | None = None
    password_file: str | None = None
    mechanism: str = DEFAULT_MECHANISM
    token: bool = False
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None


def client_login(
    user: str, password_file: Path | None, *, mechanism: str, is_token: bool = False
) -> ClientLogin:
    """Return a login with the password read from a file, without the newline at its end.

    Raises:
        RequestError: INVALID_CONFIG, no file is given, or it cannot be read.
    """
    if password_file is None:
        raise _wrong(f"user {user!r} has no password_file; name one beside `user`")
    check_mechanisms((mechanism,))
    try:
        password = password_file.read_text("utf-8").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise _wrong(f"{password_file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise _wrong(f"{password_file} is not UTF-8") from None
    return ClientLogin(mechanism=mechanism, user=user, password=password, is_token=is_token)


def _wrong(problem: str) -> RequestError:
    return RequestError("INVALID_CONFIG", problem)
