"""Kafka's own formats of the metadata log, as bytes: batches, records, names of files."""
