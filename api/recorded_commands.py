"""The table of all commands that a log can contain, for repeating past decisions."""

from api.commands import ALL_COMMANDS
from api.transactions import NAME, transact
from controller.forks.commands import Commands

RECORDED = Commands(ALL_COMMANDS, "records append", NAME, transact)
