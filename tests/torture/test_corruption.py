"""A part of the corruption campaign, and tests that it notices what it should."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from unittest.mock import patch

import pytest

from metadata_log.files.names import COMMIT_MARK
from tests.torture.campaign import Place
from tests.torture.campaigns import corruption
from tests.torture.damage import changes, exchanges, specimens
from tests.torture.damage.specimens import Specimen
from tests.torture.damage.verdict import Damage, judge


def judged(specimen: Specimen, damage: Damage) -> str:
    return asyncio.run(judge(specimen, damage)) or "nothing is wrong"


def test_one_in_400_damages_of_the_small_logs_is_reported_or_harmless() -> None:
    outcome = corruption.run_every(400)
    assert outcome.done > 1_500
    assert outcome.failures == ()


def test_damages_of_the_large_log_are_reported_or_harmless() -> None:
    for point in range(60):
        outcome = corruption.reproduce(Place(seed=corruption.SEEDS_MIN - 1, point=point))
        assert outcome.failures == ()


def test_exhaustive_pieces_hold_every_bit_of_every_file_once() -> None:
    log = specimens.open_log()
    damages = changes.flips(log, sorted(log.files))
    assert len(damages) == 8 * sum(len(data) for data in log.files.values())
    changed = {(d.place, d.files[d.place[0]]) for d in _some(damages) if d.place}
    assert len(changed) == len(list(_some(damages)))


def _some(damages: changes.Damages) -> list[Damage]:
    return [damages[index] for index in range(0, len(damages), 997)]


def test_log_that_silently_lost_its_end_is_noticed() -> None:
    log = specimens.open_log()
    name, spans = max(log.spans.items())
    mark = next(mark for mark, end in log.older_marks if end == spans[-2].base_offset)
    shorter = {**log.files, name: log.files[name][: spans[-2].start], COMMIT_MARK: mark}
    damage = Damage(what="an older copy", files=shorter, names=(name,))
    assert "the reader ends at 20, the log at 22" in judged(log, damage)


@pytest.mark.parametrize(
    ("log", "other"),
    [
        (specimens.retained, specimens.retained_fork),
        (specimens.retained, specimens.retained_namesake),
        (specimens.retained, specimens.retained_stranger),
        (specimens.mirror, specimens.mirror_namesake),
    ],
)
def test_every_file_of_another_log_is_reported_or_harmless(
    log: Callable[[], Specimen], other: Callable[[], Specimen]
) -> None:
    damages = exchanges.all_of(log(), other())
    said = [judged(log(), damages[index]) for index in range(len(damages))]
    assert set(said) == {"nothing is wrong"}


def test_every_kind_of_file_is_exchanged() -> None:
    damages = exchanges.all_of(specimens.retained(), specimens.retained_stranger())
    changed = {damages[index].what for index in range(len(damages))}
    for kind in ("checkpoint.avro", "14.avro", "14.index", "commit.mark", "json", "epoch-9"):
        assert any(what.endswith(f"{kind} of another log") for what in changed), kind


def test_base_of_a_fork_that_is_believed_is_noticed() -> None:
    log, fork = specimens.retained(), specimens.retained_fork()
    (name,) = [name for name in log.spans if name.endswith(".checkpoint.avro")]
    files = {**log.files, name: fork.files[name]}
    damage = Damage(what="a fork's base", files=files, names=(name,))
    assert judged(log, damage) == "nothing is wrong"
    with patch("metadata_log.format.base._check", lambda *_: True):
        assert "other rows in the base checkpoint" in judged(log, damage)


def test_log_with_other_records_is_noticed() -> None:
    damage = Damage(what="another log", files=specimens.other_log().files, names=())
    assert "other batches, and no error" in judged(specimens.open_log(), damage)


def test_error_that_names_another_place_than_the_damaged_one_is_noticed() -> None:
    log = specimens.open_log()
    name, spans = min(log.spans.items())
    damage = changes.flip(log, name, spans[2].start + 5, 0)
    elsewhere = Damage(
        what="elsewhere",
        files=damage.files,
        names=damage.names,
        place=(name, spans[4].start, spans[4].start),
    )
    assert judged(log, damage) == "nothing is wrong"
    assert f"byte {spans[2].start} is named" in judged(log, elsewhere)


def test_specimens_have_a_roll_two_epochs_and_a_mark_for_each_batch() -> None:
    log = specimens.open_log()
    assert len([name for name in log.files if name.endswith(".avro")]) == 3
    assert {batch.leader_epoch for batch in log.batches} == {1, 2}
    assert all(a < b for (_, a), (_, b) in pairwise(log.older_marks))
    mirror = specimens.mirror()
    assert mirror.base and len(mirror.spans) == 2
