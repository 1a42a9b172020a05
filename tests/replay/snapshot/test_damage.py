"""Damage in the database is noticed and reported, and never results in an image."""

import logging
from contextlib import suppress

import msgspec
import pytest
from sqlalchemy import Engine, Executable, delete, select, update

from records.errors import CorruptLogError
from replay.snapshot.database import writing
from replay.snapshot.store import SnapshotStore
from replay.snapshot.tables import snapshot, snapshot_chunk, snapshot_manifest
from tests.replay.snapshot.conftest import ON_BOTH
from tests.replay.snapshot.images import cluster_of

pytestmark = ON_BOTH

ONE, TWO = cluster_of([1]), cluster_of([1, 2])


@pytest.fixture
def chunk_hash(store: SnapshotStore, engine: Engine) -> bytes:
    """Return the hash of the chunk that the newer of two snapshots does not share with the
    older.
    """
    store.create(ONE)
    with engine.connect() as connection:
        shared = set(connection.scalars(select(snapshot_chunk.c.hash)))
    store.create(TWO)
    with engine.connect() as connection:
        (found,) = set(connection.scalars(select(snapshot_chunk.c.hash))) - shared
    return bytes(found)


def _damage(engine: Engine, statement: Executable) -> None:
    with writing(engine) as connection:
        connection.execute(statement)


def _change_content(engine: Engine, chunk_hash: bytes, content: bytes) -> None:
    which = snapshot_chunk.c.hash == chunk_hash
    _damage(engine, update(snapshot_chunk).where(which).values(content=content))


def _content(engine: Engine, chunk_hash: bytes) -> bytes:
    with engine.connect() as connection:
        query = select(snapshot_chunk.c.content).where(snapshot_chunk.c.hash == chunk_hash)
        return bytes(connection.scalars(query).one())


