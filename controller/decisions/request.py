"""Base class of requests, generic in the type of the response."""

from typing import Generic, TypeVar

import msgspec

R = TypeVar("R")


class Request(msgspec.Struct, Generic[R], frozen=True):
    """The request of a decision; R is the type of the response."""
