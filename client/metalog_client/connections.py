"""HTTP connections with two timeouts: a short one to connect, and a long one to wait for answers.

A machine that is switched off refuses no connection. Without a timeout of its own, one such node
would take the whole patience of a request.
"""

import ssl
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, Request, build_opener

CONNECT_TIMEOUT_S = 3.0

_READ_TIMEOUT_S = 60.0
"""Time without a received byte after which a connection is lost; streams send one every 15 s."""


class _Connection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_READ_TIMEOUT_S)


class _TlsConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(_READ_TIMEOUT_S)


class _Http(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class _Https(HTTPSHandler):
    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self._tls = tls

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_TlsConnection, req, context=self._tls)


def opener(tls: ssl.SSLContext | None) -> OpenerDirector:
    """Return what opens requests, with the timeout CONNECT_TIMEOUT_S.

    Args:
        tls: None means the system's certificate authorities.
    """
    return build_opener(_Http(), _Https(tls))
