"""HTTP connections with two timeouts: a short one to connect, and another to wait for answers.

A machine that is switched off refuses no connection. Without a timeout of its own, one such node
would take the whole patience of a request.
"""

import ssl
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
    build_opener,
)

CONNECT_TIMEOUT_S = 3.0


class _Connection(HTTPConnection):
    def connect(self) -> None:
        read_timeout_s, self.timeout = self.timeout, CONNECT_TIMEOUT_S
        super().connect()
        self.sock.settimeout(read_timeout_s)


class _TlsConnection(HTTPSConnection):
    def connect(self) -> None:
        read_timeout_s, self.timeout = self.timeout, CONNECT_TIMEOUT_S
        super().connect()
        self.sock.settimeout(read_timeout_s)


class _Http(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(HTTPSHandler):
    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self._tls = tls

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_TlsConnection, req, context=self._tls)


class _NoRedirects(HTTPRedirectHandler):
    """Leave redirects to the caller: urllib takes the token to any host, and drops the body."""

    def redirect_request(self, *_: Any) -> None:
        return None


def opener(tls: ssl.SSLContext | None) -> OpenerDirector:
    """Return what opens requests; redirects are errors.

    The timeout of a request is the time without a received byte after which it is lost.

    Args:
        tls: None means the system's certificate authorities.
    """
    return build_opener(_Http(), _Https(tls), _NoRedirects())
