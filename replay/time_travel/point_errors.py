"""Errors of points."""

from records.errors import RequestError


class MalformedPointError(RequestError):
    """The text is not a point in any log; the command line reports it as wrong usage."""

    def __init__(self, message: str) -> None:
        super().__init__("INVALID_REQUEST", message)
