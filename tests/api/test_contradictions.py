"""A mirror whose records contradict the state before them: what commands report, and which work."""

import json
from pathlib import Path

import pytest

from metadata_log.kraft.directory import open_directory
from metadata_log.kraft.importer import import_directory
from metadata_log.reader.log_reader import LogReader
from metadata_log.writer.mirror_writer import MirrorWriter
from records.errors import ContradictionError
from replay.timeline import Timeline
from tests.api.conftest import Metalog
from tests.api.contradicting_log import END, NOT_THERE, REGISTERED, WRONG_EPOCH, write_kraft_log

REPLAYING = (
    "image LOG",
    "image LOG --part topics",
    "image LOG --format kraft-json",
    "digest LOG",
    "diff LOG start end",
    "blame LOG broker:2",
    "history LOG broker:2",
    "timeline LOG",
    "outages LOG",
    "why LOG partition:orders/0#leader",
    "check LOG",
    "bisect LOG brokers[2].fenced",
    "du LOG",
    "report LOG NEW.html",
    "snapshot create LOG",
    "fork LOG NEW",
    "topics list --log LOG",
    "verify LOG",
)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_kraft_log(tmp_path_factory.mktemp("contradicting"))


@pytest.fixture
def imported(kafka: Path, tmp_path: Path) -> Path:
    """A mirror with such records."""
    import_directory(open_directory(kafka), tmp_path / "log")
    return tmp_path / "log"


def test_import_says_so_and_keeps_all_of_it(metalog: Metalog, kafka: Path, tmp_path: Path) -> None:
    answer = metalog("import", "kraft", kafka, tmp_path / "log")
    assert (answer.code, f"offsets 0 to {END - 1}" in answer.out) == (1, True)
    assert answer.err.startswith(f"error: CONTRADICTION: offset {WRONG_EPOCH}: FenceBrokerRecord")
    assert len(metalog("dump", tmp_path / "log", "--json").lines) == END


@pytest.mark.parametrize("question", REPLAYING)
def test_every_verb_that_replays_names_both_records(
    metalog: Metalog, imported: Path, tmp_path: Path, question: str
) -> None:
    places = {"LOG": imported, "NEW": tmp_path / "new", "NEW.html": tmp_path / "new.html"}
    words = [places.get(word, word) for word in question.split()]
    answer = metalog(*words)
    assert answer.code == 1
    assert answer.err == (
        f"error: CONTRADICTION: offset {WRONG_EPOCH}: FenceBrokerRecord: broker 2 has epoch 2, not "
        f"1; so since offset {REGISTERED} (RegisterBrokerRecord); the image just before: "
        f"`metalog image {imported} --at {WRONG_EPOCH - 1}`\n"
    )
    assert not (tmp_path / "new").exists()


def test_json_names_both_records_and_the_command_that_shows_the_image_before(
    metalog: Metalog, imported: Path
) -> None:
    answer = metalog("image", imported, "--json")
    error = json.loads(answer.err)
    assert (answer.code, error["code"], error["outcome"]) == (1, "CONTRADICTION", "nothing")
    assert (error["offset"], error["type"]) == (WRONG_EPOCH, "FenceBrokerRecord")
    assert error["text"] == "broker 2 has epoch 2, not 1"
    earlier = {"offset": REGISTERED, "type": "RegisterBrokerRecord", "origin": None}
    assert error["earlier"] == earlier | {"time": 1_700_000_000_001}
    program, *words = error["image_before"].split()
    shown = metalog(*words, "--json")
    assert (program, shown.code, shown.json["as_of"]) == ("metalog", 0, WRONG_EPOCH - 1)


def test_the_history_of_other_objects_goes_on(metalog: Metalog, imported: Path) -> None:
    for name, last in (("partition:orders/0", 13), ("broker:1", 3), ("config:topic/orders", 15)):
        answer = metalog("history", imported, name, "--json")
        assert (answer.code, answer.lines[-1]["offset"]) == (0, last), name
        blamed = metalog("blame", imported, name, "--json")
        assert blamed.code == 0, name
        assert last in {field["offset"] for field in blamed.json["fields"].values()}, name


def test_the_bytes_can_be_verified_backed_up_and_restored(
    metalog: Metalog, imported: Path, tmp_path: Path
) -> None:
    verified = metalog("verify", imported, "--json")
    assert (verified.code, verified.json["damage"], verified.json["digest"]) == (1, [], None)
    assert verified.json["contradiction"]["offset"] == WRONG_EPOCH
    assert f"{imported}: whole; " in metalog("verify", imported).out
    assert metalog("backup", imported, tmp_path / "backup").code == 0
    restored = metalog("restore", tmp_path / "backup", tmp_path / "restored", "--json")
    assert (restored.code, restored.json["digest"]) == (0, None)
    assert restored.json["contradiction"]["offset"] == WRONG_EPOCH
    rows = metalog("dump", imported, "--json").lines
    assert metalog("dump", tmp_path / "restored", "--json").lines == rows
    before = metalog("restore", tmp_path / "backup", tmp_path / "early", "--at", "11", "--json")
    assert (before.code, "contradiction" in before.json) == (0, False)
    assert before.json["digest"] == metalog("digest", imported, "--at", "11").out.strip()


