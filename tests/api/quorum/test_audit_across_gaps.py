"""An audit reads one part of a recording, and names the earlier part that it does not read."""

import pytest

from metadata_log.reader.log_reader import LogReader
from records.errors import UnknownHistoryError
from replay.audit.source.options import Options
from replay.audit.source.record_stream import RecordStream, position_json
from tests.api.conftest import Metalog
from tests.api.quorum.recordings import Recording


def _named(recorded: Recording) -> str:
    return (
        f"offsets {recorded.gap_start} to {recorded.gap_end - 1} were not recorded, and what was "
        f"recorded before is in {recorded.first_part.resolve()}; name that folder"
    )


def test_audit_reads_the_newest_part_and_says_the_gap(
    metalog: Metalog, recorded: Recording
) -> None:
    found = metalog("audit", "changes", recorded.log, "--engine", "duckdb", "--json").json
    assert found["gap"]["to_offset"] == found["since"] == recorded.gap_end
    text = metalog("audit", "changes", recorded.log, "--engine", "duckdb").out
    assert f"offsets {recorded.gap_start} to {recorded.gap_end - 1} were not recorded" in text


@pytest.mark.parametrize("option", ["--since", "--until"])
def test_range_of_an_audit_in_an_earlier_part_is_refused(
    metalog: Metalog, recorded: Recording, option: str
) -> None:
    done = metalog("audit", "changes", recorded.log, option, 20, "--engine", "duckdb")
    assert (done.code, done.out) == (3, "")
    assert _named(recorded) in done.err
    earlier = metalog("audit", "changes", recorded.first_part, option, 20, "--engine", "duckdb")
    assert earlier.code == 0


@pytest.mark.parametrize(
    "given",
    [
        {"startingOffset": "20"},
        {"since": "20"},
        {"since": "2000-01-01T00:00:00Z"},
        {"at": "20", "relation": "topics"},
    ],
    ids=str,
)
def test_format_metalog_refuses_a_range_in_an_earlier_part(
    recorded: Recording, given: dict[str, str]
) -> None:
    options = Options.parse({"log": str(recorded.log), **given})
    with LogReader.open(recorded.log) as reader:
        with pytest.raises(UnknownHistoryError) as met:
            options.range_of(reader)
        assert _named(recorded) in str(met.value)
        whole = Options.parse({"log": str(recorded.log)}).range_of(reader)
    assert (whole.first, whole.last) == (recorded.gap_end, recorded.end_offset - 1)


def test_stream_that_reaches_a_gap_names_the_part_or_has_a_row_for_the_gap(
    recorded: Recording,
) -> None:
    with LogReader.open(recorded.first_part) as reader:
        begin = position_json(reader, 30)
    with LogReader.open(recorded.log) as reader:
        end = position_json(reader, recorded.end_offset)
    given = {"log": str(recorded.log)}
    with pytest.raises(UnknownHistoryError) as met:
        RecordStream(Options.parse(given)).partitions(begin, end)
    assert _named(recorded) in str(met.value)
    going_on = RecordStream(Options.parse({**given, "failOnDataLoss": "false"}))
    gap, first, *_ = going_on.partitions(begin, end)
    assert (gap.first, gap.end, gap.is_kept) == (30, recorded.gap_end, False)
    assert first.first == recorded.gap_end
