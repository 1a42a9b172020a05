"""Switches of commands that query a log or a service: --consistent and --keep-going."""

from contextvars import ContextVar

CONSISTENT: ContextVar[bool] = ContextVar("consistent", default=False)
"""Value of --consistent: a service's answer includes all records committed before the question."""

KEEP_GOING: ContextVar[bool] = ContextVar("keep going", default=False)
"""Value of --keep-going: records that contradict the state before them are skipped."""
