"""Configs: their changes, and their effective values."""
