"""Switches of commands that ask a log or a service: --consistent and --keep-going."""

from contextvars import ContextVar

CONSISTENT: ContextVar[bool] = ContextVar("consistent", default=False)
"""Value of --consistent: a service answers with all that was committed before it was asked."""

KEEP_GOING: ContextVar[bool] = ContextVar("keep going", default=False)
"""Value of --keep-going: records that contradict the state before them are skipped."""
