"""Runs the client programs of this folder as separate processes."""

import asyncio
import json
import os
import shutil
import sys

import pytest

from tests.docs_console import ROOT

_MODULES = ROOT / "requirements" / "node_modules"


def require(client: str) -> None:
    """Skip the test if the client is not installed, except in CI."""
    needed = {
        "kafkajs": (_MODULES / "kafkajs").exists() and shutil.which("node"),
        "platformatic": (_MODULES / "@platformatic").exists() and shutil.which("node"),
        "kcat": shutil.which("kcat"),
    }
    if not needed.get(client, True):
        assert "METALOG_REQUIRE_CLIENTS" not in os.environ, f"{client} is not installed"
        pytest.skip(f"{client} is not installed")


def command(program: str) -> tuple[str, ...]:
    """Return the command that runs a program, by its file name."""
    path = ROOT / "tests" / "clients" / program
    if path.suffix == ".py":
        return sys.executable, "-m", f"tests.clients.{path.stem}"
    return ("sh" if path.suffix == ".sh" else "node"), str(path)


async def printed(program: str, *arguments: str) -> dict[str, str]:
    """Run a program; return the outcomes of its operations, by name."""
    return await outcomes(await started(program, *arguments))


async def started(program: str, *arguments: str) -> asyncio.subprocess.Process:
    """Start a program."""
    return await asyncio.create_subprocess_exec(
        *command(program),
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )


async def outcomes(process: asyncio.subprocess.Process) -> dict[str, str]:
    """Return the outcomes of the operations of a program, by name, when it ends."""
    try:
        async with asyncio.timeout(120):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()[-2_000:]
    found: dict[str, str] = json.loads(out)
    return found
