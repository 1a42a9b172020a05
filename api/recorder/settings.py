"""The recorder's file: which clusters are recorded, and how.

metrics = "127.0.0.1:9464"

[mirrors.prod]
quorum = "ssl://c1:9093,c2:9093,c3:9093"
mirror = "prod"                     # paths are relative to the file
cluster-id = "MkU3OEVBNTcwNTJENDM2Qg"
security = "client.toml"
archive = "s3://bucket/prod"
retain = "90d"
checks = "checks.toml"
"""

import os
from pathlib import Path
from typing import NamedTuple

import msgspec

from api.alerts.checks import Checks, read_checks
from api.clients.client import ServerAddress, server_addresses
from api.quorum.leaders import Address
from api.quorum.recording import mapped_address
from api.security.client import ClientSecurity
from api.toml_file import TomlTable, toml_file
from api.transport.addresses import parse_address
from metadata_log.files.fs import OsFs
from metadata_log.files.names import MANIFEST
from metadata_log.format.manifest import Kind, read_manifest
from records.errors import MetadataLogError, RequestError
from replay.time_travel.points import age_in

_METRICS = "127.0.0.1:0"


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a mirror in the file; docs/recording.md gives their meaning."""

    quorum: str
    mirror: str
    cluster_id: str | None = None
    brokers: str | None = None
    map: tuple[str, ...] = ()
    security: str | None = None
    noop: str = "collapse"
    archive: str | None = None
    retain: str | None = None
    checks: str | None = None


KEYS = tuple([name.replace("_", "-") for name in _Written.__struct_fields__])
"""The keys of a mirror."""


class MirrorSettings(NamedTuple):
    """One mirror of a recorder's file.

    Attributes:
        log: The mirror's folder.
        security_file: Settings of the client's TLS and login, read for each new connection.
        checks: The checks; None: nothing is checked.
        checks_text: Text of the checks file; a changed text restarts the checking.
    """

    name: str
    addresses: tuple[ServerAddress, ...]
    log: Path
    cluster_id: str | None
    brokers: str | None
    mapped: tuple[tuple[int, Address], ...]
    security_file: Path | None
    collapse_noops: bool
    archive: str | None
    retain: str | None
    checks: Checks | None
    checks_text: str

    @property
    def security(self) -> ClientSecurity:
        """The client's security settings, read from the file now; RequestError: INVALID_CONFIG."""
        return ClientSecurity.read(self.security_file) if self.security_file else ClientSecurity()

    def records_as(self, other: "MirrorSettings") -> bool:
        """True if both settings are the same except for the checks."""
        return self._replace(checks=None, checks_text="") == other._replace(
            checks=None, checks_text=""
        )


class RecorderSettings(NamedTuple):
    """A recorder's file: the address of the metrics, and the mirrors by name."""

    metrics: tuple[str, int]
    mirrors: dict[str, MirrorSettings]


def read_settings(path: Path) -> RecorderSettings:
    """Read and check a recorder's file and all files that it names; connects to nothing.

    Raises:
        RequestError: INVALID_CONFIG, a file cannot be read, or has a mistake; names file, line and
            key.
    """
    file = toml_file(path)
    file.check_keys(("metrics", "mirrors"))
    try:
        metrics = parse_address(
            file.value("metrics", str) if "metrics" in file.values else _METRICS
        )
    except RequestError as error:
        raise file.error(str(error), "metrics") from error
    table = file.table("mirrors")
    mirrors = {name: _mirror(name, table.table(name)) for name in table.values}
    if not mirrors:
        raise file.error("there are no mirrors: write [mirrors.NAME], then `quorum` and `mirror`")
    _check_folders(table, mirrors)
    return RecorderSettings(metrics, mirrors)


def _mirror(name: str, table: TomlTable) -> MirrorSettings:
    written = table.read(_Written)
    base = table.path.parent
    checks_file = None if written.checks is None else base / written.checks
    found = MirrorSettings(
        name=name,
        addresses=_addresses(table, written.quorum),
        log=base / written.mirror,
        cluster_id=written.cluster_id,
        brokers=written.brokers,
        mapped=_mapped(table, written.map),
        security_file=None if written.security is None else base / written.security,
        collapse_noops=written.noop == "collapse",
        archive=_archive(base, written.archive),
        retain=written.retain,
        checks=_checks(table, checks_file),
        checks_text="" if checks_file is None else checks_file.read_text(),
    )
    if written.noop not in ("collapse", "keep"):
        raise table.error(f"{written.noop!r} is neither collapse nor keep", "noop")
    if found.retain is not None and age_in(found.retain) is None:
        raise table.error(f"{found.retain!r} is not an age such as 90d", "retain")
    if found.retain is not None and found.archive is None:
        raise table.error("only archived history is dropped: add `archive`", "retain")
    _check_security(table, found)
    _check_cluster(table, found)
    return found


def _addresses(table: TomlTable, url: str) -> tuple[ServerAddress, ...]:
    try:
        return server_addresses(url)
    except RequestError as error:
        raise table.error(str(error), "quorum") from error


def _mapped(table: TomlTable, texts: tuple[str, ...]) -> tuple[tuple[int, Address], ...]:
    try:
        return tuple([mapped_address(text) for text in texts])
    except RequestError as error:
        raise table.error(str(error), "map") from error


def _archive(base: Path, place: str | None) -> str | None:
    return place if place is None or "://" in place else str(base / place)


def _checks(table: TomlTable, path: Path | None) -> Checks | None:
    try:
        return None if path is None else read_checks(path)
    except RequestError as error:
        raise table.error(str(error), "checks") from error


def _check_security(table: TomlTable, mirror: MirrorSettings) -> None:
    try:
        mirror.security.used_with(mirror.addresses[0].protocol)
    except RequestError as error:
        key = "quorum" if mirror.security_file is None else "security"
        raise table.error(str(error), key) from error


def _check_cluster(table: TomlTable, mirror: MirrorSettings) -> None:
    """Check that the cluster's id can be found, and is that of an existing mirror.

    Raises:
        RequestError: INVALID_CONFIG.
    """
    if not (mirror.log / MANIFEST).exists():
        if not mirror.cluster_id and not mirror.brokers:
            raise table.error(
                "say which cluster it is: `cluster-id` (cluster.id in a node's meta.properties), "
                "or `brokers` with a broker's HOST:PORT to ask; controllers do not tell it"
            )
        return
    try:
        manifest = read_manifest(OsFs(), mirror.log)
    except MetadataLogError as error:
        raise table.error(str(error), "mirror") from error
    if manifest.kind is not Kind.MIRROR:
        raise table.error(f"{mirror.log} is a log, but not a mirror; name another folder", "mirror")
    if mirror.cluster_id and mirror.cluster_id != manifest.cluster_id:
        raise table.error(
            f"{mirror.log} mirrors cluster {manifest.cluster_id!r}; name another folder for "
            f"cluster {mirror.cluster_id!r}",
            "mirror",
        )


def _check_folders(table: TomlTable, mirrors: dict[str, MirrorSettings]) -> None:
    folders: dict[str, str] = {}
    for name, mirror in mirrors.items():
        folder = os.path.realpath(mirror.log)
        if folder in folders:
            raise table.table(name).error(
                f"is also the folder of mirror {folders[folder]!r}; name another folder", "mirror"
            )
        folders[folder] = name
