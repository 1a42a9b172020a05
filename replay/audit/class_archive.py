"""Java class archive (AppCDS) of the classes that Spark loads, for faster starts.

Loading some 15,000 classes from the jars is a third of the CPU time of a short command. The first
command that succeeds writes them to a file in the user's cache folder; later sessions map this
file. Java ignores an archive made with another Java version or class path, and the file's name
includes a hash of both. The name also includes the file's size, because Java crashes on a truncated
archive.
"""

import fcntl
import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.audit.java import Java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_QUIET = "-Xlog:disable"
"""Java option that suppresses warnings about an archive that does not match."""

_KEPT = 2
"""Number of other installations' archives to keep; each has some 120 MB."""


class ClassArchive:
    """The class archive that one session uses or creates.

    Args:
        folder: Folder of the archives; need not exist.
        make: Let the session create the archive if there is none.
    """

    def __init__(self, folder: Path, *, make: bool) -> None:
        self._folder = folder
        self._make = make
        self._lock: int | None = None
        self._key = ""

    def options(self, java: Java) -> str:
        """Return the Java options to use the archive, or else to let `write` create one.

        Empty if the archive can be neither used nor created.

        Args:
            java: The Java that will run with the options.
        """
        if any(character.isspace() or character in "\"'" for character in str(self._folder)):
            return ""  # Java's options and commands would have to be quoted, each in its way.
        home = java.executable.resolve().parents[1]
        self._key = _key(home)
        path = self._complete_archive()
        if path is None and self._make and _can_make(home):
            self._lock = self._locked()
            path = self._complete_archive()
        if path is not None:
            self.close()
            with suppress(OSError):
                os.utime(path)
            return f"-XX:SharedArchiveFile={path} {_QUIET}"
        return "" if self._lock is None else f"-XX:+RecordDynamicDumpInfo {_QUIET}"

    def write(self, spark: "SparkSession") -> None:
        """Write the classes loaded so far, if `options` chose to create the archive.

        A failure is only logged, because Spark also runs without an archive.
        """
        if self._lock is None:
            return
        from py4j.protocol import Py4JError

        new = self._folder / f"new-{os.getpid()}.jsa"
        try:
            if _has_run_a_query(spark):
                logger.info("writing an archive of classes: later starts of Spark take less")
                _dump_classes(spark, new)
                _sync(new)  # Java does not check every byte.
                path = self._folder / f"{self._key}.{new.stat().st_size}.jsa"
                os.replace(new, path)
                self._remove_old(path)
        except (OSError, Py4JError) as error:
            logger.info("no class archive: %s", error)
        finally:
            with suppress(OSError):
                new.unlink()

    def close(self) -> None:
        """Release the lock, so that other processes may create an archive."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _locked(self) -> int | None:
        """Take the lock; return its file descriptor, or None if the lock cannot be taken."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            return None
        return lock

    def _complete_archive(self) -> Path | None:
        """Return the path of the archive if it exists and has its full size, else None."""
        with suppress(OSError):
            for path in self._folder.glob(f"{self._key}.*.jsa"):
                if path.name == f"{self._key}.{path.stat().st_size}.jsa":
                    return path
        return None

    def _remove_old(self, newest: Path) -> None:
        """Remove files left by killed processes, and the least recently used archives."""
        others = set(self._folder.glob("*.jsa")) - {newest}
        by_use = sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)
        for old in by_use[_KEPT:]:
            old.unlink(missing_ok=True)


@contextmanager
def class_archive(*, make: bool) -> Iterator[ClassArchive]:
    """Yield the class archive in the user's cache folder; release its lock on exit."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    archive = ClassArchive(Path(cache, "metalog", "java"), make=make)
    try:
        yield archive
    finally:
        archive.close()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _key(java_home: Path) -> str:
    """Return a key for file names, which differs for each Java and each installed Spark."""
    import pyspark

    seen = hashlib.sha256()
    for path in (java_home / "lib" / "modules", Path(pyspark.__file__).parent / "jars"):
        changed = path.stat().st_mtime_ns if path.exists() else 0
        seen.update(f"{path} {changed}\n".encode())
    return f"{pyspark.__version__}-{seen.hexdigest()[:16]}"


def _can_make(java_home: Path) -> bool:
    """True if this Java can create an archive, which requires the archive of Java's own classes."""
    return (java_home / "lib" / "server" / "classes.jsa").exists()


def _has_run_a_query(spark: "SparkSession") -> bool:
    """True if a query was run, so that most of the classes are loaded."""
    executed: int = spark._jsparkSession.sharedState().statusStore().executionsCount()
    return executed > 0


def _dump_classes(spark: "SparkSession", path: Path) -> None:
    """Write the archive as `jcmd PID VM.cds dynamic_dump PATH` does; not every Java has `jcmd`.

    Raises:
        Py4JError: this Java cannot write archives.
        OSError: no file was written.
    """
    gateway: Any = spark.sparkContext._gateway
    java = gateway.jvm.java.lang
    server = java.management.ManagementFactory.getPlatformMBeanServer()
    command = gateway.jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")

    def array(type_: Any, *items: Any) -> Any:
        made = gateway.new_array(type_, len(items))
        for place, item in enumerate(items):
            made[place] = item
        return made

    types = (
        *("javax.management.ObjectName", "java.lang.String"),
        *("[Ljava.lang.Object;", "[Ljava.lang.String;"),
    )
    # The class of the server is not public, so that Py4J finds its methods by reflection only.
    invoke = java.Class.forName("javax.management.MBeanServer").getMethod(
        "invoke", array(java.Class, *map(java.Class.forName, types))
    )
    arguments = array(java.Object, array(java.String, "dynamic_dump", str(path)))
    signature = array(java.String, "[Ljava.lang.String;")
    # Java announces the file on the standard output, which is for answers.
    before, nowhere = java.System.out, gateway.jvm.java.io.OutputStream.nullOutputStream()
    java.System.setOut(gateway.jvm.java.io.PrintStream(nowhere))
    try:
        said = invoke.invoke(server, array(java.Object, command, "vmCds", arguments, signature))
    finally:
        java.System.setOut(before)
    if not path.exists():
        raise OSError(said)
