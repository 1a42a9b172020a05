"""The documentation as a web site: `make site`."""
