"""How it is asked: the command line, and later the services."""
