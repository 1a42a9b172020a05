"""Queries about past states: points in time, diff, history, blame."""
