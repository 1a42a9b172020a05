"""Logged decisions: the inputs and the answer of each one, stored with its records."""
