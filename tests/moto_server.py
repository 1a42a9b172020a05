"""Moto's S3 alone on a host and port: `python -m tests.moto_server HOST PORT`.

`moto.server` looks up the service of each request by listing its modules on the disk, which takes a
third of the time of a request. And it checks the condition of a PUT before it writes, without a
lock, so that two of eight clients may create the same object: real stores let one of them.
"""

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

_Answer = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class _Quiet(MotoRequestHandler):
    # Connections are kept, as by real stores.
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: object) -> None:
        """Log nothing."""


def one_write_at_a_time(application: _Answer) -> _Answer:
    """Return the application with conditions that hold until the object is written."""
    turn = threading.Lock()

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "GET":
            return application(environ, start_response)
        with turn:
            return application(environ, start_response)

    return answer


if __name__ == "__main__":
    served = one_write_at_a_time(create_backend_app("s3"))
    run_simple(sys.argv[1], int(sys.argv[2]), served, threaded=True, request_handler=_Quiet)
