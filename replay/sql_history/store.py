"""Database with the history of one log: object states, and the range of offsets they cover."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import msgspec
from sqlalchemy import URL, Connection, Engine, FromClause, delete, insert, or_, select

from metadata_log.reader.position import Position
from records.errors import RequestError, UnknownHistoryError
from records.secrets import PUBLIC_CONFIGS
from replay.image.digest import digest_of_parts, digest_of_rows, row_text
from replay.snapshot.database import open_database, reading, shown_url, writing
from replay.snapshot.revision import VERSION_TABLE
from replay.snapshot.schema import HISTORY, check, revision_of, upgrade
from replay.sql_history.columns import row_decoder
from replay.sql_history.gaps import check_not_in_gap
from replay.sql_history.made_under import check_rules
from replay.sql_history.tables import VERSION_TABLES, VersionTable, position, public_config
from replay.sql_history.types import load_portable_values
from replay.time_travel.change_index import HISTORY_NAME


def default_url(directory: Path) -> URL:
    """Return the URL of the default database of a log's history."""
    return URL.create("sqlite", database=str(directory.absolute() / HISTORY_NAME))


class HistoryPosition(msgspec.Struct, frozen=True, kw_only=True):
    """The log that the tables belong to, and the offsets they cover: [start_offset, end_offset).

    Attributes:
        end_time: Append time of the last record that the tables cover, in ms since 1970.
        confirmed_end: Exclusive end of the confirmed records: Kafka may still replace later ones;
            None if all are confirmed. `confirmed_leader_epoch` and `confirmed_last_crc32c`
            identify this position in the log.
    """

    cluster_id: str
    start_offset: int
    end_offset: int
    leader_epoch: int
    last_crc32c: int | None
    rules: int
    not_understood: int
    not_understood_from: int | None
    end_time: int | None
    confirmed_end: int | None = None
    confirmed_leader_epoch: int | None = None
    confirmed_last_crc32c: int | None = None

    @property
    def confirmed_proof(self) -> Position:
        """The confirmed end with its leader epoch and CRC, for comparison with the log."""
        if self.confirmed_end is None:
            return self.proof
        assert self.confirmed_leader_epoch is not None, "written with the end"
        return Position(
            cluster_id=self.cluster_id,
            end_offset=self.confirmed_end,
            leader_epoch=self.confirmed_leader_epoch,
            last_crc32c=self.confirmed_last_crc32c,
        )

    @property
    def proof(self) -> Position:
        """The end position with its leader epoch and CRC, for comparison with the log."""
        return Position(
            cluster_id=self.cluster_id,
            end_offset=self.end_offset,
            leader_epoch=self.leader_epoch,
            last_crc32c=self.last_crc32c,
        )


class HistoryStore:
    """The tables of one database."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    @contextmanager
    def open(cls, url: str | URL, *, create: bool = False) -> Iterator[Self]:
        """Open a database for the `with` block, and close it at the block's end.

        Args:
            create: Create the database and its tables, or migrate them, if necessary.

        Raises:
            RequestError: there is no database, it is not one of this release, or its tables were
                made under other replay rules.
            UnavailableError: the database cannot be reached.
        """
        engine = open_database(
            url,
            create=create,
            wal=True,
            missing=("HISTORY_NOT_FOUND", "metalog sql sync"),
            never_beside=VERSION_TABLE,
        )
        load_portable_values(engine)
        try:
            _check_rules(engine)
            if create:
                upgrade(engine, HISTORY)
                _keep_public_configs(engine)
            else:
                check(engine, HISTORY)
            yield cls(engine)
        finally:
            engine.dispose()

    def position(self) -> HistoryPosition | None:
        """Return which log and offsets the tables cover; None before the first sync.

        Raises:
            UnavailableError: the database cannot be reached.
        """
        with reading(self.engine) as connection:
            return read_position(connection)

    def objects(self, part: str, at: int) -> Iterator[Any]:
        """Yield the objects of a part as of offset `at`, in any order.

        Raises:
            UnknownHistoryError, RequestError, UnavailableError: as for `digest`.
        """
        with reading(self.engine) as connection:
            _check_point(connection, at)
            yield from _objects(connection, VERSION_TABLES[part], at)

    def digest(self, at: int) -> str:
        """Return the digest of the image as of offset `at`, computed from the tables alone.

        Raises:
            UnknownHistoryError: `at` is before the start of the tables, or in a gap.
            RequestError: OFFSET_OUT_OF_RANGE, `at` is past the end of the tables; sync them.
            UnavailableError: the database cannot be reached.
        """
        with reading(self.engine) as connection:
            _check_point(connection, at)
            return digest_of_parts(
                {
                    name: digest_of_rows(map(row_text(each.part), _objects(connection, each, at)))
                    for name, each in VERSION_TABLES.items()
                }
            )


def _check_rules(engine: Engine) -> None:
    with reading(engine) as connection:
        if revision_of(connection, engine, HISTORY) is None:
            return
        rules = connection.scalar(select(position.c.rules))
    try:
        check_rules(rules)
    except RequestError as error:
        raise RequestError(error.code, f"{shown_url(engine.url)}: {error}") from None


def _keep_public_configs(engine: Engine) -> None:
    """Store the names of configs whose values are public; views show only these values."""
    with reading(engine) as connection:
        found = set(connection.scalars(select(public_config.c.name)))
    if found != PUBLIC_CONFIGS:
        with writing(engine) as connection:
            connection.execute(delete(public_config))
            names = [{"name": name} for name in sorted(PUBLIC_CONFIGS)]
            connection.execute(insert(public_config), names)


def read_position(connection: Connection) -> HistoryPosition | None:
    """Return which log and offsets the tables cover; None before the first sync."""
    row = connection.execute(select(position)).mappings().one_or_none()
    if row is None:
        return None
    return HistoryPosition(**{name: row[name] for name in HistoryPosition.__struct_fields__})


def _objects(connection: Connection, versions: VersionTable, at: int) -> Iterator[Any]:
    columns, shared = versions.table.c, versions.shared
    named = [columns[each.name] for each in versions.fields]
    source: FromClause = versions.table
    if shared is not None:
        named += [shared.c[each.name] for each in versions.shared_fields]
        source = source.join(shared, columns[shared.name] == shared.c[shared.name])
    query = (
        select(*named)
        .select_from(source)
        .where(
            columns.valid_from_offset <= at,
            or_(columns.valid_to_offset.is_(None), columns.valid_to_offset > at),
        )
    )
    decode = row_decoder(versions.part.row_type, (*versions.fields, *versions.shared_fields))
    return map(decode, connection.execute(query))


def _check_point(connection: Connection, at: int) -> None:
    found = read_position(connection)
    if found is None or at >= found.end_offset:
        raise RequestError(
            "OFFSET_OUT_OF_RANGE",
            f"offset {at} is not in the tables yet, they end at "
            f"{0 if found is None else found.end_offset} (exclusive); run `metalog sql sync LOG`",
        )
    if at < found.start_offset - 1:
        raise UnknownHistoryError(
            f"offset {at} is unknown: the tables start at {found.start_offset}"
        )
    check_not_in_gap(connection, at)
