"""Repeats every decision of a log, and compares its records: `make redecide`."""
