"""Requests and their encodings: commands, transactions, and records to append."""
