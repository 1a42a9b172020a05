"""`python -m api.cli` is `metalog`."""

from api.cli.entry import main

main()
