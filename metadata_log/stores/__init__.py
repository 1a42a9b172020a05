"""Stores for copies of a log: a folder, or a prefix in a bucket."""
