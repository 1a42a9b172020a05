"""Compare everything that users and clients get with another state of the code.

`python -m tests.outputs DIR` writes it into an empty directory; `python -m tests.outputs --since
COMMIT` writes it twice, for a commit and for what is in the working tree, and prints the
differences; exit code 1 if there are any.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs_console import ROOT
from tests.outputs.commands import helps, printed
from tests.outputs.interfaces import interfaces
from tests.outputs.logs import logs

TOOL = Path(__file__).parent


def main() -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.outputs", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, help="where to write")
    parser.add_argument("--since", metavar="COMMIT", help="compare with a commit")
    options = parser.parse_args()
    if (options.directory is None) == (options.since is None):
        parser.error("give a directory, or --since COMMIT")
    if options.since is not None:
        return _compare(options.since)
    write(options.directory)
    return 0


def write(directory: Path) -> None:
    """Write all outputs of this state of the code into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        logs(directory)
        interfaces(directory)
        helps(directory)
        printed(directory, Path(work))


def _compare(commit: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        base, before, after = (Path(folder) / name for name in ("base", "before", "after"))
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", str(base), commit],
            cwd=ROOT,
            check=True,
        )
        # The commit may be older than these modules, and both are to leave out the same.
        shutil.copytree(TOOL, base / TOOL.relative_to(ROOT), dirs_exist_ok=True)
        try:
            for tree, target in ((base, before), (ROOT, after)):
                words = [sys.executable, "-m", "tests.outputs", str(target)]
                subprocess.run(words, cwd=tree, check=True)
            return subprocess.run(
                ["diff", "-r", "-u0", "before", "after"], cwd=folder, check=False
            ).returncode
        finally:
            subprocess.run(
                ["git", "worktree", "remove", "--force", str(base)], cwd=ROOT, check=True
            )


if __name__ == "__main__":
    sys.exit(main())
