"""Questions that are asked of a recording with a gap."""

import datetime
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Metalog
from tests.api.quorum.recordings import Recording


def test_info_lists_the_parts_and_the_gaps(metalog: Metalog, recorded: Recording) -> None:
    found = metalog("info", recorded.log, "--json").json
    (part,) = found["earlier_parts"]
    assert part["folder"] == "log.part-1"
    bounds = (recorded.gap_start, recorded.gap_end)
    assert (part["gap"]["from_offset"], part["gap"]["to_offset"]) == bounds
    assert "earlier_parts" not in metalog("info", recorded.first_part, "--json").json
    text = metalog("info", recorded.log).out
    assert f"offsets {bounds[0]} to {bounds[1] - 1} were not recorded" in text


def test_image_of_the_newest_part_says_the_gap(metalog: Metalog, recorded: Recording) -> None:
    found = metalog("image", recorded.log, "--json").json
    assert found["as_of"] == recorded.end_offset - 1
    assert found["gap"]["to_offset"] == recorded.gap_end
    assert "were not recorded" in metalog("image", recorded.log).out
    assert "gap" not in metalog("image", recorded.first_part, "--json").json


def test_point_in_an_earlier_part_is_answered_from_there(
    metalog: Metalog, recorded: Recording
) -> None:
    for at in (0, 20, recorded.gap_start - 1):
        found, expected = (
            metalog("image", log, "--at", at, "--json").json
            for log in (recorded.log, recorded.first_part)
        )
        assert found == expected


def test_point_in_a_gap_is_refused(metalog: Metalog, recorded: Recording, whole: Path) -> None:
    time = metalog("dump", whole, "--from", 100, "--to", 100, "--json").lines[0]["timestamp"]
    for point in (100, recorded.gap_start, recorded.gap_end - 2, _iso(time)):
        done = metalog("image", recorded.log, "--at", point, "--json")
        assert (done.code, done.error["code"]) == (3, "OFFSET_OUT_OF_RANGE")
        assert f"gap from offset {recorded.gap_start}" in done.error["message"]


def test_timeline_has_both_parts_and_the_gap_between(
    metalog: Metalog, recorded: Recording, whole: Path
) -> None:
    found = metalog("timeline", recorded.log, "--json").json
    (gap,) = found["gaps"]
    assert (gap["gap"]["from_offset"], gap["gap"]["to_offset"]) == (
        recorded.gap_start,
        recorded.gap_end,
    )
    parts = [
        metalog("timeline", whole, "--json", *range_).json["events"]
        for range_ in (
            ("--to", recorded.gap_start - 1),
            ("--from", recorded.gap_end, "--to", recorded.end_offset - 1),
        )
    ]
    assert found["events"] == parts[0] + parts[1]


def test_what_changed_in_a_gap_is_the_difference_of_its_sides(
    metalog: Metalog, recorded: Recording, whole: Path
) -> None:
    (gap,) = metalog("timeline", recorded.log, "--json").json["gaps"]
    sides = (recorded.gap_start - 1, recorded.gap_end - 1)
    expected = metalog("diff", whole, *sides, "--json").json["changes"]
    assert _fields(gap["found"]) == _fields(expected)
    assert gap["found"]


@pytest.mark.parametrize(
    ("first", "has_gap"),
    [("start", True), ("20", True), ("100", True), ("end-100", False), ("end-380", True)],
)
def test_range_has_the_gap_only_if_it_begins_before_its_end(
    metalog: Metalog, recorded: Recording, first: str, has_gap: bool
) -> None:
    found = metalog("timeline", recorded.log, "--from", first, "--json").json
    assert ("gaps" in found) == has_gap
    assert ("gap" in found) is False


def test_times_choose_the_part(metalog: Metalog, recorded: Recording, whole: Path) -> None:
    rows = metalog("dump", whole, "--json").lines
    times = {row["offset"]: row["timestamp"] for row in rows}
    for first, gaps in ((20, 1), (100, 1), (recorded.gap_end + 40, 0)):
        found = metalog("timeline", recorded.log, "--from", _iso(times[first]), "--json").json
        assert len(found.get("gaps", ())) == gaps
        assert min(event["time"] for event in found["events"]) >= times[first]
    at = metalog("image", recorded.log, "--at", _iso(times[20]), "--json").json["as_of"]
    assert times[at] == times[20]


