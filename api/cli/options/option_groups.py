"""Headings that group the options in `--help` of commands with many options."""

LISTENERS = "Listeners"
SECURITY = "Who may connect, and do what"
BROKERS = "Brokers and partitions"
NODES = "Several nodes"
BACKGROUND = "In the background"
PROCESS = "The process"
