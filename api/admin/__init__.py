"""Admin requests, decided in this process or by a running service."""
