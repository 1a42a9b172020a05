"""An answer contains the versions of all objects that the decision changed, and of no others."""

import random
from collections.abc import Iterator

import pytest

import controller.results.changed_versions as module
from controller.results.changed_versions import ObjectVersion, changed_versions
from records.base import Record
from replay.image.metadata import MetadataImage
from replay.loader import images
from replay.time_travel.kinds import KINDS, VERSIONED_KINDS, object_version
from tests.histories import random_history
from tests.replay.builders import FakeLog

Written = tuple[list[Record], MetadataImage, MetadataImage, int]


def written(seed: int) -> Iterator[Written]:
    """Yield the records that take effect together: a batch, or a whole transaction."""
    log = FakeLog(random_history(random.Random(seed), 150))
    before, records, since = MetadataImage.EMPTY, [], 0
    for batch, after in images(log, 0, log.end_offset):
        records += [row.payload for row in batch.rows]
        if after.provenance.pending_transaction is None:
            yield records, before, after, since
            before, records, since = after, [], batch.end_offset


def whole(before: MetadataImage, after: MetadataImage, since: int) -> set[ObjectVersion]:
    """Compute the same result by comparing all objects of both images."""
    found: dict[str, int | None] = {}
    for name in VERSIONED_KINDS:
        kind = KINDS[name]
        keys = {key for key, _ in kind.objects(after)}
        for key in keys:
            version = object_version(after, name, key)
            if version >= since:
                found[f"{name}:{kind.label(after, key)}"] = version
        for key, _ in kind.objects(before):
            if key not in keys:
                found.setdefault(f"{name}:{kind.label(before, key)}", None)
    return {ObjectVersion(name, version) for name, version in found.items()}


@pytest.mark.parametrize("seed", range(6))
def test_versions_are_those_of_every_object_that_changed(seed: int) -> None:
    changes = 0
    for records, before, after, since in written(seed):
        told = changed_versions(records, before, after, since)
        assert told is not None
        assert set(told) == whole(before, after, since), records
        assert len(set(told)) == len(told)
        changes += len(told)
    assert changes > 50


def test_too_many_versions_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VERSIONS_MAX", 2)
    for records, before, after, since in written(1):
        told, all_of_them = (
            changed_versions(records, before, after, since),
            whole(before, after, since),
        )
        assert told is None or set(told) == all_of_them
        assert told is not None or max(len(records), len(all_of_them)) > 2


def test_an_empty_decision_changed_nothing() -> None:
    assert changed_versions((), MetadataImage.EMPTY, MetadataImage.EMPTY, 7) == ()
