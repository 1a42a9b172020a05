"""What past releases wrote: their logs, what is in them, and their schemas. Read for ever."""

from pathlib import Path

_HERE = Path(__file__).parent

MANIFEST = _HERE / "releases.json"
"""For each release the SHA-256 of the schema that its segments carry."""

WITHOUT_EFFECT_BEFORE = frozenset({"kraft_version", "voters"})
"""Parts of the image whose records early releases only kept in the log."""


def release_directory(release: str) -> Path:
    """Return where the logs of a release are, each with what must be read in it."""
    return _HERE / "logs" / release


def schema_path(hash_: str) -> Path:
    """Return where the schema of that hash is kept, with its documentation and Kafka's layout."""
    return _HERE / "schemas" / f"{hash_[:16]}.avsc"
