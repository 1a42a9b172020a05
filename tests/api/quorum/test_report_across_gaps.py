"""The report of a recording with a gap, and the same from a page that is served."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.questions.past import Past
from api.questions.report import ShowReport, report_shown
from metadata_log.reader.log_reader import LogReader
from tests.api.conftest import Metalog
from tests.api.quorum.recordings import Recording
from tests.replay.report.unpacked import Rebuilt, State, Unpacked, packed_of

Reported = Callable[..., Unpacked]


@pytest.fixture
def reported(metalog: Metalog, tmp_path: Path) -> Reported:
    def report(log: Path, *options: object) -> Unpacked:
        done = metalog("report", log, tmp_path / "r.html", *options)
        assert done.code == 0, done
        return Unpacked(packed_of(tmp_path / "r.html"))

    return report


def _comparable(state: State) -> State:
    """Return a state without what a snapshot of Kafka's has in another order, or not at all."""
    return {
        name: {
            field: sorted(value, key=repr) if isinstance(value, list) else value
            for field, value in fields.items()
        }
        for name, fields in state.items()
        if name != ("cluster", "producer_ids")
    }


def _rows(found: Unpacked) -> list[tuple[int, str]]:
    """Return the offset at which each row takes effect, and its type; without the first row."""
    types = [found.header["types"][number] for number in found.columns["type"]]
    rows = dict.fromkeys((row, offset) for offset, row, _ in found.changes())
    return [(offset, types[row]) for row, offset in rows if row > 0]


def test_states_of_both_parts_are_those_of_the_whole_log(
    reported: Reported, recorded: Recording, whole: Path
) -> None:
    found, expected = (Rebuilt(reported(log)) for log in (recorded.log, whole))
    known = [*range(recorded.gap_start), *range(recorded.gap_end - 1, recorded.end_offset)]
    for offset in known:
        assert _comparable(found.at(offset)) == _comparable(expected.at(offset)), offset


def test_gap_is_one_row_and_one_event_without_a_cause(
    metalog: Metalog, reported: Reported, recorded: Recording
) -> None:
    found, first, last = reported(recorded.log), recorded.gap_start, recorded.gap_end - 1
    (gap,) = found.header["gaps"]
    assert gap[:2] == [first, recorded.gap_end]
    assert [row for row in _rows(found) if first <= row[0] <= last] == [(last, "gap")]
    columns, types = found.columns, found.header["types"]
    (row,) = [at for at, number in enumerate(columns["type"]) if types[number] == "gap"]
    assert columns["origin"][row] == 0
    assert (columns["cause"][row - 1], columns["outage_text"][row - 1]) == (0, 0)
    kinds = [found.header["event_kinds"][number] for number in columns["event_kind"]]
    event = kinds.index("gap")
    assert (columns["event_cause"][event], columns["event_origin"][event]) == (0, 0)
    texts = [found.header["event_texts"][number] for number in columns["event_text"]]
    assert "found after them: " in texts[event]
    told = [each["text"] for each in metalog("timeline", recorded.log, "--json").json["events"]]
    assert texts[:event] + texts[event + 1 :] == told
    assert len(set(columns["event_key"])) == len(kinds)


def test_nobody_is_said_to_have_been_without_a_controller_in_a_gap(
    reported: Reported, recorded: Recording
) -> None:
    before, after = reported(recorded.log).header["terms"]
    assert (before[2:4], after[0]) == (after[2:4], recorded.gap_end)


@pytest.mark.parametrize(
    ("first", "last", "gaps"), [(20, 40, 0), (20, 300, 1), (100, 300, 1), (250, 300, 0)]
)
def test_range_has_the_gap_if_it_has_a_part_of_it(
    metalog: Metalog, recorded: Recording, tmp_path: Path, first: int, last: int, gaps: int
) -> None:
    file = tmp_path / "r.html"
    done = metalog("report", recorded.log, file, "--from", first, "--to", last, "--json").json
    assert len(done.get("gaps", ())) == gaps
    header = Unpacked(packed_of(file)).header
    assert header["last"] == last
    assert header["first"] == (recorded.gap_start if first == 100 else first)
    assert len(header["gaps"]) == gaps
    assert "gap" not in header["about"] or first == 250
    assert not done["narrowed"]


def test_range_that_is_too_large_is_narrowed_to_either_side(recorded: Recording) -> None:
    from api.questions.parts import opened

    sizes = {}
    for size in (40_000, 9_000, 6_000, 3_000):
        with LogReader.open(recorded.log) as reader:
            past = opened(reader, lambda of, before: Past(of, before=before))
            pieces = [*report_shown(past, past.offset("end"), ShowReport(size_max=size)).items]
        sizes[size] = (pieces[0].first, pieces[0].last, len(pieces[0].gaps))
        header = Unpacked(b"".join(piece.content for piece in pieces)).header
        assert (header["first"], header["last"]) == sizes[size][:2]
    assert sizes[40_000] == (0, recorded.end_offset - 1, 1)
    assert sizes[3_000][2] == 0


def test_service_reads_all_parts(metalog: Metalog, recorded: Recording) -> None:
    from tests.api.quorum.test_parts import HTTP, _info_when, _running

    with _running("view", str(recorded.log), "--http", HTTP) as view:
        assert view.stdout is not None
        url = view.stdout.readline().split()[2].rstrip(",")
        _info_when(url, log_end=recorded.end_offset)
        header = Unpacked(_read(f"{url}v1/report/columns?from=start")).header
        assert (header["first"], len(header["gaps"])) == (0, 1)
        summary = json.loads(_read(f"{url}v1/summary"))
        assert "gap" in {each["about"] for each in summary["clauses"]}
        outages = json.loads(_read(f"{url}v1/outages"))
        assert len(outages["gaps"]) == 1
        why = json.loads(_read(f"{url}v1/why?object=broker:3&at=20"))
        assert why["as_of"] == 20
        for words in (("timeline",), ("timeline", "--from", 20)):
            path = "&".join(["v1/timeline?to=end", *(f"from={each}" for each in words[2:])])
            found = json.loads(_read(url + path))
            assert found == metalog("timeline", recorded.log, *words[1:], "--json").json
            assert found["gaps"]
        for name in ("partition:team-0.changelog.0/3", "topic:team-1*"):
            lines = _read(f"{url}v1/history?object={name}").decode().splitlines()
            expected = metalog("history", recorded.log, name, "--json").lines
            assert [json.loads(line) for line in lines] == expected
            assert "gap" in {key for line in expected for key in line}
        events = json.loads(_read(f"{url}v1/timeline?limit=3"))
        assert (len(events["events"]), bool(events["next"])) == (3, True)


def _read(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return answer.read()
