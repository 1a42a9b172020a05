"""The codecs of rows, in Python and compiled, to test one like the other."""

from collections.abc import Iterator

import pytest

from records.avro import compiled
from tests.records.codecs import needs_compiled, using


# For a whole module: fixtures of a function are not for Hypothesis, which calls it many times.
@pytest.fixture(scope="module", params=["python", pytest.param("compiled", marks=needs_compiled)])
def either_codec(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run each test of a module with both codecs."""
    with using(request.param):
        yield


@pytest.fixture(scope="module")
def codec_in_python() -> Iterator[None]:
    """Run the tests of a module with the codec in Python, which is what they are about."""
    with using(compiled.PYTHON):
        yield
