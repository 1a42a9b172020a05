"""Requests that know the type of their response."""

from typing import Generic, TypeVar

import msgspec

R = TypeVar("R")


class Request(msgspec.Struct, Generic[R], frozen=True):
    """Base of what a decision can be asked for; R is its response."""
