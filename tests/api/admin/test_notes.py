"""notes add, notes list; notes in the timeline."""

from pathlib import Path

import pytest

from controller.decisions.context.cluster_index import ClusterIndex
from controller.results.turns import Turns
from replay.image.metadata import MetadataImage
from tests.api.conftest import Metalog

TEXT = "the switch of rack 2 was replaced"


def test_a_note_stands_where_its_record_is(metalog: Metalog, log: Path) -> None:
    added = metalog("notes", "add", 1, TEXT, "--as", "User:ann", "--log", log)
    assert added.out.startswith("pinned a note of User:ann to offset 1\ncommitted at offset ")
    told = metalog("timeline", log, "--from", 1, "--to", 1)
    assert told.out.splitlines()[-1].endswith(f"1  note: {TEXT}  by User:ann")
    kinds = metalog("timeline", log, "--type", "notes", "--json").json["events"]
    assert [(each["from_offset"], each["text"]) for each in kinds] == [
        (1, f"note: {TEXT}"),
        (kinds[-1]["from_offset"], "note about offset 1 written"),
    ]
    (record,) = metalog("dump", log, "--type", "NoteRecord", "--json").lines
    assert (record["offset"], record["timestamp"]) == (
        kinds[-1]["from_offset"],
        kinds[-1]["time"],
    )


def test_a_note_is_added_to_a_log_without_an_index_of_its_partitions(
    metalog: Metalog, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[MetadataImage] = []
    in_turns = ClusterIndex.in_turns

    def noted(image: MetadataImage) -> Turns[ClusterIndex]:
        made.append(image)
        return in_turns(image)

    monkeypatch.setattr(ClusterIndex, "in_turns", noted)
    assert metalog("notes", "add", 1, TEXT, "--log", log).code == 0
    assert not made
    assert metalog("topics", "create", "new", "--partitions", 1, "--log", log).code == 0
    assert made


def test_history_shows_the_notes_about_each_change(metalog: Metalog, log: Path) -> None:
    asked = ("history", log, "broker:1", "--notes")
    (first, *others) = metalog(*asked, "--json").lines
    assert (first["notes"], [each["notes"] for each in others]) == ([], [[]] * len(others))
    assert "notes" not in metalog(*asked[:-1], "--json").lines[0]
    at = first["offset"]
    for author, text in (("User:ann", TEXT), ("User:bob", "see ticket 17")):
        metalog("notes", "add", at, text, "--as", author, "--log", log)
    metalog("notes", "add", at + 1, "about another record", "--log", log)
    noted = [{"author": "User:ann", "text": TEXT}, {"author": "User:bob", "text": "see ticket 17"}]
    (first, *others) = metalog(*asked, "--json").lines
    assert (first["notes"], [each["notes"] for each in others]) == (noted, [[]] * len(others))
    # They count whenever they were written, and in steps, patterns and with the SQL history, too.
    (step,) = metalog("history", log, "broker:1", "--notes", "--next", at - 1, "--json").lines
    assert step["notes"] == noted
    (matched, *_) = metalog("history", log, "broker:*", "--notes", "--to", at, "--json").lines
    assert (matched["object"], matched["notes"]) == ("broker:1", noted)
    told = metalog(*asked, "--to", at).out.splitlines()
    assert [line.strip() for line in told[-2:]] == [
        f"note of User:ann: {TEXT}",
        "note of User:bob: see ticket 17",
    ]
    assert metalog("sql", "sync", log).code == 0
    assert metalog(*asked, "--to", at).out.splitlines() == told
    assert f"note: {TEXT}" in metalog("timeline", log, "--from", at, "--to", at).out


def test_notes_are_listed_as_of_a_point(metalog: Metalog, log: Path) -> None:
    before = metalog("info", log, "--json").json["log_end"] - 1
    metalog("notes", "add", 1, TEXT, "--author", "night shift", "--log", log)
    metalog("notes", "add", 0, "made by the demo", "--as", "User:ann", "--log", log)
    listed = metalog("notes", "list", "--log", log, "--json").json
    assert listed["notes"] == [
        {"at_offset": 0, "author": "User:ann", "text": "made by the demo"},
        {"at_offset": 1, "author": "night shift", "text": TEXT},
    ]
    assert metalog("notes", "list", "--log", log, "--at", before, "--json").json["notes"] == []


def test_the_same_note_again_writes_nothing(metalog: Metalog, log: Path) -> None:
    first = metalog("notes", "add", 1, TEXT, "--log", log, "--json").json
    again = metalog("notes", "add", 1, TEXT, "--log", log, "--json").json
    assert first["committed_at"] is not None
    assert again["committed_at"] is None


def test_a_note_about_what_is_not_there_is_refused(metalog: Metalog, log: Path) -> None:
    end = metalog("info", log, "--json").json["log_end"]
    refused = metalog("notes", "add", end + 100, TEXT, "--log", log)
    assert refused.code == 3
    assert "OFFSET_OUT_OF_RANGE: no record has the offset" in refused.err
    for text in ("", "x" * 5_000):
        empty = metalog("notes", "add", 1, text, "--log", log)
        assert (empty.code, "1 to 4,096 characters" in empty.err) == (3, True)


def test_damage_after_a_range_does_not_hide_it(metalog: Metalog, log: Path) -> None:
    metalog("notes", "add", 1, TEXT, "--log", log)
    (*_, last) = sorted(log.glob("0*.avro"))
    stored = bytearray(last.read_bytes())
    stored[-20] ^= 1
    last.write_bytes(stored)
    assert metalog("timeline", log).code == 5
    early = metalog("timeline", log, "--to", 2)
    assert (early.code, "note" in early.out) == (0, False)
