"""The mutation tool: the mutants it finds, its sampling, and the tests that notice them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.draw import all_sites, draw
from tests.mutants.hits import instrument, read_table
from tests.mutants.run import Ended, Outcome
from tests.mutants.sites import find_sites
from tests.mutants.trees import ROOT


def changes(source: str) -> list[str]:
    """Return the line of each change that could be made to a source."""
    found = []
    for site in find_sites("m.py", source.encode()):
        assert compile(site.mutated(source.encode()), "m.py", "exec")
        found.append(site.mutated(source.encode()).splitlines()[site.line - 1].decode().strip())
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("f(a < b)", ["pass", "f(a <= b)", "f(a >= b)"]),
        ("f(a not in b)", ["pass", "f(a in b)"]),
        ("x = a and (b) or c", ["x = a and (b) and c", "x = a or (b) or c"]),
        ("if not a: f()", ["if a: f()", "if not a: pass"]),
        ("if a and b: pass", ["if not (a and b): pass", "if a or b: pass"]),
        ("x = y + 1", ["x = y - 1", "x = y + 2", "x = y + 0"]),
        ("x += y", ["x -= y", "pass"]),
        ("x = True", ["x = False"]),
        ("x = 'code'", ["x = 'code?'"]),
        ("x = 'a message'", []),
        ("x = f'{a + 1}'", []),
        ("raise E('CODE', 'a message')", ["pass", "raise E('CODE?', 'a message')"]),
        ("self.x = y", ["pass"]),
        ("return a", ["return None"]),
        ("return None", []),
        ("assert a < b", []),
        ("x: int | None = None", []),
        ("x = min(a)", ["x = max(a)"]),
        ("fs.sync_directory(directory)", ["pass"]),
        ("for x in a: continue", ["for x in a: break"]),
        ('"""Words."""', []),
        ("if TYPE_CHECKING: f()", []),
    ],
)
def test_changes_of_a_line(line: str, expected: list[str]) -> None:
    assert changes(f"def f(self):\n    {line}\n") == expected


def test_key_of_a_site_stays_when_other_lines_change() -> None:
    (before,) = find_sites("m.py", b"def f():\n    return a\n")
    (after,) = find_sites("m.py", b"import x\n\n\ndef f():\n    '''Words.'''\n    return a\n")
    (other,) = find_sites("m.py", b"def g():\n    return a\n")
    assert before.key == after.key != other.key
    assert (before.line, after.line) == (2, 6)


def test_condition_at_import_binds_the_names_in_it() -> None:
    source = b"if sys.platform == 'linux':\n    class A: pass\n    B = 1\n__all__ = ['A', 'B']\n"
    sites = find_sites("m.py", source)
    assert {site.bound for site in sites if site.line == 1} == {("A", "B")}
    assert {site.line for site in sites} == {1, 3}


def test_same_seed_draws_the_same_sites() -> None:
    sites = all_sites(ROOT)
    assert len({site.key for site in sites}) == len(sites) > 4_000
    drawn = draw(sites, 400, 20_261_122)
    assert draw(reversed(sites), 400, 20_261_122) == drawn
    assert draw(sites, 100, 20_261_122) == drawn[:100]
    assert draw(sites, 400, 1) != drawn
    # Each package of the project is drawn from, `care` is not.
    assert not [site for site in sites if "care" in site.file]
    assert {site.file.partition("/")[0] for site in drawn} == {
        "metadata_log",
        "records",
        "replay",
        "controller",
    }


_PROBE = """
import sys
from pathlib import Path
from tests.mutants.run import load_libraries, planted, run_tests
from tests.mutants.sites import find_sites
tree = Path(sys.argv[1])
source = (tree / "records/room.py").read_bytes()
tests = ["tests/test_room.py::test_area"]
load_libraries()
print(run_tests(tree, tests, 120))
for site in find_sites("records/room.py", source):
    with planted(tree, site):
        (ended,) = run_tests(tree, tests, 120)
    print(ended.outcome.value, site.mutated(source).splitlines()[site.line - 1].decode().strip())
assert (tree / "records/room.py").read_bytes() == source
(tree / "records/room.py").write_text("while True: pass")
print(run_tests(tree, tests, 2))
(tree / "records/room.py").write_text("import nothing")
print(run_tests(tree, tests, 120))
"""

_ROOM = """\
SIDES = 4

def area(width, height):
    if width < 0:
        return 0
    return width * height
"""

_WEAK_TEST = """\
from records.room import SIDES, area

def test_area():
    assert area(2, 2) == 4
    assert area(-2, 5) == 0
"""


def test_weak_test_is_told_from_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records/__init__.py").touch()
    (tmp_path / "records/room.py").write_text(_ROOM)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_room.py").write_text(_WEAK_TEST)
    # Its options keep pytest from loading the plugins of dependencies, seconds in each run.
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    words = [sys.executable, "-c", _PROBE, str(tmp_path)]
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == [
        str([Ended(Outcome.PASSED)]),
        "passed SIDES = 5",
        "passed SIDES = 3",
        "passed if width <= 0:",
        "failed if width >= 0:",
        "passed if width < 1:",
        "failed return None",
        "failed return 1",
        "failed return None",
        "failed return width // height",
        str([Ended(Outcome.TIMED_OUT)]),
        str([Ended(Outcome.FAILED, "tests/test_room.py")]),
    ], ran.stderr


def test_statements_are_counted_and_sources_do_the_same(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "records", tmp_path / "records")
    instrument(tmp_path)
    table = read_table(tmp_path)
    code = (
        "from mutant_hits import HITS; from records.avro.arrays import decode_count;"
        "print(decode_count(b'\\4ab', 0), bytes(HITS).count(1) > 3, end=' ');"
        "print([n for n in range(len(HITS)) if HITS[n]])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    result, _, counters = ran.stdout.partition(" [")
    assert result == "(2, 1) True"
    hit = {table[int(number)].function for number in counters.strip(" ]\n").split(",")}
    assert "decode_count" in hit
    assert "decode_bytes" not in hit
