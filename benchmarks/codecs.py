"""Measuring with each codec of rows: that in Python, and the compiled one if it is installed."""

from collections.abc import Iterator
from contextlib import contextmanager

from records.avro import compiled


def each_codec() -> Iterator[str]:
    """Yield the name of each codec that is here, while it is the one in use; at last, the usual."""
    usual = compiled.CHOICE.is_compiled
    try:
        for is_compiled in sorted({False, usual}):
            compiled.CHOICE.is_compiled = is_compiled
            yield compiled.name()
    finally:
        compiled.CHOICE.is_compiled = usual


@contextmanager
def python_codec() -> Iterator[None]:
    """Use the codec in Python during the `with` block."""
    usual = compiled.CHOICE.is_compiled
    compiled.CHOICE.is_compiled = False
    try:
        yield
    finally:
        compiled.CHOICE.is_compiled = usual
