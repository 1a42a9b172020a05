"""Logs written by past releases, their expected content, and their schemas. Readable for ever."""

from pathlib import Path

_HERE = Path(__file__).parent

MANIFEST = _HERE / "releases.json"
"""For each release the SHA-256 of the schema that its segments carry."""

WITHOUT_EFFECT_BEFORE = frozenset({"kraft_version", "voters"})
"""Parts of the image whose records early releases only kept in the log."""


def release_directory(release: str) -> Path:
    """Return the directory with the logs of a release, each with its expected content."""
    return _HERE / "logs" / release


def schema_path(hash_: str) -> Path:
    """Return the file of the schema with a hash, with documentation and Kafka's layout."""
    return _HERE / "schemas" / f"{hash_[:16]}.avsc"
