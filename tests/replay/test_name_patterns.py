"""Names are matched by one matcher, in time that does not grow with the number of stars."""

import random
import re
import time
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from controller.decisions.configs.checks import _check_patterns
from records.errors import RequestError
from replay.kafka_commands.script import wanted_by
from replay.name_patterns import is_pattern, name_matcher
from tests.test_public_names import ROOMS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", range(3))
def test_matcher_agrees_with_that_of_shells(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(5_000):
        text = "".join(rng.choices("ab*?", k=rng.randrange(9)))
        name = "".join(rng.choices("ab\n", k=rng.randrange(9)))
        assert name_matcher(text, ())(name) == fnmatchcase(name, text), (text, name)


def test_other_characters_stand_for_themselves() -> None:
    matches = name_matcher("config:a.b[c]*", ())
    assert matches("config:a.b[c]d")
    assert not matches("config:aXb[c]d")
    assert not matches("config:a.bcd")


def test_name_that_exists_matches_only_itself() -> None:
    assert is_pattern("acl:*")
    assert not name_matcher("acl:*", {"acl:*", "acl:a"})("acl:a")


@pytest.mark.parametrize(
    "pattern",
    ["*a*a*a*a*a*a*a*b", "*a" * 100 + "*b", "*" * 500 + "b", "*?" * 100 + "b", "*a?" * 80 + "*b"],
)
def test_time_does_not_grow_with_the_power_of_the_stars(pattern: str) -> None:
    start = time.process_time()
    for find in (name_matcher(f"config:group/{pattern}", ()), wanted_by([f"config:{pattern}"])):
        assert not find(f"config:group/{'a' * 10_000}")
    assert time.process_time() - start < 1.0


def test_no_other_module_matches_patterns_of_names() -> None:
    others = [
        str(file.relative_to(ROOT))
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if re.search(r"\bfnmatch\b", file.read_text())
    ]
    assert others == []


@pytest.mark.parametrize("item", ["(" * 20_000, "a{99999999999999999999}", "["])
def test_regular_expression_that_cannot_be_compiled_is_refused(item: str) -> None:
    with pytest.raises(RequestError, match="has no valid pattern") as refused:
        _check_patterns(f"client_id={item}")
    assert refused.value.code == "INVALID_CONFIG"