def test_objects_of_a_timeline_are_those_of_the_gap_too(
    metalog: Metalog, recorded: Recording
) -> None:
    found = metalog("timeline", recorded.log, "--object", "topic:team-1*", "--json").json
    (gap,) = found["gaps"]
    assert {change["object"] for change in gap["found"]} == {"topic:team-1.audit.1"}
    missing = metalog("timeline", recorded.log, "--object", "topic:nothing", "--json")
    assert missing.code == 3


def test_part_that_was_moved_away_is_named(metalog: Metalog, own_recording: Recording) -> None:
    shutil.move(own_recording.first_part, own_recording.log.with_name("elsewhere"))
    done = metalog("timeline", own_recording.log)
    assert done.code == 3
    assert f"{own_recording.first_part} is no log" in done.err
    assert metalog("timeline", own_recording.log, "--from", own_recording.gap_end).code == 0
    assert metalog("info", own_recording.log).code == 0


def test_another_log_in_the_place_of_a_part_is_refused(
    metalog: Metalog, own_recording: Recording, tmp_path: Path
) -> None:
    shutil.rmtree(own_recording.first_part)
    metalog("init", own_recording.first_part)
    done = metalog("timeline", own_recording.log)
    assert done.code == 3
    assert "is not the part before" in done.err


