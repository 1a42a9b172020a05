"""The history in SQL."""
