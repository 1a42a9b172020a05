"""Makes `python -m api.cli` the same as `metalog`."""

from api.cli.entry import main

main()
