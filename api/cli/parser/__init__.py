"""Parsers of the command line: a fast one for plain command lines, and typer."""
