"""Claims of leader epochs: each writer that takes the log over creates a file `epoch-N`.

A writer claims an epoch before it reads the tail. After each sync, and before it reports a result,
it looks for a higher claim. So everything acknowledged was on stable storage before the successor
read the tail, even if the file lock did not work.
"""

from contextlib import suppress
from pathlib import Path

from metadata_log.files.fs import Fs
from metadata_log.files.names import claim_name, claimed_epoch
from records.errors import FencedError, UnavailableError


class Claim:
    """A writer's claim of a leader epoch.

    Attributes:
        leader_epoch: The claimed epoch, higher than that of every earlier writer.
    """

    def __init__(self, fs: Fs, directory: Path, leader_epoch: int) -> None:
        self._fs = fs
        self._own = directory / claim_name(leader_epoch)
        self._next = directory / claim_name(leader_epoch + 1)
        self.leader_epoch = leader_epoch

    def check(self) -> None:
        """Check that no writer has claimed a higher epoch.

        Looks only at two files: the claim of the next epoch, and this writer's own claim. A writer
        that claims a still higher epoch removes this writer's claim before it reads the log.

        Raises:
            FencedError: another writer took over.
        """
        if self._fs.exists(self._next) or not self._fs.exists(self._own):
            raise FencedError(
                f"another writer took {self._own.parent} over from epoch {self.leader_epoch}"
            )


def claim_epoch(fs: Fs, directory: Path, known_epoch: int) -> Claim:
    """Claim the next epoch by creating its file, and sync it.

    Args:
        known_epoch: The highest epoch found in the log itself.

    Raises:
        UnavailableError: another writer claimed at the same time.
    """
    names = fs.list(directory)
    claims = sorted(epoch for name in names if (epoch := claimed_epoch(name)) is not None)
    epoch = max([known_epoch, *claims]) + 1
    try:
        fs.open(directory / claim_name(epoch), create=True).close()
    except FileExistsError as error:
        raise UnavailableError(f"epoch {epoch} was claimed by another writer; try again") from error
    fs.sync_directory(directory)
    # The newest of the others stays until the next claim: its writer looks for ours first.
    for old in claims[:-1]:
        # A writer that claims at the same time, past a lock that does not hold, removes them too.
        with suppress(FileNotFoundError):
            fs.unlink(directory / claim_name(old))
    return Claim(fs, directory, epoch)
