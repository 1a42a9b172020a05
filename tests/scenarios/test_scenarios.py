"""Scenarios in text files: commands, `----`, and the records that they must write.

A file has blocks separated by empty lines; `#` begins a comment. A block without `----` is setup:
its records are not checked. Offsets count from the end of the bootstrap. A line `refused CODE`
stands for an item, or a whole request, that was refused; `warned GROUP` for a subscription that
matches a created topic. Scenarios of Kafka's rules name the section of the reference, our own ones
their row.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.controller.cluster import Cluster
from tests.controller.in_namespace import outside
from tests.scenarios.commands import run
from tests.scenarios.text import record_lines

_DIVIDER = "----"
_SECTION = re.compile(r"# Section (?P<section>\d+)\b")
_ROW = re.compile(r"# Row [A-Z]\d+\b")
_FILES = sorted(Path(__file__).parent.glob("*.txt"))


def _cases() -> Iterator[ParameterSet]:
    """Yield each file; those of Kafka's rules also run inside a namespace."""
    for path in _FILES:
        yield pytest.param(path, "", id=path.stem)
        if _SECTION.match(path.read_text("utf-8")):
            yield pytest.param(path, "org:team", id=f"{path.stem}-inside")


@pytest.mark.parametrize(("path", "namespace"), [*_cases()])
def test_the_scenario_leaves_exactly_the_records_it_names(path: Path, namespace: str) -> None:
    cluster = Cluster(namespace=namespace)
    for commands, expected in blocks(path.read_text("utf-8")):
        left: list[str] = []
        for command in commands:
            left.extend(_left(cluster, command))
        if expected is not None:
            assert "\n".join(left) == "\n".join(expected), f"after {commands}"


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_scenario_says_first_which_rules_it_is_about(path: Path) -> None:
    text = path.read_text("utf-8")
    assert _SECTION.match(text) or _ROW.match(text)


def test_every_section_of_the_rules_has_scenarios() -> None:
    found = [_SECTION.match(path.read_text("utf-8")) for path in _FILES]
    assert {int(match["section"]) for match in found if match} >= set(range(2, 13))


def _left(cluster: Cluster, command: str) -> list[str]:
    before, base_offset = cluster.image, cluster.next_offset
    said = run(cluster, command)
    lines = record_lines(cluster.records, base_offset, before, cluster.image)
    if cluster.namespace:
        lines = outside(lines, cluster.namespace)
    return [*lines, *said]


def blocks(text: str) -> Iterator[tuple[list[str], list[str] | None]]:
    """Yield the commands and the expected lines of each block; None if nothing is expected."""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if _DIVIDER in lines:
            divider = lines.index(_DIVIDER)
            yield lines[:divider], lines[divider + 1 :]
        elif lines:
            yield lines, None
