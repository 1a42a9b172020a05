"""What is wrong with a file of Kafka's, said so that somebody can act on it."""

from pathlib import Path

from records.errors import CorruptLogError, UnavailableError


def corrupt(
    path: Path, position: int, what: str, intact_below: int | None = None
) -> CorruptLogError:
    """Make the error for damage at a place, with what is known to be whole and what to do."""
    intact = f"; offsets below {intact_below} are intact" if intact_below else ""
    return CorruptLogError(
        f"{path} byte {position}: {what}{intact}; copy the file from its node again, "
        "or read the directory of another node of the cluster"
    )


def vanished(path: Path) -> UnavailableError:
    """Make the error for a file that is gone since its folder was listed."""
    return UnavailableError(f"{path} is gone: Kafka removed it meanwhile; open the folder again")
