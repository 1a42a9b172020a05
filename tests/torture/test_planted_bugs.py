"""The planted bugs fit the current sources, and a few of them are noticed."""

from pathlib import Path

import msgspec
import pytest

from tests.samples import cases, sampled
from tests.torture.campaigns import planted_bugs
from tests.torture.planted_bugs.all_bugs import BUGS
from tests.torture.planted_bugs.bug import Bug
from tests.torture.planted_bugs.planted_copy import planted, problem

ROOT = Path(__file__).parents[2]
# One for each campaign that is quick to notice it.
FEW = ("mark too far", "damage told at the wrong place", "epoch used again")


def named(name: str) -> Bug:
    (bug,) = [bug for bug in BUGS if bug.name == name]
    return bug


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_can_be_planted(bug: Bug) -> None:
    source = (ROOT / bug.file).read_text()
    changed = planted(bug, source)
    compile(changed, bug.file, "exec")
    assert changed != source


def test_there_are_25_bugs_of_different_names() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= planted_bugs.TARGET == 25


@pytest.mark.parametrize("name", FEW)
def test_planted_bug_is_noticed(name: str) -> None:
    assert problem(named(name)) is None


def test_change_that_is_no_bug_is_not_taken_for_one() -> None:
    harmless = msgspec.structs.replace(
        named("mark too far"), new="            position=0 + synced.position,\n", seeds=(0,)
    )
    assert "was not caught" in (problem(harmless) or "")


@sampled
def test_tests_that_look_for_a_bug_pass_without_it() -> None:
    """The suite runs these tests anyway: here one shows that they also pass on a copy of the
    sources.
    """
    named_by_a_test = [bug for bug in BUGS if bug.campaign.endswith(".py")]
    assert named_by_a_test
    for bug in named_by_a_test[: cases(len(named_by_a_test), 1)]:
        assert "was not caught" in (problem(msgspec.structs.replace(bug, new=bug.old)) or "")


def test_change_that_breaks_the_program_is_not_taken_for_a_bug_noticed() -> None:
    broken = msgspec.structs.replace(
        named("mark too far"),
        file="metadata_log/writer/clock.py",
        old="import time\n",
        new="import no_such_module\n",
    )
    assert "the slice broke down" in (problem(broken) or "")
