"""The built wheel, beside an application that has a package `migrations` of its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from replay.snapshot.schema import HISTORY, SHARED_LOG, SNAPSHOTS, Schema
from tests.test_library import EXAMPLES
from tests.test_public_names import ROOMS

ROOT = Path(__file__).parents[1]

_UNREAD = (
    *("anyio", "lark", "litestar", "markdown_it", "prometheus_client", "pydantic", "rich"),
    "uvicorn",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    for room in (*ROOMS, "migrations"):
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*build, "--no-build-isolation", "-w", "built", "."], check=True, cwd=folder)
    (built,) = folder.glob("built/*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the wheel and the libraries that it needs, without the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # Path files in the folder that is named here are not read, so the checkout stays out.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def test_wheel_installs_our_packages_typed_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == set(ROOMS)
    assert {f"{room}/py.typed" for room in ROOMS} <= set(names)
    migrations = [str(each.relative_to(ROOT)) for each in (ROOT / "migrations").rglob("*.py")]
    assert {f"replay/{each}" for each in migrations} <= set(names)


def test_applications_may_have_migrations_of_their_own(python: Path, tmp_path: Path) -> None:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "__init__.py").write_text("OURS = True\n")
    (tmp_path / "application.py").write_text(
        "import os, migrations, replay\n"
        "from metadata_log import create_log, LogReader\n"
        "from replay import SnapshotStore\n"
        "from replay.sql_history.store import HistoryStore\n"
        "create_log('log', 'test')\n"
        "with SnapshotStore.open('sqlite:///snapshots.db', 'test', upgrade=True): pass\n"
        "with HistoryStore.open('sqlite:///history.db', create=True): pass\n"
        "print(migrations.OURS, replay.__file__)\n"
    )
    assert _run(python, ["application.py"], tmp_path).startswith(f"True {python.parents[1]}")
    command = ["-m", "api.cli", "snapshot", "list", "log"]
    assert "digest" in _run(python, command, tmp_path)


@pytest.mark.parametrize("schema", [SNAPSHOTS, HISTORY, SHARED_LOG])
def test_alembic_itself_reads_the_folders(schema: Schema, tmp_path: Path) -> None:
    (tmp_path / "alembic.ini").write_text(f"[alembic]\nscript_location = {schema.migrations}\n")
    command = ["-m", "alembic", "heads"]
    assert _run(Path(sys.executable), command, tmp_path).startswith(f"{schema.revision} (head)")


def test_programs_of_the_library_document_are_typed_strictly(python: Path, tmp_path: Path) -> None:
    for number, (_, code, _) in enumerate(EXAMPLES):
        (tmp_path / f"program_{number}.py").write_text(code)
    # Reading libraries that no public signature names would take half as long again.
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = true\ncache_dir = cache\n"
        f"[mypy-{','.join(f'{name}.*' for name in _UNREAD)}]\nfollow_imports = skip\n"
    )
    options = ["--config-file=mypy.ini", f"--python-executable={python}"]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *sorted(map(str, tmp_path.glob("*.py")))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert checked.stdout == f"Success: no issues found in {len(EXAMPLES)} source files\n"


def _run(python: Path, arguments: list[str], folder: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.check_output([python, *arguments], cwd=folder, text=True, env=environ)
