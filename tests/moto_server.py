"""Moto's S3 alone on a host and port: `python -m tests.moto_server HOST PORT`.

`moto.server` looks up the service of each request by listing its modules on the disk, which takes a
third of the time of a request.
"""

import sys

from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple


class _Quiet(MotoRequestHandler):
    # Connections are kept, as by real stores.
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    application = create_backend_app("s3")
    run_simple(sys.argv[1], int(sys.argv[2]), application, threaded=True, request_handler=_Quiet)
