"""Descriptions of a cluster for clients: pure functions of a view."""
