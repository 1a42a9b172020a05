"""The records: typed classes, their schemas, and their encodings."""
