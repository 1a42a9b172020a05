"""The command line and the services."""
