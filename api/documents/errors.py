"""Errors under --json."""

import msgspec

from records.errors import Outcome


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """Why something was refused, and what became of it.

    `outcome` is a `records.errors.Outcome`; `done_to` the offset of the last committed record, for
    a partial one.
    """

    code: str
    message: str
    outcome: str = Outcome.NOTHING.value
    done_to: int | None = None
