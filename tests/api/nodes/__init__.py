"""Tests of nodes that share a log."""
