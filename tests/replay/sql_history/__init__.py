"""Tests of the history in SQL."""
