"""What is promised of a service holds for the leader of nodes: its tests, run again there.

Each test module that opens a service in its process runs with the plugin `on_a_leader`. A list
names the tests that do not hold, with the reason: these have to fail.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.clients.suites.left_out import reasons
from tests.contracts import on_a_leader
from tests.docs_console import ROOT

LEFT_OUT = reasons(Path(__file__).with_name("not_on_a_leader.txt"))

EVERY_RUN = ("tests/api/kafka/test_listener.py",)
"""What `make test` runs; `make heavy` runs the others."""

_OPENS_A_SERVICE = re.compile(
    r"from api\.(server|service\.service) import .*\b(serving|Service)\b"
    r"|from tests\.api\.(kafka\.servers|services|guarded|limited_service) import"
    r"|from tests\.api\.(http|socket|assistants)\.conftest import"
)
_OF_NODES = ROOT / "tests" / "api" / "nodes"
_LONGEST_S = 900


def modules() -> list[str]:
    """Return the test modules that may open a service, but for those of nodes."""
    found = sorted((ROOT / "tests" / "api").rglob("test_*.py"))
    return [
        str(path.relative_to(ROOT))
        for path in found
        if _OF_NODES not in path.parents and _OPENS_A_SERVICE.search(path.read_text())
    ]


MODULES = [
    each if each in EVERY_RUN else pytest.param(each, marks=pytest.mark.heavy) for each in modules()
]


@pytest.mark.timeout(_LONGEST_S + 60)
@pytest.mark.parametrize("module", MODULES)
def test_what_holds_for_a_service_holds_for_a_leader(tmp_path: Path, module: str) -> None:
    leaders, found = on_leaders(tmp_path, module)
    assert leaders or module not in EVERY_RUN
    assert {name: why for name, why in found.items() if why and name not in LEFT_OUT} == {}
    listed = {name for name in LEFT_OUT if name.startswith(f"{module}::")}
    assert {name for name in listed if not found.get(name)} == set(), "these do not fail any more"


def test_each_of_the_list_is_of_a_module_that_runs() -> None:
    assert {name.partition("::")[0] for name in LEFT_OUT} <= set(modules())


def on_leaders(scratch: Path, module: str) -> tuple[int, dict[str, str]]:
    """Run a module on leaders.

    Returns:
        How many services were opened on leaders, and what each test that failed says, by its name;
        "" for the others.
    """
    report = scratch / "report.xml"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", on_a_leader.__name__, "-p", "no:cacheprovider"),
            *(f"--junitxml={report}", f"--basetemp={scratch / 'tests'}", module),
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=_LONGEST_S,
        check=False,
    )
    # 0 and 1: all passed, some failed. Anything else: the tests did not run.
    assert done.returncode in (0, 1), done.stdout[-4_000:]
    leaders = int(done.stdout.rpartition(on_a_leader.COUNT)[2].split()[0])
    return leaders, {
        f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}": "\n".join(
            [each.get("message", "") for each in case if each.tag in ("failure", "error")]
        )
        for case in ElementTree.parse(report).iter("testcase")
    }
