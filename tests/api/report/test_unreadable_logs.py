"""`metalog view` of a log of another user and of a damaged one: alone, and beside one in order."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.api.conftest import Metalog
from tests.api.report.page_actions import texts
from tests.api.report.served import Visitor, viewed
from tests.browser import Pages
from tests.forked_commands import METALOG

# What root may do beyond the permissions of a file's owner.
_BEYOND = "--bounding-set=-dac_override,-dac_read_search"
_AS_OTHERS = ("setpriv", _BEYOND) if os.geteuid() == 0 else ()
OURS = (*_AS_OTHERS, sys.executable, "-m", "api.cli")
"""`metalog`, to which the permissions of files apply."""

_REFUSED = re.compile("Permission denied; check the path and its permissions$")
_DAMAGE = re.compile(r" byte (\d+): .*; offsets below (\d+) are intact; look with `?metalog dump ")


@pytest.fixture(scope="module")
def folder(demo_log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three copies of a log: `fine`, `foreign` and `damaged`."""
    folder = tmp_path_factory.mktemp("unreadable")
    for name in ("fine", "foreign", "damaged"):
        shutil.copytree(demo_log, folder / name)
    segment = damaged_segment(folder)
    data = bytearray(segment.read_bytes())
    data[len(data) * 2 // 3] ^= 0xFF
    segment.write_bytes(data)
    if _AS_OTHERS:
        shutil.chown(folder / "foreign", 65534)
    (folder / "foreign").chmod(0o700 if _AS_OTHERS else 0)
    return folder


def damaged_segment(folder: Path) -> Path:
    return min((folder / "damaged").glob("*.avro"))


def check_damage(metalog: Metalog, folder: Path, text: str) -> None:
    """Check that a text names the damaged file, a byte up to the damage, and what is intact."""
    segment = damaged_segment(folder)
    assert str(segment) in text
    found = _DAMAGE.search(text)
    assert found is not None, text
    byte, offset = int(found[1]), int(found[2])
    assert 0 < byte <= segment.stat().st_size * 2 // 3
    intact = metalog("dump", folder / "fine", "--to", offset - 1).out
    assert metalog("dump", folder / "damaged", "--to", offset - 1).out == intact
    assert metalog("dump", folder / "damaged", "--to", offset).code == 5


def refused(command: tuple[str, ...], log: Path) -> tuple[int, dict[str, str]]:
    """Run a view that ends by itself; return its exit code and the error that it reports."""
    done = subprocess.run([*command, "view", str(log), "--json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stderr)


def test_alone_such_a_log_ends_the_command(metalog: Metalog, folder: Path) -> None:
    code, error = refused(OURS, folder / "foreign")
    assert (code, error["code"]) == (3, "IO")
    file = folder / "foreign" / "metalog.json"
    assert error["message"] == f"{file}: Permission denied; check the path and its permissions"
    code, error = refused(METALOG, folder / "damaged")
    assert (code, error["code"]) == (5, "CORRUPT")
    check_damage(metalog, folder, error["message"])


def test_beside_others_it_is_said_and_the_others_are_shown(
    metalog: Metalog, folder: Path, pages: Pages
) -> None:
    logs = [folder / name for name in ("foreign", "damaged", "fine")]
    visitor = Visitor(pages)
    with viewed(*logs, metalog=OURS) as url, httpx.Client(base_url=f"http://{url}") as client:
        with visitor.visit(url, until=".logs .summary li:not(.bad)") as page:
            expect(page.locator(".logs > li .bad").nth(0)).to_contain_text(_REFUSED)
            expect(page.locator(".logs > li .bad").nth(1)).to_contain_text(_DAMAGE)
            foreign, damaged = texts(page, ".logs .bad")[:2]
            assert f"{folder / 'foreign' / 'metalog.json'}: Permission denied" in foreign
            assert f"{damaged_segment(folder)} byte " in damaged
            page.get_by_role("link", name="damaged").click()
            expect(page.locator(".waiting")).to_contain_text(str(damaged_segment(folder)))
        with visitor.visit(f"{url}/logs/fine/") as page:
            told = metalog("summary", folder / "fine", "--json").json["clauses"]
            assert texts(page, ".summary li")[: len(told)] == [each["text"] for each in told]
        assert client.get("/logs/fine/v1/info").status_code == 200
        for name in ("foreign", "damaged"):
            answer = client.get(f"/logs/{name}/v1/info")
            assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
