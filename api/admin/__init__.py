"""Asking for changes of a cluster: in this process, or of a running service."""
