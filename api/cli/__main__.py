"""`python -m api.cli` is `metalog`."""

from api.cli.main import main

main()
