"""What clients did, and what they were told."""

from enum import Enum, auto

import msgspec

from tests.torture.mixed_load.linearizability import NEVER


class Kind(Enum):
    """What a call asks for."""

    READ = auto()
    WRITE = auto()
    COMPARE_AND_WRITE = auto()
    APPEND = auto()
    APPEND_AT = auto()


class Result(Enum):
    """What a client knows of its call.

    REFUSED: its condition did not hold. FAILED: it was not carried out for another reason. UNKNOWN:
    it may have been.
    """

    DONE = auto()
    REFUSED = auto()
    FAILED = auto()
    UNKNOWN = auto()


class Call(msgspec.Struct, kw_only=True):
    """A call of a client.

    Attributes:
        way: By which way in, and how.
        registers: Those that it reads or writes; none for appends.
        token: What it writes, which nothing else writes; 0 for a read.
        expected: The version that the register must have, or the offset at which the log must end.
        end: The end offset of its batch, as told.
        base: The base offset of its batch, as told.
        versions: Of each register: written, or read; None: not told. Of a refused COMPARE_AND_WRITE
            the current one.
        values: What was read, of each register; None: it has no value.
        invoked, returned: In s of one clock, NEVER without an answer.
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
        """The call in a few words."""
        what = f"{self.kind.name} {self.token or self.values}"
        at = f" at {self.expected}" if self.expected is not None else ""
        told = f", told {self.versions}" if self.versions else ""
        return f"{self.way}: {what}{at} {self.result.name}{told}"
