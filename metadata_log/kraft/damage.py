"""Errors for damaged or missing Kafka files, with advice."""

from pathlib import Path

from records.errors import CorruptLogError, UnavailableError


def corrupt(
    path: Path, position: int, what: str, intact_below: int | None = None
) -> CorruptLogError:
    """Return the error for a damaged file: names file, byte and intact offsets, and gives advice.

    Args:
        what: Description of the damage.
    """
    intact = f"; offsets below {intact_below} are intact" if intact_below else ""
    return CorruptLogError(
        f"{path} byte {position}: {what}{intact}; copy the file from its node again, "
        "or read the directory of another node of the cluster"
    )


def vanished(path: Path) -> UnavailableError:
    """Return the error for a file that was removed since its folder was listed."""
    return UnavailableError(f"{path} is gone: Kafka removed it meanwhile; open the folder again")
