"""Ranges without records: no verb takes them for a time in which nothing happened."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.api.conftest import Metalog
from tests.real_logs import DataSet, each_data_set_where
from tests.replay.incidents.real import imported

_DAY = "2025-09-22"
_NONE = "no records in this range"

_Test = TypeVar("_Test", bound=Callable[..., object])


def _node(node: str, name: str = "ogs59-3node-history") -> Callable[[_Test], _Test]:
    """Run a test on the log of a node; by default one of three that were restarted."""
    return each_data_set_where(
        lambda each: (each.name, each.node) == (name, node),
        is_heavy=lambda _: False,
    )


@_node("data_kafka-2")
@pytest.mark.parametrize("verb", ["timeline", "outages"])
def test_a_range_outside_the_log_says_where_the_log_is(
    metalog: Metalog, data_set: DataSet, tmp_path: Path, verb: str
) -> None:
    log = imported(data_set, tmp_path)
    begins = f"{_NONE}: the log begins at {_DAY}T09:07:35.927Z"
    before = metalog(verb, log, "--during", "yesterday").out
    assert before == f"{begins}\n", "nothing more is known"
    assert metalog(verb, log, "--during", "yesterday", "--json").json["no_records"] == begins
    after = metalog(verb, log, "--from", f"{_DAY}T15:00:00Z").out.splitlines()
    assert after[0] == f"{_NONE}: the log ends at {_DAY}T14:31:25.508Z"


@_node("data_kafka-2")
def test_after_the_log_only_what_was_down_at_its_end_is_listed(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    after = metalog("outages", log, "--from", f"{_DAY}T15:00:00Z")
    last = metalog("outages", log, "--json").json["as_of"]
    open_ = f"56 outages open at offset {last}, the last before the range"
    assert after.out.splitlines()[1] == open_


@_node("data_kafka1", "azercell3-3node-legacy")
def test_between_two_records_nothing_happened_but_the_state_is_known(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = imported(data_set, tmp_path)
    between = ("--during", "2025-08-31T13:13:00Z..2025-08-31T13:14:00Z")
    assert metalog("timeline", log, *between).out == f"{_NONE}\n"
    none = metalog("outages", log, *between, "--json").json
    assert none["as_of"] == 63
    assert (none["no_records"], none["intervals"]) == (_NONE, [])
    told = metalog("outages", log, *between).out.splitlines()
    assert told[1] == "nothing was down at offset 63, the last before the range"


@_node("data_kafka-1")
def test_a_checkpoint_alone_is_a_state_without_events(
    metalog: Metalog, data_set: DataSet, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    metalog("import", "kraft", data_set.directory, log)
    why = "the log holds no records: only the state at offset 20,474 is known"
    assert metalog("timeline", log).out == f"{why}\n"
    assert metalog("timeline", log, "--stat").out.startswith(f"{why}\n")
    told = metalog("outages", log).out.splitlines()
    assert told[:2] == [why, "38 outages open at offset 20474"]
    assert metalog("timeline", log, "--json").json["no_records"] == why


@pytest.mark.parametrize("verb", ["timeline", "outages"])
def test_an_empty_log_is_said_to_be_empty(metalog: Metalog, tmp_path: Path, verb: str) -> None:
    metalog("init", tmp_path / "log")
    assert metalog(verb, tmp_path / "log").out == "the log is empty\n"


@pytest.mark.parametrize("verb", ["timeline", "outages"])
def test_a_range_with_records_says_nothing_of_this(
    metalog: Metalog, demo_log: Path, verb: str
) -> None:
    assert "no_records" not in metalog(verb, demo_log, "--json").json
    assert "no_records" not in metalog(verb, demo_log, "--to", "10", "--json").json
