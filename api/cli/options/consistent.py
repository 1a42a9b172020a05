"""The option --consistent: a service answers with all that was committed before it was asked."""

from contextvars import ContextVar

CONSISTENT: ContextVar[bool] = ContextVar("consistent", default=False)
"""Value of --consistent."""