def test_no_flipped_bit_of_a_chunk_changes_an_image(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    content = _content(engine, chunk_hash)
    unnoticed = 0
    for bit in range(0, 8 * len(content), 29):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        _change_content(engine, chunk_hash, bytes(flipped))
        with suppress(CorruptLogError):
            # A frame's header has bits that nothing reads.
            assert store.load(8) == TWO
            unnoticed += 1
    assert unnoticed < 3


def test_damage_names_snapshot_and_chunk(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    _change_content(engine, chunk_hash, _content(engine, chunk_hash)[:-1])
    where = f"snapshot at end offset 8 of cluster test-cluster: damaged, chunk {chunk_hash.hex()}"
    with pytest.raises(CorruptLogError, match=f"{where} of its part 'topics'"):
        store.load(8)


def test_chunk_with_the_content_of_another_is_damage(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    with engine.connect() as connection:
        other = connection.execute(
            select(snapshot_chunk).where(snapshot_chunk.c.hash != chunk_hash).limit(1)
        ).one()
    values = {"content": other.content, "size": other.size}
    _damage(
        engine, update(snapshot_chunk).where(snapshot_chunk.c.hash == chunk_hash).values(values)
    )
    with pytest.raises(CorruptLogError, match="has another SHA-256"):
        store.load(8)


def test_missing_entry_of_the_manifest_is_damage(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    _damage(engine, delete(snapshot_manifest).where(snapshot_manifest.c.chunk_hash == chunk_hash))
    with pytest.raises(CorruptLogError, match="manifest of 0 chunks do not match its checksum"):
        store.load(8)


def test_missing_chunk_is_damage(store: SnapshotStore, engine: Engine, chunk_hash: bytes) -> None:
    if engine.dialect.name == "postgresql":
        with writing(engine) as connection:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            connection.execute(delete(snapshot_chunk).where(snapshot_chunk.c.hash == chunk_hash))
    else:
        raw = engine.raw_connection()
        raw.cursor().execute("PRAGMA foreign_keys = OFF")
        raw.cursor().execute("DELETE FROM snapshot_chunk WHERE hash = ?", (chunk_hash,))
        raw.close()
    with pytest.raises(CorruptLogError, match="1 of its 1 chunks are missing"):
        store.load(8)


def test_newest_falls_back_to_the_snapshot_before_a_damaged_one(
    store: SnapshotStore,
    engine: Engine,
    chunk_hash: bytes,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _change_content(engine, chunk_hash, b"")
    with caplog.at_level(logging.WARNING):
        assert store.load_newest() == ONE
    (warning,) = caplog.messages
    assert warning.startswith("snapshot passed over: snapshot at end offset 8")


def test_damaged_snapshot_is_pruned_and_created_again(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    _change_content(engine, chunk_hash, b"")
    store.prune(0)
    store.create(TWO)
    assert store.load(8) == TWO


@pytest.mark.parametrize(
    "change",
    [
        {"end_offset": 9},
        {"leader_epoch": 2},
        {"timestamp_ms": 0},
        {"mid_batch": True},
        {"digest": "0" * 64},
        {"created_at_ms": 0},
        {"checksum": b""},
    ],
    ids=lambda change: str(*change),
)
def test_changed_row_is_damage(
    store: SnapshotStore, engine: Engine, change: dict[str, object]
) -> None:
    store.create(TWO)
    _damage(engine, update(snapshot).values(change))
    (info,) = store.list()
    with pytest.raises(CorruptLogError, match="do not match its checksum"):
        store.load(info.end_offset)


def test_row_with_values_of_other_types_is_damage(store: SnapshotStore, engine: Engine) -> None:
    if engine.dialect.name != "sqlite":
        pytest.skip("only SQLite stores them")
    store.create(TWO)
    with writing(engine) as connection:
        connection.exec_driver_sql("UPDATE snapshot SET timestamp_ms = 'x'")
    with pytest.raises(CorruptLogError, match="timestamp_ms"):
        store.list()


def test_chunk_that_became_a_text_is_damage(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    if engine.dialect.name != "sqlite":
        pytest.skip("each SQLite value has a type of its own")
    with writing(engine) as connection:
        connection.exec_driver_sql(
            "UPDATE snapshot_chunk SET content = CAST(content AS TEXT) WHERE hash = ?",
            (chunk_hash,),
        )
    with pytest.raises(CorruptLogError, match=r"Could not decode to UTF-8; the database is made"):
        store.load(8)


def test_image_with_another_digest_fails_verification(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = store.create(TWO)
    assert store.verify(8) == info
    # As if the rules of the digest, or those of the image, were others than when it was made.
    monkeypatch.setattr("replay.snapshot.store.image_digest", lambda image: "other")
    with pytest.raises(CorruptLogError, match=f"digest other, expected {info.digest}"):
        store.verify(8)


@pytest.mark.parametrize("values", [{"content": b"x"}, {"encoding": "?"}, {"size": 1}])
def test_create_replaces_a_damaged_snapshot_of_the_same_offset(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes, values: dict[str, object]
) -> None:
    which = snapshot_chunk.c.hash == chunk_hash
    _damage(engine, update(snapshot_chunk).where(which).values(values))
    store.create(TWO)
    assert store.load(8) == TWO
    assert store.verify(4).end_offset == 4


def test_create_replaces_a_snapshot_whose_row_or_manifest_is_damaged(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    manifest = delete(snapshot_manifest).where(snapshot_manifest.c.chunk_hash == chunk_hash)
    checksum = update(snapshot).where(snapshot.c.end_offset == 8).values(checksum=bytes(32))
    damages: list[Executable] = [manifest, checksum]
    if engine.dialect.name == "sqlite":
        which = update(snapshot).where(snapshot.c.end_offset == 8)
        damages.append(which.values(created_at_ms="soon"))
    for damage in damages:
        _damage(engine, damage)
        store.create(TWO)
        assert store.load(8) == TWO


def test_new_snapshot_mends_the_damaged_chunks_that_it_shares(
    store: SnapshotStore, engine: Engine, chunk_hash: bytes
) -> None:
    _change_content(engine, chunk_hash, b"damaged")
    # The same state an offset later.
    later = msgspec.structs.replace(
        TWO, provenance=msgspec.structs.replace(TWO.provenance, offset=8)
    )
    store.create(later)
    assert store.load(9) == later
    assert store.load(8) == TWO
