"""Decisions: pure functions from an image and a request to records and a response."""
