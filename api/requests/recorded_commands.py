"""The table of all commands that a log can contain, for repeating past decisions."""

from api.requests.commands import ALL_COMMANDS
from api.requests.transactions import NAME, transact
from controller.forks.commands import Commands

RECORDED = Commands(ALL_COMMANDS, "records append", NAME, transact)
