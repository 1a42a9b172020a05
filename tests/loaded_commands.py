"""Imports all commands and their modules, for processes that are forked to run one."""

import importlib
import pkgutil

import api
from api.cli.main import load_commands

load_commands()
for _module in pkgutil.walk_packages(api.__path__, "api."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)
# Those that are imported inside functions.
for _name in ("replay.snapshot.store", "replay.timeline", "litestar.plugins.pydantic", "psutil"):
    importlib.import_module(_name)
