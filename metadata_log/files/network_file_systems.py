"""Refusal to write a log on a network file system, where a lock may be granted twice.

Claims of epochs fence a second writer even if the lock fails. But if several machines cache a file
system, a claim created on one machine may not be visible on the others immediately.
"""

import os
from pathlib import Path

from records.errors import RequestError

ALLOW = "METALOG_ALLOW_NETWORK_FILE_SYSTEM"
"""Environment variable; 1 allows a log on a network file system."""

_NETWORK = frozenset(
    {
        "9p",
        "afpfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "smb3",
        "smbfs",
        "webdav",
    }
)


def refuse_network_file_system(path: Path) -> None:
    """Check that a path is not on a network file system, before a log is written there.

    Raises:
        RequestError: the path is on a network file system, and METALOG_ALLOW_NETWORK_FILE_SYSTEM
            does not allow it.
    """
    kind = file_system_type(path)
    if kind in _NETWORK and os.environ.get(ALLOW) != "1":
        raise RequestError(
            "UNSUPPORTED_FILE_SYSTEM",
            f"{path.parent} lies on a network file system ({kind}), where two writers could both "
            f"get the lock; use a local disk, or set {ALLOW}=1",
        )


def file_system_type(path: Path) -> str:
    """Return the type of the file system of a path; "" if the system does not report it."""
    import psutil  # slower than opening a small log, and only writers need it

    absolute = path.resolve()
    mounts = {
        Path(mount.mountpoint): mount.fstype
        for mount in psutil.disk_partitions(all=True)
        if absolute.is_relative_to(mount.mountpoint)
    }
    return mounts[max(mounts, key=lambda mount: len(mount.parts))] if mounts else ""
