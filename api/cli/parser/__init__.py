"""The command line is parsed: at once, or by typer."""
