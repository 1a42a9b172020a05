"""The tables of snapshots. Migrations create them; a test checks that both agree.

A snapshot is a row of `snapshot`; its rows in `snapshot_manifest` list its chunks. Chunks are
identified by the hash of their content and shared: data that two snapshots have in common is stored
once.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    false,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite assigns row ids only if the type is exactly INTEGER.
_ID = BigInteger().with_variant(Integer(), "sqlite")

snapshot = Table(
    "snapshot",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("cluster_id", String(255), nullable=False),
    # Exclusive: the image has the effect of every offset below it.
    Column("end_offset", BigInteger, nullable=False),
    # Of the last contained record; its append time.
    Column("leader_epoch", BigInteger, nullable=False),
    Column("timestamp_ms", BigInteger, nullable=False),
    Column("mid_batch", Boolean, nullable=False),
    # False if Kafka could still replace the tail in the image (mirrors only).
    Column("confirmed", Boolean, nullable=False),
    # Lower-case hexadecimal, as docs/digest.md defines it.
    Column("digest", String(64), nullable=False),
    Column("created_at_ms", BigInteger, nullable=False),
    Column("format", Integer, nullable=False),
    # CRC-32C of the last contained block, in a mirror of Kafka's batch; null when not known.
    Column("last_crc32c", BigInteger),
    # Version of the replay rules; null, as in the next two, for a snapshot of an early release.
    Column("rules", BigInteger),
    # How many records were not understood, and the offset of the first (null: none, or unknown).
    Column("not_understood", BigInteger),
    Column("not_understood_from", BigInteger),
    # True for one of a series of which only the newest are kept.
    Column("rotated", Boolean, nullable=False, server_default=false()),
    # SHA-256 over this row and the manifest.
    Column("checksum", LargeBinary(32), nullable=False),
    UniqueConstraint("cluster_id", "end_offset"),
)

snapshot_manifest = Table(
    "snapshot_manifest",
    metadata,
    Column(
        "snapshot_id",
        _ID,
        ForeignKey("snapshot.id", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("part", String(64), primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column(
        "chunk_hash",
        LargeBinary(32),
        ForeignKey("snapshot_chunk.hash"),
        nullable=False,
        index=True,
    ),
)

snapshot_chunk = Table(
    "snapshot_chunk",
    metadata,
    # SHA-256 of the content as it is before compression.
    Column("hash", LargeBinary(32), primary_key=True),
    Column("encoding", String(32), nullable=False),
    # Octets before compression.
    Column("size", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
