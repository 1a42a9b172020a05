"""Titles under which `--help` lists the options of commands that have many."""

LISTENERS = "Listeners"
SECURITY = "Who may connect, and do what"
BROKERS = "Brokers and partitions"
BACKGROUND = "In the background"
PROCESS = "The process"
