"""Contract tests: the required behaviour of an interface, run on each implementation."""
