"""CPU time of short commands, compared with a Python process that does nothing.

Short commands spend most of their time on imports. Modules are loaded from compiled bytecode, as in
any installed tool, even if PYTHONDONTWRITEBYTECODE is set for this process.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.harness import Result, child_cpu_seconds, milliseconds

_ROUNDS = 9
_TARGET = 6
_SHOWN_ONLY = ("--help", "diff of almost all of it")


def run(scratch: Path) -> list[Result]:
    """Measure whole processes that run commands on the log of a demo."""
    log = str(scratch / "log")
    _metalog("demo", log, "--seed", "1")
    commands = {
        "--help": ("--help",),
        "info": ("info", log),
        "image": ("image", log),
        "history": ("history", log, "broker:2"),
        "diff": ("diff", log, "2000", "2020"),
        "diff of almost all of it": ("diff", log, "100", "12220"),
        "blame": ("blame", log, "partition:__consumer_offsets/0", "--at", "500"),
    }
    nothing = partial(_python, "-c", "pass")
    return [_against(nothing, name, *arguments) for name, arguments in commands.items()]


def _against(nothing: Callable[[], None], name: str, *arguments: str) -> Result:
    _metalog(*arguments)  # compiles its modules
    ours, peer = [], []
    for _ in range(_ROUNDS):
        ours.append(child_cpu_seconds(partial(_metalog, *arguments)))
        peer.append(child_cpu_seconds(nothing))
    return Result(
        name=f"metalog {name} / python -c pass, CPU",
        ours=milliseconds(ours),
        peer=milliseconds(peer),
        ratio=statistics.median(o / p for o, p in zip(ours, peer, strict=True)),
        target=None if name in _SHOWN_ONLY else _TARGET,
        at_most=True,
    )


def _metalog(*arguments: str) -> None:
    _python("-m", "api.cli", *arguments)


def _python(*arguments: str) -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
