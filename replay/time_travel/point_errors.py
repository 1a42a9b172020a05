"""Errors of points."""

from records.errors import RequestError


class MalformedPointError(RequestError):
    """A text is not a point in any log: the command line was used wrongly, nothing was refused."""

    def __init__(self, message: str) -> None:
        super().__init__("INVALID_REQUEST", message)
