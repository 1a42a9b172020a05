"""The calls of clients, and their answers."""

from enum import Enum, auto

import msgspec

from tests.torture.mixed_load.linearizability import NEVER


class Kind(Enum):
    """What a call does."""

    READ = auto()
    WRITE = auto()
    COMPARE_AND_WRITE = auto()
    APPEND = auto()
    APPEND_AT = auto()


class Result(Enum):
    """What a client knows about its call.

    REFUSED: its condition did not hold. FAILED: it was not executed for another reason. UNKNOWN: it
    may have been executed.
    """

    DONE = auto()
    REFUSED = auto()
    FAILED = auto()
    UNKNOWN = auto()


class Call(msgspec.Struct, kw_only=True):
    """A call of a client.

    Attributes:
        way: The interface and the kind of call.
        registers: The registers that it reads or writes; none for appends.
        token: The value that it writes, unique to the call; 0 for a read.
        expected: The expected version of the register, or the expected end offset of the log.
        end: The end offset of its batch, from the answer.
        base: The base offset of its batch, from the answer.
        versions: Version of each register, written or read; None if the answer does not have it.
            For a refused COMPARE_AND_WRITE the current one.
        values: Value read from each register; None if it has none.
        invoked, returned: Times in s of one clock; NEVER if there was no answer.
    """

    way: str
    kind: Kind
    invoked: float
    registers: tuple[str, ...] = ()
    token: int = 0
    expected: int | None = None
    result: Result = Result.UNKNOWN
    returned: float = NEVER
    end: int | None = None
    base: int | None = None
    versions: tuple[int | None, ...] | None = None
    values: tuple[int | None, ...] = ()

    @property
    def name(self) -> str:
        """Short description of the call."""
        what = f"{self.kind.name} {self.token or self.values}"
        at = f" at {self.expected}" if self.expected is not None else ""
        told = f", told {self.versions}" if self.versions else ""
        return f"{self.way}: {what}{at} {self.result.name}{told}"
