"""Records the calls of running clients, and the registers that they share."""

import itertools
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from controller.decisions.versions import VersionMismatchError
from records.errors import MetadataLogError, Outcome, RequestError
from tests.torture.mixed_load.history import Call, Kind, Result

_TOKEN_MIN = 1_000
"""Tokens are values of a config that must be at least 100."""

_CALLS_A_REGISTER = 100
"""Calls until clients turn to a new register: so its history is short, and calls of it overlap."""


_RECORDS_MEANWHILE = 6
"""That other clients write between an answer and the next request, roughly."""


class RecordedCalls:
    """The calls of all clients.

    Attributes:
        rng: The random generator of all clients.
        is_over: True once clients begin no more calls.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.calls: list[Call] = []
        self.is_over = False
        self._end = 0
        self._tokens = itertools.count(_TOKEN_MIN)

    def token(self) -> int:
        """Return a value that no other call writes."""
        return next(self._tokens)

    def next_end(self) -> int:
        """Guess the end offset of the log: a little below the last one in an answer."""
        return self._end + self.rng.randrange(_RECORDS_MEANWHILE)

    def register(self) -> str:
        """Return one of the two registers in use."""
        newest = len(self.calls) // _CALLS_A_REGISTER
        return f"register-{max(0, newest - self.rng.randrange(2))}"

    def pair(self) -> tuple[str, str]:
        """Return two registers that are only written together."""
        number = len(self.calls) // _CALLS_A_REGISTER // 4
        return f"left-{number}", f"right-{number}"

    @contextmanager
    def call(self, way: str, kind: Kind, **fields: Any) -> Iterator[Call]:
        """Record a call, whose body sets the answer; without an error it counts as done.

        An error with a known outcome is recorded too.

        Raises:
            RequestError: the call was refused for a reason that it cannot have.
        """
        call = Call(way=way, kind=kind, invoked=time.perf_counter(), **fields)
        self.calls.append(call)
        try:
            yield call
        except VersionMismatchError as error:
            call.result, call.versions = Result.REFUSED, (error.current,)
        except RequestError as error:
            if error.code != "INVALID_UPDATE_VERSION":
                raise
            call.result = Result.REFUSED
        except MetadataLogError as error:
            if error.outcome is not Outcome.NOTHING:
                return
            call.result = Result.FAILED
        else:
            if call.result is Result.UNKNOWN:
                call.result = Result.DONE
            self._end = max(self._end, call.end or 0)
        call.returned = time.perf_counter()
