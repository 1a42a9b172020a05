"""Running code with one of the two codecs."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from records.avro import compiled

needs_compiled = pytest.mark.skipif(
    find_spec("metalog_codec") is None,
    reason="the compiled codec is not installed: `make compiled`, with a C compiler",
)


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use the codec of a name: `python` or `compiled`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled.CHOICE, "is_compiled", name != compiled.PYTHON)
        yield
