"""Nodes of two releases: the older one never leads after the newer one's records."""

import json
import signal
import time
from pathlib import Path

import pytest

from tests.api.nodes.processes import (
    LEASE_MS,
    Process,
    leader,
    metalog,
    until,
)
from tests.docs_console import ROOT
from tests.golden.steps import copy_with_steps, documented_steps, run_module

OF_NEXT_RELEASE = {
    "adding_a_record.md": (
        "RetractNoteRecord",
        {"type": "RetractNoteRecord", "data": {"at_offset": 0, "author": "ada", "text": "x"}},
    ),
    "adding_a_field.md": (
        "purpose of NamespaceRecord",
        {
            "type": "NamespaceRecord",
            "data": {"namespace_id": "AAAAAAAAAAAAAAAAAAAABA", "name": "a", "purpose": "tests"},
        },
    ),
}
"""Documents whose steps make the next release, with what it knows, and a record of it."""


@pytest.mark.parametrize("document", OF_NEXT_RELEASE)
def test_an_older_release_stands_by_for_ever_after_a_newer_ones_records(
    document: str, tmp_path: Path, url: str
) -> None:
    unknown, record = OF_NEXT_RELEASE[document]
    next_release = tmp_path / "release"
    copy_with_steps(next_release, documented_steps((ROOT / "docs" / document).read_text()))
    folder = tmp_path / "node-1"
    metalog("init", str(folder))
    metalog("nodes", "create", url, "--from", str(folder))
    old = Process(folder, url, 1)
    new = Process(tmp_path / "node-2", url, 2, release=next_release)
    try:
        leader(old, new)
        until(lambda: old.lines and new.lines)
        metalog("nodes", "lead", url, "2")
        # So far the older one could lead: the newer one has written nothing of its own.
        assert _unfit(url) == []
        assert metalog("nodes", "lead", url, "1")["nodes"][0]["role"] == "leader"
        metalog("nodes", "lead", url, "2")
        _append(next_release, tmp_path / "lines", record, new.leads_at or "")
        (reason,) = until(lambda: _unfit(url))
        assert f"have {unknown}, known only to newer releases" in reason
        assert "node 1 never leads: its release does not understand" in old.said()
        new.end(signal.SIGKILL)
        time.sleep(3 * LEASE_MS / 1_000)
        assert old.stands_by
        # It goes on to answer from what it understands.
        assert metalog("notes", "list", "--server", old.listens_at or "")["notes"] == []
        new.start()
        until(lambda: new.leads_at)
        # Started again, it reads the log from the beginning, and says what to do.
        old.end(signal.SIGTERM)
        old.start()
        until(lambda: "use a newer release" in old.said())
        assert old.lines[-1]["code"] == "UNSUPPORTED_VERSION"
    finally:
        for node in (old, new):
            node.end(signal.SIGTERM)


def _unfit(url: str) -> list[str]:
    first, _ = metalog("nodes", "list", url)["nodes"]
    found: list[str] = first["not_understood"]
    return found


def _append(release: Path, lines: Path, record: object, server: str) -> None:
    lines.write_text(json.dumps(record))
    done = run_module(release, "api.cli", "append", lines, "--server", server)
    assert done.returncode == 0, done.stderr
