"""TLS: contexts made from PEM files, with errors that name the file; and the peer's principal.

A certificate is checked when it is loaded, so that a wrong file is found when the service starts,
not when the first client connects.
"""

import asyncio
import datetime as dt
import enum
import ssl
from pathlib import Path

import msgspec

from api.security.certificates import Certificate, decode_certificate
from api.security.principals import PrincipalMapping
from api.transport.addresses import unreachable
from api.transport.handshakes import handshake_problem
from records.errors import RequestError, UnavailableError

_END = "-----END CERTIFICATE-----"


class ClientAuth(enum.Enum):
    """Whether clients must present a certificate: Kafka's `ssl.client.auth`."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


_VERIFY_MODES = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


class TlsFiles(msgspec.Struct, frozen=True, kw_only=True):
    """PEM files of a client or server.

    Attributes:
        certificate: The certificate of the client or server itself, followed by the intermediate
            certificates.
        key: The private key; None: in the same file as the certificate.
        ca: The authorities whose certificates are trusted; a client's default is the system's.
    """

    certificate: Path | None = None
    key: Path | None = None
    ca: Path | None = None


def server_context(
    files: TlsFiles, client_auth: ClientAuth = ClientAuth.NONE, *, now: dt.datetime | None = None
) -> ssl.SSLContext:
    """Return the TLS context of a server.

    Args:
        now: For tests; None: this machine's time.

    Raises:
        RequestError: INVALID_CONFIG, a file is missing, unreadable or of the wrong kind; the key
            does not belong to the certificate; or the certificate is not valid now.
    """
    if files.certificate is None:
        raise _wrong("a listener with TLS needs a certificate (--certificate-file)")
    if client_auth is not ClientAuth.NONE and files.ca is None:
        raise _wrong(
            f"client certificates are {client_auth.value}, but there are no CA certificates "
            "to check them with (--ca-file)"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_certificate(context, files, now=now)
    if files.ca is not None:
        _load_authorities(context, files.ca)
    context.verify_mode = _VERIFY_MODES[client_auth]
    return context


def client_context(files: TlsFiles, *, now: dt.datetime | None = None) -> ssl.SSLContext:
    """Return the TLS context of a client, with the client's own certificate if there is one.

    Raises:
        RequestError: as `server_context`.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if files.ca is None:
        context.load_default_certs()
    else:
        _load_authorities(context, files.ca)
    if files.certificate is not None:
        _load_certificate(context, files, now=now)
    return context


def peer_certificate(transport: asyncio.BaseTransport) -> Certificate | None:
    """Return the verified certificate of the other side, None if it presented none."""
    connection = transport.get_extra_info("ssl_object")
    der = None if connection is None else connection.getpeercert(binary_form=True)
    return None if der is None else decode_certificate(der)


def peer_principal(
    transport: asyncio.BaseTransport, mapping: PrincipalMapping | None = None
) -> str | None:
    """Return the principal of the other side's certificate, None if it presented none.

    Raises:
        RequestError: SASL_AUTHENTICATION_FAILED, the certificate has expired, or no rule gives it
            a principal.
    """
    certificate = peer_certificate(transport)
    if certificate is None:
        return None
    # OpenSSL verifies the certificate when a TLS session begins, but not when it is resumed.
    if dt.datetime.now(dt.UTC) > certificate.not_after:
        raise RequestError(
            "SASL_AUTHENTICATION_FAILED", f"certificate {certificate.subject!r} has expired"
        )
    principal = (mapping or PrincipalMapping()).principal(certificate.subject)
    if principal is None:
        raise RequestError(
            "SASL_AUTHENTICATION_FAILED",
            f"no rule gives certificate {certificate.subject!r} a principal",
        )
    return principal


_UNKNOWN = (18, 19, 20, 21)
"""OpenSSL's error codes for a certificate whose authority is unknown.

Source: x509_vfy.h of OpenSSL 3 (DEPTH_ZERO_SELF_SIGNED_CERT to UNABLE_TO_VERIFY_LEAF_SIGNATURE).
"""


def unconnected(address: str, error: OSError) -> UnavailableError:
    """Return the error for a failure to connect to a server, with or without TLS."""
    # Only asyncio raises without a number, when a connection ends in its TLS handshake.
    ended = isinstance(error, ConnectionError) and error.errno is None
    if ended or isinstance(error, ssl.SSLError):
        unknown = isinstance(error, ssl.SSLCertVerificationError) and error.verify_code in _UNKNOWN
        hint = "; if you trust its authority, name that as ca_file" if unknown else ""
        return UnavailableError(f"{address}: {handshake_problem(error)}{hint}")
    return unreachable(address, error)


def ended_after_handshake(address: str) -> UnavailableError:
    """Return the error for a TLS server that disconnects before its first answer.

    The server checks the client's certificate after the client's part of the handshake, and asyncio
    sends no alert then.
    """
    return UnavailableError(
        f"{address} disconnected after the TLS handshake; it requires a client certificate, or "
        "refuses the one that was shown"
    )


class _EncryptedKeyError(Exception):
    """Raised when a key file is encrypted and would need a password."""


def _no_password() -> str:
    # Without this OpenSSL prompts on the terminal.
    raise _EncryptedKeyError


def _load_certificate(context: ssl.SSLContext, files: TlsFiles, *, now: dt.datetime | None) -> None:
    path = files.certificate
    assert path is not None
    key = files.key or path
    _check_validity(path, _first_certificate(path), now or dt.datetime.now(dt.UTC))
    _read(key)
    try:
        context.load_cert_chain(path, key, _no_password)
    except _EncryptedKeyError:
        raise _wrong(f"the private key {key} is encrypted; store it without a password") from None
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise _wrong(f"the private key {key} does not belong to certificate {path}") from error
        if error.reason == "EE_KEY_TOO_SMALL":
            raise _wrong(f"the key of certificate {path} is too short; use 2048 bits") from error
        raise _wrong(f"{key} has no private key in PEM that can be used") from error


def _load_authorities(context: ssl.SSLContext, path: Path) -> None:
    _first_certificate(path)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise _wrong(f"{path} has no certificates in PEM that can be used") from error


def _first_certificate(path: Path) -> Certificate:
    begin, end, _ = _read(path).partition(_END)
    try:
        if not end:
            raise ValueError("no end line")
        pem = begin[begin.index("-----BEGIN CERTIFICATE-----") :] + end
        return decode_certificate(ssl.PEM_cert_to_DER_cert(pem))
    except ValueError as error:
        raise _wrong(f"{path} has no certificate in PEM") from error


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise _wrong(f"{path} cannot be read: {error.strerror}") from error


def _check_validity(path: Path, certificate: Certificate, now: dt.datetime) -> None:
    if now > certificate.not_after:
        raise _wrong(f"certificate {path} expired at {certificate.not_after:%Y-%m-%d %H:%M} UTC")
    if now < certificate.not_before:
        raise _wrong(
            f"certificate {path} is not valid before {certificate.not_before:%Y-%m-%d %H:%M} UTC"
        )


def _wrong(problem: str) -> RequestError:
    return RequestError("INVALID_CONFIG", problem)
