"""What can be said: typed records, their schemas, and their encodings."""