def _fields(changes: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    return {(each["object"], each["field"], str(each["after"])) for each in changes}


def _iso(timestamp_ms: Any) -> str:
    return datetime.datetime.fromtimestamp(int(timestamp_ms) / 1000, datetime.UTC).isoformat()


def test_history_of_an_object_has_what_differs_after_the_gap(
    metalog: Metalog, recorded: Recording, whole: Path
) -> None:
    name = "partition:team-0.changelog.0/3"
    lines = metalog("history", recorded.log, name, "--json").lines
    (number,) = [index for index, line in enumerate(lines) if "gap" in line]
    expected = metalog("history", whole, name, "--json").lines
    before = [line for line in expected if line["offset"] < recorded.gap_start]
    after = [line for line in expected if line["offset"] >= recorded.gap_end]
    assert (lines[:number], lines[number + 1 :]) == (before, after)
    missed = [line for line in expected if line not in (*before, *after)]
    (found,) = lines[number]["found"]
    assert (found["field"], found["after"]) == ("partition_epoch", len(missed))


def test_history_of_what_appeared_in_the_gap(metalog: Metalog, recorded: Recording) -> None:
    gap, *events = metalog("history", recorded.log, "topic:team-1*", "--json").lines
    assert {change["fate"] for change in gap["found"]} == {"new"}
    assert events == []
    text = metalog("history", recorded.log, "topic:team-1.audit.1").out
    assert "found after them: 1 topic new" in text


def test_history_of_what_never_was(metalog: Metalog, recorded: Recording) -> None:
    done = metalog("history", recorded.log, "topic:nothing", "--json")
    assert (done.code, done.out) == (3, "")


def test_steps_stop_at_a_gap_in_which_the_object_changed(
    metalog: Metalog, recorded: Recording
) -> None:
    name, gap = "partition:team-0.changelog.0/3", recorded.gap_start
    for step, point in (("--next", gap - 1), ("--prev", recorded.gap_end)):
        (line,) = metalog("history", recorded.log, name, step, point, "--json").lines
        assert line["gap"]["from_offset"] == gap
    event, unchanged = metalog("history", recorded.log, "broker:3", "--prev", "end", "--json").lines
    assert (event["offset"], unchanged["found"]) == (12, [])


def test_newest_changes_reach_behind_the_gap(metalog: Metalog, recorded: Recording) -> None:
    lines = metalog("history", recorded.log, "broker:3", "--last", 1, "--json").lines
    assert ["gap" in line for line in lines] == [False, True]


def test_outages_are_those_of_the_parts(
    metalog: Metalog, with_outages: Recording, whole: Path
) -> None:
    found = metalog("outages", with_outages.log, "--json").json
    first = metalog("outages", with_outages.first_part, "--json").json["intervals"]
    (gap,) = found["gaps"]
    assert gap["gap"]["from_offset"] == with_outages.gap_start
    before = [it for it in found["intervals"] if (it["from_offset"] or 1_000) < 200]
    assert len(before) == len(first)
    durations = [it["duration_ms"] for it in found["intervals"]]
    assert durations == sorted(durations, reverse=True)


def test_outage_on_both_sides_of_a_gap_says_that_its_end_is_not_known(
    metalog: Metalog, with_outages: Recording, whole: Path
) -> None:
    found = metalog("outages", with_outages.log, "--json").json["intervals"]
    last, first = with_outages.gap_start - 1, with_outages.gap_end - 1
    running = {_outage(it): it for it in found if it.get("last_seen_at") == last}
    going_on = {_outage(it): it for it in found if it.get("found_at") == first}
    both = running.keys() & going_on.keys()
    assert both
    assert len(running) > len(both)
    assert len(going_on) > len(both)
    for side in (running, going_on):
        assert {name for name, it in side.items() if "on_both_sides" in it} == both
    assert all(it["to_offset"] is None for it in running.values())
    assert all(it["from_offset"] is None and it["cause"] is None for it in going_on.values())
    text = metalog("outages", with_outages.log).out
    assert "it is not known whether it ended in between" in text


def test_outages_of_a_range_that_begins_in_the_gap_have_what_ran_before_it(
    metalog: Metalog, with_outages: Recording
) -> None:
    middle = with_outages.gap_start + 5
    found = metalog("outages", with_outages.log, "--from", middle, "--json").json
    whole = metalog("outages", with_outages.log, "--json").json["intervals"]
    last = with_outages.gap_start - 1
    expected = [it for it in whole if it.get("last_seen_at") == last]
    assert [it for it in found["intervals"] if it.get("last_seen_at") == last] == expected
    assert len(found["gaps"]) == 1


def test_lasting_outages_are_those_at_the_end(metalog: Metalog, with_outages: Recording) -> None:
    found = metalog("outages", with_outages.log, "--json").json
    lasting = [
        it for it in found["intervals"] if it["to_offset"] is None and "last_seen_at" not in it
    ]
    assert sum(total["lasting"] for total in found["totals"].values()) == len(lasting)


def _outage(interval: dict[str, Any]) -> tuple[str, str]:
    return interval["object"], interval["kind"]


def test_diff_of_two_parts_is_that_of_the_whole_log(
    metalog: Metalog, recorded: Recording, whole: Path
) -> None:
    for points in ((20, 300), (300, 20), (20, 40), (250, 300)):
        found, expected = (
            metalog("diff", log, *points, "--json").json["changes"] for log in (recorded.log, whole)
        )
        assert found == expected
    assert "were not recorded" in metalog("diff", recorded.log, 20, 300).out
    one = metalog("diff", recorded.log, 20, 300, "--object", "topic:team-1.audit.1", "--json").json
    assert {change["before"] for change in one["changes"]} == {None}
    assert metalog("diff", recorded.log, 20, 300, "--object", "topic:nothing").code == 3


@pytest.mark.parametrize("command", [("dump", "--verbose"), ("check",), ("digest",)])
def test_command_that_reads_one_part_says_so(
    metalog: Metalog, recorded: Recording, command: tuple[str, ...]
) -> None:
    verb, *options = command
    done = metalog(verb, recorded.log, *options)
    assert done.code == 0
    assert "what was before is in another part of the recording" in done.out


def test_command_that_reads_one_part_names_the_other(metalog: Metalog, recorded: Recording) -> None:
    done = metalog("dump", recorded.log, "--from", 20)
    assert done.code == 3
    assert f"is in {recorded.first_part}" in done.err


def test_summary_is_of_all_parts(metalog: Metalog, recorded: Recording, whole: Path) -> None:
    found, expected = (metalog("summary", log, "--json").json for log in (recorded.log, whole))
    assert (found["from_time"], found["to_time"]) == (expected["from_time"], expected["to_time"])
    assert found["controllers"] == expected["controllers"]
    assert found["partitions"] == expected["partitions"]
    (clause,) = [each for each in found["clauses"] if each["about"] == "gap"]
    assert (clause["from_offset"], clause["to_offset"]) == (
        recorded.gap_start,
        recorded.gap_end - 1,
    )
    later = metalog("summary", recorded.log, "--from", recorded.gap_end, "--json").json
    assert "gap" not in {each["about"] for each in later["clauses"]}
    assert later["gap"]["to_offset"] == recorded.gap_end