def test_library_raises_a_typed_error(imported: Path) -> None:
    with LogReader.open(imported) as reader:
        with pytest.raises(ContradictionError) as raised:
            Timeline.of(reader).image()
        error = raised.value
        assert error.record is not None
        assert error.earlier is not None
        assert (error.record.offset, error.earlier.offset) == (WRONG_EPOCH, REGISTERED)
        assert Timeline.of(reader).image(WRONG_EPOCH - 1).broker(2) is not None


KEPT_GOING = (
    "image LOG",
    "image LOG --part brokers",
    "diff LOG start end",
    "blame LOG broker:2",
    "history LOG broker:2",
    "timeline LOG",
    "outages LOG",
    "why LOG partition:orders/0#leader",
    "check LOG",
    "bisect LOG brokers[2].fenced",
    "du LOG",
)


@pytest.mark.parametrize("question", KEPT_GOING)
def test_keep_going_applies_the_rest_and_lists_what_it_left_out(
    metalog: Metalog, imported: Path, question: str
) -> None:
    words = [imported if word == "LOG" else word for word in question.split()]
    answer = metalog(*words, "--keep-going", "--json")
    assert (answer.code, answer.err) == (0, "")
    is_document = answer.out.startswith("{\n")
    place = answer.json if is_document else answer.lines[-1]["end"]
    assert [each["offset"] for each in place["left_out"]] == [WRONG_EPOCH, NOT_THERE]
    assert place["left_out"][0] == {
        "offset": WRONG_EPOCH,
        "type": "FenceBrokerRecord",
        "text": "broker 2 has epoch 2, not 1",
    }
    text = metalog(*words, "--keep-going")
    assert f"2 records left out, contradicting the state before: offset {WRONG_EPOCH}" in text.out


def test_keep_going_lists_what_was_left_out_up_to_its_point(
    metalog: Metalog, imported: Path
) -> None:
    for at, count in ((WRONG_EPOCH - 1, 0), (WRONG_EPOCH, 1), (END - 1, 2)):
        answer = metalog("image", imported, "--at", str(at), "--keep-going", "--json")
        assert len(answer.json["left_out"]) == count
    before = metalog("image", imported, "--at", str(WRONG_EPOCH - 1), "--json").json
    assert "left_out" not in before
    brokers = answer.json["parts"]["brokers"]
    assert [broker["fenced"] for broker in brokers] == [False, False]
    (config,) = answer.json["parts"]["configs"]
    assert config["retention.ms"] == str(3 * 3_600_000), "later records took effect"


@pytest.mark.parametrize(
    "question",
    ["digest LOG", "snapshot create LOG", "sql sync LOG", "fork LOG NEW", "report LOG NEW.html"],
)
def test_what_was_left_out_is_never_stored_exported_or_digested(
    metalog: Metalog, imported: Path, question: str
) -> None:
    words = [imported if word == "LOG" else word for word in question.split()]
    answer = metalog(*words, "--keep-going")
    assert (answer.code, "No such option: --keep-going" in answer.err) == (2, True)


def test_sql_sync_adds_what_is_before_and_stops_there(metalog: Metalog, imported: Path) -> None:
    with MirrorWriter(imported) as writer:
        writer.commit(END)  # Kafka's checkpoint covers it
    for _ in range(2):
        answer = metalog("sql", "sync", imported)
        assert answer.code == 1
        assert answer.err.startswith(f"error: CONTRADICTION: offset {WRONG_EPOCH}: FenceBroker")
    before = str(WRONG_EPOCH - 1)
    by_sql = metalog("digest", imported, "--at", before, "--by", "sql", "--json").json["digest"]
    assert by_sql == metalog("digest", imported, "--at", before, "--json").json["digest"]
    refused = metalog("digest", imported, "--at", str(WRONG_EPOCH), "--by", "sql")
    assert (refused.code, "is not in the tables yet" in refused.err) == (3, True)


def test_keep_going_on_an_own_log_leaves_nothing_out(metalog: Metalog, demo_log: Path) -> None:
    answer = metalog("image", demo_log, "--keep-going", "--json")
    assert (answer.code, answer.json["left_out"]) == (0, [])
