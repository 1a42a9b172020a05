"""All commands that a log can name, for deciding the past anew."""

from api.commands import ALL_COMMANDS
from api.transactions import NAME, transact
from controller.forks.commands import Commands

RECORDED = Commands(ALL_COMMANDS, "records append", NAME, transact)
