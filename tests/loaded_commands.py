"""All commands with what they import, for processes that are forked to run one."""

import importlib

from api.cli.main import load_commands

load_commands()
for _name in ("api.service", "api.client", "replay.snapshot.store", "replay.timeline"):
    importlib.import_module(_name)
