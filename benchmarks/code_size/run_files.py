"""Run a `metalog` command and record which files of ours run a function.

`python -m benchmarks.code_size.run_files OUTPUT WORD...` writes the files to OUTPUT when the
command ends, and at each SIGUSR2; SIGUSR1 forgets what was recorded so far. Class bodies, what an
import calls and the checks of the controller's timers do not count: they run whatever is asked.
Child processes are not followed.
"""

import inspect
import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parents[2]
ROOMS = ("records", "metadata_log", "replay", "controller", "api", "migrations")

_PREFIXES = tuple(f"{ROOT / room}{os.sep}" for room in ROOMS)
_APART = frozenset(
    {
        ("<frozen importlib._bootstrap>", "_find_and_load"),
        (str(ROOT / "controller" / "timers.py"), "Timers.run"),
    }
)
"""Functions by file and name: neither they nor what they call counts."""


class RunFiles:
    """The files whose functions ran, in all threads that start after `record`."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._ran: set[CodeType] = set()
        self._apart = threading.local()

    def record(self) -> None:
        """Record from now on, and obey the two signals."""
        signal.signal(signal.SIGUSR1, lambda *_: self._ran.clear())
        signal.signal(signal.SIGUSR2, lambda *_: self.write())
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def write(self) -> None:
        """Replace the output by the files that ran and our modules that are loaded."""
        files = {code.co_filename for code in list(self._ran)}
        document = {
            "files": sorted(
                str(Path(f).relative_to(ROOT)) for f in files if f.startswith(_PREFIXES)
            ),
            "modules": sorted(n for n in list(sys.modules) if n.partition(".")[0] in ROOMS),
        }
        written = self._output.with_suffix(".new")
        written.write_text(json.dumps(document))
        written.replace(self._output)

    def _called(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if (code.co_filename, code.co_qualname) in _APART:
            step = {"call": 1, "return": -1}.get(event, 0)
            self._apart.depth = getattr(self._apart, "depth", 0) + step
        elif event == "call" and code not in self._ran and self._counts(code):
            self._ran.add(code)

    def _counts(self, code: CodeType) -> bool:
        is_function = code.co_flags & inspect.CO_OPTIMIZED
        return bool(is_function) and not getattr(self._apart, "depth", 0)


def main() -> int:
    """Run the command of the arguments; return its exit code."""
    output, *words = sys.argv[1:]
    run_files = RunFiles(Path(output))
    run_files.record()
    from api.cli.main import run

    try:
        return run(words)
    finally:
        sys.setprofile(None)
        run_files.write()


if __name__ == "__main__":
    sys.exit(main())
