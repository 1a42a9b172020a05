"""Base of requests, typed by their response."""

from typing import Generic, TypeVar

import msgspec

R = TypeVar("R")


class Request(msgspec.Struct, Generic[R], frozen=True):
    """A decision's request; R is the type of the response."""
